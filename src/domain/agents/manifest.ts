import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { auditedAs } from "../kernel/audit.js";
import { authorizeMachine } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { forbidden } from "../kernel/errors.js";
import { noSecrets, openSecrets, type OpenedSecrets, recordDelivery } from "../user-secrets/secret-delivery.js";
import { type AppRow, appsByAgent } from "./agent-apps.js";
import { existing } from "./caller.js";
import { type ScriptRow, scriptsByAgent } from "./scripts.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const v = columnsOf("templateVersions", "v");
const w = columnsOf("workspaces", "w");
const a = columnsOf("workspaceAgents", "a");
const u = columnsOf("users", "u");

const startOf = (db: Db, agentId: string) =>
  db
    .selectFrom("workspaceAgents as a")
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .innerJoin("users as u", "u.id", "w.ownerId")
    .innerJoin("workspaceBuilds as b", "b.id", "a.buildId")
    .innerJoin("provisionerJobs as j", "j.id", "b.jobId")
    .innerJoin("templateVersions as v", "v.id", "b.versionId")
    .leftJoin("tasks as t", (join) => join.onRef("t.workspaceId", "=", "w.id").on("t.deletedAt", "is", null))
    .where("a.id", "=", agentId)
    .where("w.deletedAt", "is", null)
    .select([
      "a.id",
      "a.name",
      "a.workspaceId",
      "a.directory",
      "a.command",
      "a.restart",
      "a.environment",
      "a.logSourceId",
      "w.name as workspaceName",
      "w.ownerId",
      "u.username as ownerUsername",
      "w.organizationId",
      "b.buildNumber",
      "t.id as taskId",
      "t.initialPrompt as prompt",
      "v.taskProtocol",
      "v.taskOptions",
    ])
    .select([
      // The app of the agent at which the program of the task is reached; null if it is another agent's.
      sql<string | null>`case when ${v.taskAgent} = a.name then ${v.taskApp} end`.as("taskApp"),
      // Whether the build of the agent is the latest, and its job was accepted and did not fail.
      sql<boolean>`b.id = ${w.latestBuildId} and j.status in ('running', 'succeeded') and ${a.tokenEndedAt} is null`.as(
        "isCurrent",
      ),
      sql<boolean>`u.status = 'active' and ${u.deletedAt} is null`.as("isOwnerActive"),
      // Whether the owner lets its secrets into the workspace. Prebuilt workspaces have no owner yet.
      sql<boolean>`${w.injectUserSecrets} and ${w.prebuiltPresetId} is null`.as("takesSecrets"),
    ]);

type Start = InferResult<ReturnType<typeof startOf>>[number];

/**
 * Everything an agent needs to start: its part of the document, rendered, and the secrets of the owner of the
 * workspace.
 */
export interface AgentManifest extends Start {
  accessUrl: string;
  apps: AppRow[];
  scripts: ScriptRow[];
  secrets: OpenedSecrets;
}

/**
 * Reads the manifest of the calling agent. Each delivery is audited. Throws FORBIDDEN unless the start of the agent is
 * the latest build, runs or has succeeded, and the owner of the workspace is active.
 */
export async function readAgentManifest(ctx: Context): Promise<AgentManifest> {
  const agent = authorizeMachine(ctx.actor, "agent_manifest:read");
  const start = existing(await startOf(ctx.db, agent.id).executeTakeFirst());
  if (!start.isCurrent) throw forbidden("The workspace is not starting or running.");
  if (!start.isOwnerActive) throw forbidden("The owner of the workspace is not active.");
  const [apps, scripts, secrets] = await Promise.all([
    ctx.load(appsByAgent, agent.id),
    ctx.load(scriptsByAgent, agent.id),
    start.takesSecrets ? openSecrets(ctx, start.ownerId) : noSecrets,
  ]);
  await deliver(ctx, start, secrets);
  return { ...start, accessUrl: ctx.config.accessUrl, apps, scripts, secrets };
}

/** Records a delivery, before its response. The event holds the number of secrets, not their names. */
async function deliver(ctx: Context, { id, name, workspaceId, organizationId }: Start, secrets: OpenedSecrets) {
  const own = ctx.afresh();
  await own.transactional(async () => {
    await recordDelivery(own, secrets.ids);
    const diff = { workspaceId: { new: workspaceId }, secrets: { new: secrets.ids.length } };
    own.audit({ action: "deliver", ...auditedAs("workspace_agent", id, name, organizationId), diff });
  });
}
