import { agentTokens } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/keys.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import type { DocumentAgent, DocumentApp, DocumentResource, DocumentScript } from "../templates/documents.js";
import { machineHint } from "../tokens/machines.js";
import { newAgentToken } from "./tokens.js";

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

const insertAgents = statement(`
  insert into workspace_agents (id, created_at, updated_at, workspace_id, build_id, resource_id, name, token_hash,
    token_ciphertext, token_nonce, token_key_id, operating_system, architecture, directory, command, restart,
    is_external, environment, connection_timeout, startup_script_behavior, troubleshooting_url, display_apps)
  select id, now(), now(), $2, $3, resource_id, name, token_hash, token_ciphertext, token_nonce, token_key_id,
    operating_system, architecture, directory, command, restart, is_external, environment, connection_timeout,
    startup_script_behavior, troubleshooting_url, display_apps
  from jsonb_populate_recordset(null::workspace_agents, $1)`);

const insertApps = statement(`
  insert into workspace_apps (id, created_at, updated_at, agent_id, position, slug, display_name, icon, url, command,
    is_external, group_name, is_hidden, open_in, sharing_level, is_on_subdomain, tooltip, health, healthcheck_url,
    healthcheck_interval, healthcheck_threshold)
  select id, now(), now(), agent_id, position, slug, display_name, icon, url, command, is_external, group_name,
    is_hidden, open_in, sharing_level, is_on_subdomain, tooltip, health, healthcheck_url, healthcheck_interval,
    healthcheck_threshold
  from jsonb_populate_recordset(null::workspace_apps, $1)`);

const insertScripts = statement(`
  insert into workspace_scripts (id, created_at, agent_id, position, display_name, script, cron, log_path,
    log_source_id, run_on_start, run_on_stop, start_blocks_login, timeout)
  select id, now(), agent_id, position, display_name, script, cron, log_path, gen_random_uuid(), run_on_start,
    run_on_stop, start_blocks_login, timeout
  from jsonb_populate_recordset(null::workspace_scripts, $1)`);

/**
 * Creates the agents of a start, with their apps, scripts and tokens. The caller has ended the tokens of former agents.
 */
export async function createAgents(ctx: Context, input: NewAgents): Promise<CreatedAgent[]> {
  const { workspaceId, buildId, resources } = input;
  const made = resources.flatMap(({ id, agents }) => agents.map((agent) => madeOf(ctx, workspaceId, id, agent)));
  if (made.length === 0) return [];
  const agents = JSON.stringify(made.map(({ row }) => row));
  await ctx.rows(insertAgents, agents, workspaceId, buildId).catch(refuseForgottenKey);
  const apps = made.flatMap(({ row, agent }) => agent.apps.map((app, position) => appRow(row.id, app, position)));
  if (apps.length > 0) await ctx.rows(insertApps, JSON.stringify(apps));
  const scripts = made.flatMap(({ row, agent }) => agent.scripts.map((each, n) => scriptRow(row.id, each, n)));
  if (scripts.length > 0) await ctx.rows(insertScripts, JSON.stringify(scripts));
  return made.map(({ created }) => created);
}

function madeOf(ctx: Context, workspaceId: string, resourceId: string, agent: DocumentAgent) {
  const [id, { text, hash }] = [newId(), newAgentToken()];
  const { name, external } = agent;
  const row = {
    id,
    resource_id: resourceId,
    name,
    token_hash: bytea(hash),
    ...(external && sealed(ctx, workspaceId, id, text)),
    operating_system: agent.os,
    architecture: agent.arch,
    directory: agent.directory,
    command: agent.command,
    restart: agent.restart,
    is_external: external,
    environment: agent.env,
    connection_timeout: agent.connection_timeout_seconds,
    startup_script_behavior: agent.startup_script_behavior,
    troubleshooting_url: agent.troubleshooting_url,
    display_apps: agent.display_apps,
  };
  return { row, agent, created: { name, agentId: id, external, token: external ? null : text } };
}

/** Bytes as Postgres reads them from JSON. */
const bytea = (bytes: Buffer): string => `\\x${bytes.toString("hex")}`;

function sealed({ services }: Context, workspaceId: string, id: string, token: string) {
  const { keyId, nonce, ciphertext } = services.vault.seal(agentTokens.place({ id, ownerId: workspaceId }), token);
  return { token_key_id: keyId, token_nonce: bytea(nonce), token_ciphertext: bytea(ciphertext) };
}

const appRow = (agentId: string, app: DocumentApp, position: number) => ({
  id: newId(),
  agent_id: agentId,
  position,
  slug: app.slug,
  display_name: app.display_name,
  icon: app.icon,
  url: app.url,
  command: app.command,
  is_external: app.external,
  group_name: app.group,
  is_hidden: app.hidden,
  open_in: app.open_in,
  sharing_level: app.sharing_level,
  is_on_subdomain: app.subdomain,
  tooltip: app.tooltip,
  health: app.healthcheck ? "initializing" : "disabled",
  healthcheck_url: app.healthcheck?.url ?? "",
  healthcheck_interval: app.healthcheck?.interval ?? 5,
  healthcheck_threshold: app.healthcheck?.threshold ?? 3,
});

const scriptRow = (agentId: string, script: DocumentScript, position: number) => ({
  id: newId(),
  agent_id: agentId,
  position,
  display_name: script.display_name,
  script: script.script,
  cron: script.cron,
  log_path: script.log_path,
  run_on_start: script.run_on_start,
  run_on_stop: script.run_on_stop,
  start_blocks_login: script.start_blocks_login,
  timeout: script.timeout,
});

const agentsOfBuild = statement<{ id: string; name: string; isExternal: boolean }>(`
  select a.id, a.name, a.is_external as "isExternal"
  from workspace_agents a join workspace_resources r on r.id = a.resource_id
  where a.build_id = $1 order by r.position, a.id`);

const replaceTokens = statement(`
  update workspace_agents a set token_hash = decode(fresh.hash, 'base64')
  from unnest($1::uuid[], $2::text[]) fresh (id, hash) where a.id = fresh.id`);

/**
 * Returns the agents of a start once more, for a daemon that lost the response to its report. Replaces their tokens,
 * which cannot be read again, except those of external agents.
 */
export async function renewAgents(ctx: Context, buildId: string): Promise<CreatedAgent[]> {
  const agents = await ctx.rows(agentsOfBuild, buildId);
  const fresh = new Map(agents.flatMap(({ id, isExternal }) => (isExternal ? [] : [[id, newAgentToken()]])));
  const hashes = Array.from(fresh.values(), ({ hash }) => hash.toString("base64"));
  await ctx.rows(replaceTokens, [...fresh.keys()], hashes);
  ctx.publish(...Array.from(fresh.keys(), machineHint));
  return agents.map(({ id, name, isExternal }) => ({
    name,
    agentId: id,
    external: isExternal,
    token: fresh.get(id)?.text ?? null,
  }));
}
