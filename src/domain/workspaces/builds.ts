import { WorkspaceBuild } from "../../entities/workspaces.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { conflict, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { enqueueJob, priorities } from "../provisioners/enqueue.js";
import { scoped, type Tags } from "../provisioners/tags.js";
import { taskBuildStarts } from "../tasks/builds.js";
import { taskIdOf, updateTaskStatus } from "../tasks/status.js";
import { buildStatus, isOpen, type WorkspaceStatus, type WorkspaceTransition } from "./status.js";
import { ofWorkspace, workspaceHint, type WorkspaceRow } from "./workspaces.js";

/** Why a build was created. */
export const BuildReason = {
  INITIATOR: "initiator",
  AUTOSTART: "autostart",
  AUTOSTOP: "autostop",
  DORMANCY: "dormancy",
  AUTODELETE: "autodelete",
  TASK_MANUAL_PAUSE: "task_manual_pause",
  TASK_AUTO_PAUSE: "task_auto_pause",
  TASK_RESUME: "task_resume",
  DASHBOARD: "dashboard",
  CLI: "cli",
  SSH_CONNECTION: "ssh_connection",
  VSCODE_CONNECTION: "vscode_connection",
  JETBRAINS_CONNECTION: "jetbrains_connection",
} as const;
export type BuildReason = (typeof BuildReason)[keyof typeof BuildReason];

/** Reasons of builds that the server starts by itself. */
export const automaticReasons: readonly BuildReason[] = [
  "autostart",
  "autostop",
  "dormancy",
  "autodelete",
  "task_auto_pause",
];

const columns = columnsOf(WorkspaceBuild, "b", [
  "id",
  "createdAt",
  "updatedAt",
  "workspaceId",
  "buildNumber",
  "versionId",
  "presetId",
  "transition",
  "reason",
  "initiatorId",
  "jobId",
  "isClaim",
  "dailyCost",
  "deadline",
  "maxDeadline",
  "parameters",
]);

/** The select list of builds, from `buildTables`. */
export const buildColumns = `${columns}, ${buildStatus} as status, v.name as "versionName",
  v.task_app is not null as "hasAiTask", v.has_external_agent as "hasExternalAgent"`;

/** Builds `b` with their jobs `j` and template versions `v`. */
export const buildTables = `workspace_builds b join provisioner_jobs j on j.id = b.job_id
  join template_versions v on v.id = b.version_id`;

export interface BuildRow extends RowOf<typeof columns> {
  transition: WorkspaceTransition;
  reason: BuildReason;
  status: WorkspaceStatus;
  versionName: string;
  hasAiTask: boolean;
  hasExternalAgent: boolean;
}

const byIds = lookup<BuildRow>(`select ${buildColumns} from ${buildTables} where b.id = any($1::uuid[])`);

/** Batch read of builds by id, for `ctx.load`. Checks no permission: the workspace does. */
export async function buildsByIds(ctx: Context, ids: readonly string[]): Promise<Array<BuildRow | undefined>> {
  const builds = new Map((await ctx.rows(byIds, ids)).map((each) => [each.id, each]));
  return ids.map((id) => builds.get(id));
}

/** Reads the latest build of a workspace; `undefined` while it has none. Not cached: for locked workspaces. */
export const latestBuildOf = async (
  ctx: Context,
  { latestBuildId }: Pick<WorkspaceRow, "latestBuildId">,
): Promise<BuildRow | undefined> => (latestBuildId === null ? undefined : ctx.row(byIds, [latestBuildId]));

/** Throws CONFLICT if a build of the locked workspace has not ended. */
export function requireNoOpenBuild({ latestBuildId, latestStatus }: WorkspaceRow): void {
  if (latestBuildId !== null && isOpen(latestStatus)) throw conflict("A workspace build is already active.");
}

/** A build to create. */
export interface NewBuild {
  transition: WorkspaceTransition;
  reason: BuildReason;
  initiatorId: string;
  /** Default: that of the previous build. Not checked. */
  versionId?: string;
  /** Default: that of the previous build, unless the version changes. */
  presetId?: string | null;
  /** Values of all parameters of the version. Default: those of the previous build. */
  parameters?: Record<string, string>;
  /** Whether it hands a prebuilt workspace to its new owner. */
  claim?: boolean;
}

interface Provisioning {
  documentId: string;
  provisioner: string;
  tags: Tags;
}

const provisioningOf = lookup<Provisioning>(`
  select d.id as "documentId", d.content->>'provisioner' as provisioner, coalesce(d.content->'tags', '{}') as tags
  from template_versions v join template_documents d on d.id = v.document_id where v.id = $1`);

// The cost of the previous build counts until the daemon reports the resources of this one.
const insertBuild = statement<{ taskId: string | null }>(`
  with build as (
    insert into workspace_builds (id, created_at, updated_at, workspace_id, build_number, version_id, preset_id,
      transition, reason, initiator_id, job_id, is_claim, daily_cost, parameters, state)
    values ($1, now(), now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
      (select state from workspace_builds where workspace_id = $2 and build_number = $3 - 1))
  )
  update workspaces set latest_build_id = $1, latest_transition = $6, latest_status = 'pending', updated_at = now(),
    last_used_at = case when $6 = 'start' then now() else last_used_at end,
    deadline = case when $6 = 'start' then null else deadline end,
    autobuild_after = case when $6 = 'start' then null else autobuild_after end
  where id = $2 returning ${taskIdOf("$2")} as "taskId"`);

/**
 * Creates a build of a workspace that the transaction has locked, with its job. Checks no permission. Throws CONFLICT if
 * another build has not ended.
 */
export async function createBuild(ctx: Context, workspace: WorkspaceRow, build: NewBuild): Promise<BuildRow> {
  requireNoOpenBuild(workspace);
  const previous = await latestBuildOf(ctx, workspace);
  const versionId = build.versionId ?? previous?.versionId;
  const provisioning = versionId && (await ctx.row(provisioningOf, versionId));
  if (!versionId || !provisioning) throw notFound();
  const id = newId();
  const jobId = await enqueueJob(ctx, {
    ...jobOf(workspace, build, provisioning),
    workspaceBuildId: id,
  });
  const isSameVersion = versionId === previous?.versionId;
  const presetId = build.presetId === undefined ? (isSameVersion ? previous?.presetId : null) : build.presetId;
  const { transition, reason, initiatorId, claim = false } = build;
  const parameters = build.parameters ?? previous?.parameters ?? {};
  const buildNumber = (previous?.buildNumber ?? 0) + 1;
  const what = [versionId, presetId, transition, reason, initiatorId, jobId, claim];
  const values = [id, workspace.id, buildNumber, ...what, previous?.dailyCost ?? 0, parameters];
  const { taskId } = (await ctx.row(insertBuild, ...values))!;
  const diff = { buildNumber: { new: buildNumber }, versionId: { old: previous?.versionId, new: versionId } };
  ctx.audit({ action: transition, ...ofWorkspace(workspace), diff: { ...diff, reason: { new: reason } } });
  if (transition === "start") await taskBuildStarts(ctx, workspace.id, buildNumber);
  await updateTaskStatus(ctx, taskId);
  ctx.publish(workspaceHint(workspace.id));
  return (await ctx.row(byIds, [id]))!;
}

const jobOf = (
  workspace: WorkspaceRow,
  { initiatorId }: NewBuild,
  { documentId, provisioner, tags }: Provisioning,
) => ({
  organizationId: workspace.organizationId,
  type: "workspace_build" as const,
  provisioner,
  tags: scoped(tags, workspace.ownerId),
  initiatorId,
  documentId,
  priority: workspace.prebuiltPresetId === null ? priorities.people : priorities.prebuilds,
  pinnedDaemonId: workspace.pinnedDaemonId,
});
