import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { userIdOf } from "../kernel/actor.js";
import { anyOf, now, rowById, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { conflict, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { defineListOfEach, time } from "../kernel/lists.js";
import { OrderDirection, type Page, type PageArguments } from "../kernel/paging.js";
import { onChange, type Watch, watching } from "../kernel/watching.js";
import { enqueueJob, priorities } from "../provisioners/provisioner-jobs.js";
import { scopeTags, type Tags } from "../provisioners/tags.js";
import { templatesById } from "../templates/templates.js";
import { taskBuildStarts } from "../tasks/workspace-events.js";
import { updateTaskStatusOf } from "../tasks/task-status.js";
import { buildStatus, isOpen, type WorkspaceTransition } from "./build-status.js";
import {
  accessHints,
  findWorkspace,
  type FoundWorkspace,
  ofWorkspace,
  readWorkspace,
  workspaceHint,
  type WorkspaceRow,
} from "./workspaces.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const v = columnsOf("templateVersions", "v");

/** Why a build was created. */
export const BuildReason = {
  INITIATOR: "initiator",
  AUTOSTART: "autostart",
  AUTOSTOP: "autostop",
  DORMANCY: "dormancy",
  AUTODELETE: "autodelete",
  OWNER_SUSPENDED: "owner_suspended",
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
  "owner_suspended",
  "task_auto_pause",
];

/** Builds `b` with their jobs `j` and template versions `v`. */
const builds = (db: Db) =>
  db
    .selectFrom("workspaceBuilds as b")
    .innerJoin("provisionerJobs as j", "j.id", "b.jobId")
    .innerJoin("templateVersions as v", "v.id", "b.versionId")
    .select([
      "b.id",
      "b.createdAt",
      "b.updatedAt",
      "b.workspaceId",
      "b.buildNumber",
      "b.versionId",
      "b.presetId",
      "b.transition",
      "b.reason",
      "b.initiatorId",
      "b.jobId",
      "b.isClaim",
      "b.dailyCost",
      "b.deadline",
      "b.maxDeadline",
      "b.parameters",
      buildStatus.as("status"),
      "v.name as versionName",
      sql<boolean>`${v.taskApp} is not null`.as("hasAiTask"),
      "v.hasExternalAgent",
    ]);

export type BuildRow = InferResult<ReturnType<typeof builds>>[number];

/** Batch read of builds by id, for `ctx.load`. Checks no permission: the workspace does. */
export async function buildsByIds(ctx: Context, ids: readonly string[]): Promise<Array<BuildRow | undefined>> {
  const rows = await builds(ctx.db).where("b.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

/**
 * Whether the latest build of a workspace has another version than the active one of its template. Checks no permission:
 * the workspace does.
 */
export async function isOutdated(
  ctx: Context,
  { latestBuildId, templateId }: Pick<WorkspaceRow, "latestBuildId" | "templateId">,
): Promise<boolean> {
  if (latestBuildId === null) return false;
  const [build, template] = await Promise.all([
    ctx.load(buildsByIds, latestBuildId),
    ctx.load(templatesById, templateId),
  ]);
  const active = template?.activeVersionId ?? null;
  return active !== null && build?.versionId !== active;
}

/** Finds a build of a workspace that the caller may read. Throws NOT_FOUND. */
export async function findBuild(ctx: Context, id: string): Promise<BuildRow> {
  const [build] = await buildsByIds(ctx, [id]);
  if (!build) throw notFound();
  await findWorkspace(ctx, build.workspaceId);
  return build;
}

/** Reads the latest build of a workspace; `undefined` while it has none. Not cached: for locked workspaces. */
export async function latestBuildOf(
  ctx: Context,
  { latestBuildId }: Pick<WorkspaceRow, "latestBuildId">,
): Promise<BuildRow | undefined> {
  return latestBuildId === null ? undefined : (await buildsByIds(ctx, [latestBuildId]))[0];
}

const buildsOfWorkspaces = defineListOfEach((ctx, workspace) => builds(ctx.db).where("b.workspaceId", "=", workspace), {
  id: { column: "b.id", of: ({ id }: BuildRow) => id },
  orders: { createdAt: { createdAt: time<BuildRow>("b.createdAt") } }, // workspace_builds_page_index
  filters: {},
});

/** Lists the builds of a workspace that the caller may read, the latest first. */
export const buildsOf = (
  ctx: Context,
  { id }: Pick<WorkspaceRow, "id">,
  page: PageArguments,
): Promise<Page<BuildRow>> =>
  buildsOfWorkspaces.pageOf(ctx, id, { page, orderBy: { field: "createdAt", direction: OrderDirection.DESC } });

/**
 * Streams the latest build of a workspace: first as it is, then after each change of the build or the workspace. Ends
 * when the caller may no longer read the workspace. A rejected watch throws before this resolves.
 */
export async function watchBuilds(ctx: Context, { workspaceId }: { workspaceId: string }): Promise<Watch<BuildRow>> {
  const { id } = await findWorkspace(ctx, workspaceId);
  return watching(ctx, {
    while: (fresh) => readWorkspace(fresh, id),
    hints: () => accessHints(ctx, id),
    read: onChange(
      (fresh, workspace: FoundWorkspace) => latestBuildOf(fresh, workspace),
      (build, { updatedAt }) => `${build.id} ${build.updatedAt} ${build.status} ${updatedAt}`,
    ),
  });
}

const resources = (db: Db) =>
  db
    .selectFrom("workspaceResources as r")
    .leftJoin("workspaceBuilds as b", "b.jobId", "r.jobId")
    .leftJoin("workspaces as w", "w.id", "b.workspaceId")
    .select([
      "r.id",
      "r.createdAt",
      "r.jobId",
      "r.transition",
      "r.name",
      "r.type",
      "r.icon",
      "r.hide",
      "r.dailyCost",
      "r.metadata",
      "w.ownerId",
    ]);

/**
 * A resource that a build created or kept, with the owner of its workspace: null for the resources of template imports.
 */
export type ResourceRow = InferResult<ReturnType<typeof resources>>[number];

/** Batch read of the resources of jobs, for `ctx.load`. Checks no permission: the build does. */
async function resourcesByJob(ctx: Context, jobIds: readonly string[]): Promise<ResourceRow[][]> {
  const rows = await resources(ctx.db).where("r.jobId", "=", anyOf(jobIds)).orderBy("r.position").execute();
  return rowsByKey(rows, jobIds, ({ jobId }) => jobId);
}

/** The resources of a build, in the order of the report. */
export const resourcesOf = (ctx: Context, { jobId }: Pick<BuildRow, "jobId">): Promise<ResourceRow[]> =>
  ctx.load(resourcesByJob, jobId);

/** The metadata of a resource. Only the owner of the workspace reads sensitive values. */
export const metadataOf = ({ actor }: Context, { metadata, ownerId }: ResourceRow): ResourceRow["metadata"] =>
  ownerId !== null && ownerId === userIdOf(actor)
    ? metadata
    : metadata.map((each) => (each.sensitive ? { ...each, value: "" } : each));

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
  /** How the workspace starts when this stop has succeeded. Default: not. */
  nextStart?: object;
}

/**
 * Creates a build of a workspace that the transaction has locked, with its job. Checks no permission. Throws CONFLICT
 * if another build has not ended.
 */
export async function createBuild(ctx: Context, workspace: WorkspaceRow, build: NewBuild): Promise<BuildRow> {
  requireNoOpenBuild(workspace);
  const previous = await latestBuildOf(ctx, workspace);
  const versionId = build.versionId ?? previous?.versionId;
  const provisioning = versionId && (await readProvisioning(ctx, versionId));
  if (!versionId || !provisioning) throw notFound();

  const { transition, reason, initiatorId } = build;
  const id = newId();
  const jobId = await enqueueJob(ctx, {
    organizationId: workspace.organizationId,
    type: "workspace_build",
    provisioner: provisioning.provisioner,
    tags: scopeTags(provisioning.tags, workspace.ownerId),
    initiatorId,
    documentId: provisioning.documentId,
    priority: workspace.prebuiltPresetId === null ? priorities.people : priorities.prebuilds,
    pinnedDaemonId: workspace.pinnedDaemonId,
    workspaceBuildId: id,
  });
  const buildNumber = (previous?.buildNumber ?? 0) + 1;
  const formerPreset = versionId === previous?.versionId ? previous.presetId : null;
  await ctx.db
    .insertInto("workspaceBuilds")
    .values({
      id,
      createdAt: now,
      updatedAt: now,
      workspaceId: workspace.id,
      buildNumber,
      versionId,
      presetId: build.presetId === undefined ? formerPreset : build.presetId,
      transition,
      reason,
      initiatorId,
      jobId,
      isClaim: build.claim ?? false,
      nextStart: build.nextStart,
      // Until the daemon reports the resources of this build.
      dailyCost: previous?.dailyCost ?? 0,
      parameters: build.parameters ?? previous?.parameters ?? {},
      state: previous && ctx.db.selectFrom("workspaceBuilds").select("state").where("id", "=", previous.id),
    })
    .execute();
  await ctx.db
    .updateTable("workspaces")
    .set({
      latestBuildId: id,
      latestTransition: transition,
      latestStatus: "pending",
      updatedAt: now,
      ...(transition === "start" && { lastUsedAt: now, deadline: null, autobuildAfter: null }),
    })
    .where("id", "=", workspace.id)
    .execute();
  const diff = { buildNumber: { new: buildNumber }, versionId: { old: previous?.versionId, new: versionId } };
  ctx.audit({ action: transition, ...ofWorkspace(workspace), diff: { ...diff, reason: { new: reason } } });
  if (transition === "start") await taskBuildStarts(ctx, workspace.id, buildNumber);
  await updateTaskStatusOf(ctx, workspace.id);
  ctx.publish(workspaceHint(workspace.id));
  const [created] = await buildsByIds(ctx, [id]);
  return created!;
}

/** Reads what the job of a build follows from. */
const readProvisioning = ({ db }: Context, versionId: string) =>
  db
    .selectFrom("templateVersions as v")
    .innerJoin("templateDocuments as d", "d.id", "v.documentId")
    .select([
      "d.id as documentId",
      sql<string>`d.content->>'provisioner'`.as("provisioner"),
      sql<Tags>`coalesce(d.content->'tags', '{}')`.as("tags"),
    ])
    .where("v.id", "=", versionId)
    .executeTakeFirst();
