import { WorkspaceAgent } from "../../entities/agents.js";
import { auditedAs } from "../audit/audit.js";
import { authorizeMachine } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { forbidden } from "../kernel/errors.js";
import { noSecrets, openSecrets, type OpenedSecrets, recordDelivery } from "../user-secrets/delivery.js";
import { type AppRow, appsByAgent } from "./apps.js";
import { existing } from "./changes.js";
import { type ScriptRow, scriptsByAgent } from "./scripts.js";

const columns = columnsOf(WorkspaceAgent, "a", [
  "id",
  "name",
  "workspaceId",
  "directory",
  "command",
  "restart",
  "environment",
  "logSourceId",
]);

interface Start extends RowOf<typeof columns> {
  workspaceName: string;
  ownerId: string;
  ownerUsername: string;
  organizationId: string;
  buildNumber: number;
  taskId: string | null;
  prompt: string | null;
  /** The app of the agent at which the program of the task is reached; null if it is another agent's. */
  taskApp: string | null;
  /** Whether the build of the agent is the latest, and its job was accepted and did not fail. */
  isCurrent: boolean;
  isOwnerActive: boolean;
  /** Whether the owner lets its secrets into the workspace. Prebuilt workspaces have no owner yet. */
  takesSecrets: boolean;
}

/** What an agent needs to start: what the document says, rendered, and the secrets of the owner of the workspace. */
export interface AgentManifest extends Start {
  accessUrl: string;
  apps: AppRow[];
  scripts: ScriptRow[];
  secrets: OpenedSecrets;
}

const startOfAgent = statement<Start>(`
  select ${columns}, w.name as "workspaceName", w.owner_id as "ownerId", u.username as "ownerUsername",
    w.organization_id as "organizationId", b.build_number as "buildNumber", t.id as "taskId",
    t.initial_prompt as prompt, case when v.task_agent = a.name then v.task_app end as "taskApp",
    b.id = w.latest_build_id and j.status in ('running', 'succeeded') and a.token_ended_at is null as "isCurrent",
    u.status = 'active' and u.deleted_at is null as "isOwnerActive",
    w.inject_user_secrets and w.prebuilt_preset_id is null as "takesSecrets"
  from workspace_agents a join workspaces w on w.id = a.workspace_id and w.deleted_at is null
    join users u on u.id = w.owner_id join workspace_builds b on b.id = a.build_id
    join provisioner_jobs j on j.id = b.job_id join template_versions v on v.id = b.version_id
    left join tasks t on t.workspace_id = w.id and t.deleted_at is null
  where a.id = $1`);

/**
 * Reads the manifest of the calling agent. Each delivery is audited. Throws FORBIDDEN unless the start of the agent is
 * the latest build, runs or has succeeded, and the owner of the workspace is active.
 */
export async function readAgentManifest(ctx: Context): Promise<AgentManifest> {
  const agent = authorizeMachine(ctx.actor, "agent_manifest:read");
  const start = existing(await ctx.row(startOfAgent, agent.id));
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
