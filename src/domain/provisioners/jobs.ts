import { ProvisionerJob } from "../../entities/provisioners.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

/** What jobs do. */
export const ProvisionerJobType = {
  TEMPLATE_VERSION_IMPORT: "template_version_import",
  WORKSPACE_BUILD: "workspace_build",
  TEMPLATE_VERSION_DRY_RUN: "template_version_dry_run",
} as const;
export type ProvisionerJobType = (typeof ProvisionerJobType)[keyof typeof ProvisionerJobType];

/** The states of jobs. The last three are final. */
export const ProvisionerJobStatus = {
  PENDING: "pending",
  RUNNING: "running",
  CANCELING: "canceling",
  SUCCEEDED: "succeeded",
  FAILED: "failed",
  CANCELED: "canceled",
} as const;
export type ProvisionerJobStatus = (typeof ProvisionerJobStatus)[keyof typeof ProvisionerJobStatus];

/** How a job ended: its final status. */
export type JobOutcome = "succeeded" | "failed" | "canceled";

/** Machine-readable reasons of failed jobs. */
export const JobErrorCode = {
  REQUIRED_TEMPLATE_VARIABLES: "REQUIRED_TEMPLATE_VARIABLES",
  INSUFFICIENT_QUOTA: "INSUFFICIENT_QUOTA",
} as const;
export type JobErrorCode = (typeof JobErrorCode)[keyof typeof JobErrorCode];

/** The select list of jobs `j`. */
export const jobColumns = columnsOf(ProvisionerJob, "j", [
  "id",
  "createdAt",
  "organizationId",
  "type",
  "status",
  "provisioner",
  "tags",
  "priority",
  "initiatorId",
  "documentId",
  "versionId",
  "workspaceBuildId",
  "pinnedDaemonId",
  "workerId",
  "workerName",
  "startedAt",
  "canceledAt",
  "completedAt",
  "error",
  "errorCode",
  "logsOverflowed",
]);

/** A job, without what belongs to its lease. */
export type JobRow = RowOf<typeof jobColumns>;

const jobsOfIds = statement<JobRow>(`select ${jobColumns} from provisioner_jobs j where j.id = any($1::uuid[])`);

/** Batch read of jobs by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function jobsByIds(ctx: Context, ids: readonly string[]): Promise<Array<JobRow | undefined>> {
  const jobs = new Map((await ctx.rows(jobsOfIds, ids)).map((job) => [job.id, job]));
  return ids.map((id) => jobs.get(id));
}

/** The hint that the status or the log of a job changed. */
export const jobHint = (id: string) => ({ topic: "jobs", id: `j:${id}` }) as const;

/** The hint that an organization may have work for its daemons. */
export const workHint = (organizationId: string) => ({ topic: "jobs", id: organizationId }) as const;
