import { sql } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { agentTokens } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import { insertAll } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import type { DocumentAgent, DocumentApp, DocumentResource, DocumentScript } from "../templates/document-resources.js";
import { machineHint } from "../tokens/machines.js";
import { AppHealth } from "./agent-apps.js";
import { newAgentToken } from "./agent-tokens.js";

/** Agents to create: those of the resources that a daemon reported for a start, rendered. */
export interface NewAgents {
  workspaceId: string;
  buildId: string;
  resources: ReadonlyArray<{ id: string } & Pick<DocumentResource, "agents">>;
}

/** An agent of a build, with its token. */
export interface CreatedAgent {
  name: string;
  agentId: string;
  /** Whether it runs outside of the daemon. */
  external: boolean;
  /** Null for external agents, whose owner reads it. */
  token: string | null;
}

/**
 * Creates the agents of a start, with their apps, scripts and tokens. The caller has ended the tokens of former agents.
 */
export async function createAgents(ctx: Context, input: NewAgents): Promise<CreatedAgent[]> {
  const { workspaceId, buildId, resources } = input;
  const made = resources.flatMap(({ id, agents }) => agents.map((agent) => madeOf(ctx, workspaceId, id, agent)));
  if (made.length === 0) return [];
  const createdAt = new Date(databaseTime());
  const times = { createdAt, updatedAt: createdAt };
  const rows = made.map(({ row }) => ({ ...row, ...times, workspaceId, buildId }));
  await insertAll(ctx.db, "workspaceAgents", rows).execute().catch(refuseForgottenKey);
  const apps = made.flatMap(({ row, agent }) =>
    agent.apps.map((app, nr) => ({ ...appRow(row.id, app, nr), ...times })),
  );
  if (apps.length > 0) await insertAll(ctx.db, "workspaceApps", apps).execute();
  const scripts = made.flatMap(({ row, agent }) =>
    agent.scripts.map((script, nr) => ({ ...scriptRow(row.id, script, nr), createdAt })),
  );
  if (scripts.length > 0) await insertAll(ctx.db, "workspaceScripts", scripts).execute();
  return made.map(({ created }) => created);
}

function madeOf(ctx: Context, workspaceId: string, resourceId: string, agent: DocumentAgent) {
  const id = newId();
  const { text, hash } = newAgentToken();
  const { name, external } = agent;
  const row = {
    id,
    resourceId,
    name,
    tokenHash: hash,
    ...(external ? sealToken(ctx, workspaceId, id, text) : noToken),
    operatingSystem: agent.os,
    architecture: agent.arch,
    directory: agent.directory,
    command: agent.command,
    restart: agent.restart,
    isExternal: external,
    environment: agent.env,
    connectionTimeout: agent.connection_timeout_seconds,
    startupScriptBehavior: agent.startup_script_behavior,
    troubleshootingUrl: agent.troubleshooting_url,
    displayApps: agent.display_apps,
    logSourceId: newId(),
  };
  return { row, agent, created: { name, agentId: id, external, token: external ? null : text } };
}

/** The tokens of other agents cannot be read again. */
const noToken = { tokenKeyId: null, tokenNonce: null, tokenCiphertext: null };

function sealToken({ services }: Context, workspaceId: string, id: string, token: string) {
  const { keyId, nonce, ciphertext } = services.vault.seal(agentTokens.place({ id, ownerId: workspaceId }), token);
  return { tokenKeyId: keyId, tokenNonce: nonce, tokenCiphertext: ciphertext };
}

const appRow = (agentId: string, app: DocumentApp, position: number) => ({
  id: newId(),
  agentId,
  position,
  slug: app.slug,
  displayName: app.display_name,
  icon: app.icon,
  url: app.url,
  command: app.command,
  isExternal: app.external,
  groupName: app.group,
  isHidden: app.hidden,
  openIn: app.open_in,
  sharingLevel: app.sharing_level,
  isOnSubdomain: app.subdomain,
  tooltip: app.tooltip,
  health: app.healthcheck ? AppHealth.INITIALIZING : AppHealth.DISABLED,
  healthcheckUrl: app.healthcheck?.url ?? "",
  healthcheckInterval: app.healthcheck?.interval ?? 5,
  healthcheckThreshold: app.healthcheck?.threshold ?? 3,
});

const scriptRow = (agentId: string, script: DocumentScript, position: number) => ({
  id: newId(),
  agentId,
  position,
  displayName: script.display_name,
  script: script.script,
  cron: script.cron,
  logPath: script.log_path,
  logSourceId: newId(),
  runOnStart: script.run_on_start,
  runOnStop: script.run_on_stop,
  startBlocksLogin: script.start_blocks_login,
  timeout: script.timeout,
});

/**
 * Returns the agents of a start once more, for a daemon that lost the response to its report. Replaces their tokens,
 * which cannot be read again, except those of external agents.
 */
export async function renewAgents(ctx: Context, buildId: string): Promise<CreatedAgent[]> {
  const agents = await ctx.db
    .selectFrom("workspaceAgents as a")
    .innerJoin("workspaceResources as r", "r.id", "a.resourceId")
    .select(["a.id", "a.name", "a.isExternal"])
    .where("a.buildId", "=", buildId)
    .orderBy("r.position")
    .orderBy("a.id")
    .execute();
  const fresh = new Map(agents.flatMap(({ id, isExternal }) => (isExternal ? [] : [[id, newAgentToken()]])));
  const hashes = Array.from(fresh.values(), ({ hash }) => hash);
  const tokens = sql<{ id: string; hash: Buffer }>`unnest(${[...fresh.keys()]}::uuid[], ${hashes}::bytea[])`;
  await ctx.db
    .updateTable("workspaceAgents as a")
    .from(tokens.as<"fresh">(sql`fresh (id, hash)`))
    .set((eb) => ({ tokenHash: eb.ref("fresh.hash") }))
    .whereRef("a.id", "=", "fresh.id")
    .execute();
  ctx.publish(...Array.from(fresh.keys(), machineHint));
  return agents.map(({ id, name, isExternal }) => ({
    name,
    agentId: id,
    external: isExternal,
    token: fresh.get(id)?.text ?? null,
  }));
}
