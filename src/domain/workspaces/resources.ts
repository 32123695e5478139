import { WorkspaceResource } from "../../entities/workspaces.js";
import { userIdOf } from "../kernel/actor.js";
import { rowsByKey } from "../kernel/batches.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup } from "../kernel/database.js";
import type { BuildRow } from "./builds.js";

const columns = columnsOf(WorkspaceResource, "r", [
  "id",
  "createdAt",
  "jobId",
  "transition",
  "name",
  "type",
  "icon",
  "hide",
  "dailyCost",
  "metadata",
]);

/** What a build created or kept, with the owner of its workspace. */
export interface ResourceRow extends RowOf<typeof columns> {
  /** Null for the resources of template imports. */
  ownerId: string | null;
}

const ofJobs = lookup<ResourceRow>(`
  select ${columns}, w.owner_id as "ownerId"
  from workspace_resources r left join workspace_builds b on b.job_id = r.job_id left join workspaces w on w.id = b.workspace_id
  where r.job_id = any($1::uuid[]) order by r.position`);

/** Batch read of the resources of jobs, for `ctx.load`. Checks no permission: the build does. */
export const resourcesByJob = async (ctx: Context, jobIds: readonly string[]): Promise<ResourceRow[][]> =>
  rowsByKey(await ctx.rows(ofJobs, jobIds), jobIds, ({ jobId }) => jobId);

/** The resources of a build, in the order of the report. */
export const resourcesOf = (ctx: Context, { jobId }: Pick<BuildRow, "jobId">): Promise<ResourceRow[]> =>
  ctx.load(resourcesByJob, jobId);

/** The metadata of a resource. Only the owner of the workspace reads sensitive values. */
export const metadataOf = ({ actor }: Context, { metadata, ownerId }: ResourceRow): ResourceRow["metadata"] =>
  ownerId !== null && ownerId === userIdOf(actor)
    ? metadata
    : metadata.map((each) => (each.sensitive ? { ...each, value: "" } : each));
