import { auditedAs } from "../kernel/audit.js";
import { may, requireScope, sees } from "../authorization/authorization.js";
import { Context } from "../kernel/context.js";
import { conflict, forbidden, notFound } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";
import { isUuid } from "../../runtime/text.js";
import { importEnded } from "../templates/version-changes.js";
import { type BuildResult, buildChanged, buildEnded } from "../workspaces/ended-builds.js";
import {
  daemonHint,
  jobFields,
  jobHint,
  type JobOutcome,
  type JobRow,
  jobsWithSubjects,
  ownerOfJob,
  presenceHint,
  type ProvisionerJobType,
  workHint,
} from "./provisioner-jobs.js";
import { inputOf, reference, required, type Input } from "../kernel/values.js";

// How jobs end, whether or not their daemons say so. `leases.ts` has the ends that daemons report.

/** Runs in the transaction that ends a job, after the end. `job` has the final status. */
type Ended = (ctx: Context, job: JobRow, outcome: JobOutcome, result: BuildResult) => Promise<void>;

const ended: Record<ProvisionerJobType, Ended> = {
  template_version_import: importEnded,
  workspace_build: buildEnded,
  template_version_dry_run: async () => {},
};

/**
 * Applies the outcome of a job that has ended in this transaction. Every end passes here: completion, failure,
 * cancellation, timeouts, and the deletion of a key.
 */
export async function jobEnded(
  ctx: Context,
  job: JobRow,
  outcome: JobOutcome,
  before: JobRow["status"],
  result: BuildResult = {},
): Promise<void> {
  await ended[job.type](ctx, job, outcome, result);
  auditStatus(ctx, job, before);
  ctx.publish(jobHint(job.id));
}

/** Applies a status that is not final: a daemon accepted the job, or its cancellation was requested. */
export async function jobChanged(ctx: Context, job: Pick<JobRow, "id" | "type" | "workspaceBuildId">): Promise<void> {
  if (job.type === "workspace_build") await buildChanged(ctx, job);
  ctx.publish(jobHint(job.id));
}

const auditStatus = (ctx: Context, { id, type, organizationId, status, error }: JobRow, before: JobRow["status"]) =>
  ctx.audit({
    action: "update",
    ...auditedAs("provisioner_job", id, type, organizationId),
    diff: { status: { old: before, new: status }, ...(error !== "" && { error: { old: "", new: error } }) },
  });

/** The changes that end a job. Its daemon cannot report any more. */
export const withoutLease = { completedAt: now, leaseHash: null, leaseExpiresAt: null, refusedBy: null };

/** The changes that return a job from a daemon to the queue. */
export const handedBack = { workerId: null, workerName: "", leaseHash: null, leaseExpiresAt: null };

export const CancelProvisionerJob = inputOf({
  job: required(reference, "ID of the job."),
});
export type CancelProvisionerJob = Input<typeof CancelProvisionerJob>;

/**
 * Cancels a job that waits, and asks the daemon of a running one to stop it. Returns its id. Throws CONFLICT for a job
 * that has ended or is being canceled. The owner of the job may cancel it if the template allows it.
 */
export async function cancelProvisionerJob(ctx: Context, id: string): Promise<string> {
  requireScope(ctx.actor, "provisioner_job:update");
  if (!isUuid(id)) throw notFound();
  const found = await lockForCancel(ctx, id);
  if (!found || !sees(ctx.actor, "provisioner_job:read", found)) throw notFound();
  if (!may(ctx.actor, "provisioner_job:update", found)) throw forbidden();
  if (found.status === "canceling") throw conflict("The job is being canceled already.");
  if (found.status !== "pending" && found.status !== "running") throw conflict("The job has ended.");
  if (!(await cancelPendingJob(ctx, id))) await cancelRunningJob(ctx, id);
  return id;
}

/** Locks the job of a build. The ends of jobs lock the workspace after it: callers who lock both take this one first. */
export const lockJobOf = (ctx: Context, buildId: string) =>
  ctx.db
    .selectFrom("provisionerJobs")
    .select("id")
    .where("id", "=", (eb) => eb.selectFrom("workspaceBuilds").select("jobId").where("id", "=", buildId))
    .forNoKeyUpdate()
    .execute();

/** `cancelProvisionerJob` that leaves alone what the caller may not cancel, or has ended. */
export async function cancelJobIfAllowed(ctx: Context, id: string): Promise<void> {
  const found = await lockForCancel(ctx, id);
  if (found?.status === "running" && may(ctx.actor, "provisioner_job:update", found)) await cancelRunningJob(ctx, id);
}

/** Locks a job, with what decides whether it may be canceled. */
const lockForCancel = (ctx: Context, id: string) =>
  jobsWithSubjects(ctx.db)
    .where("j.id", "=", id)
    .select(["j.status", "j.workerId", "j.organizationId", ownerOfJob])
    .select((eb) => eb.fn.coalesce("t.allowUserCancel", eb.lit(false)).as("allowsCancel"))
    .forUpdate("j")
    .executeTakeFirst();

/** Asks the daemon of a job that runs, and is locked, to stop it. */
async function cancelRunningJob(ctx: Context, id: string): Promise<void> {
  const job = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ status: "canceling", canceledAt: now })
    .where("j.id", "=", id)
    .returning(jobFields)
    .executeTakeFirstOrThrow();
  await jobChanged(ctx, job);
  auditStatus(ctx, job, "running");
  if (job.workerId !== null) ctx.publish(daemonHint(job.workerId));
}

/** Cancels a job unless a daemon has accepted it. Returns whether it did. Checks no permission. */
export async function cancelPendingJob(ctx: Context, id: string): Promise<boolean> {
  const job = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ ...withoutLease, status: "canceled", canceledAt: now })
    .where("j.id", "=", id)
    .where("j.status", "=", "pending")
    .returning(jobFields)
    .executeTakeFirst();
  if (!job) return false;
  await jobEnded(ctx, job, "canceled", "pending");
  if (job.workerId !== null) ctx.publish(daemonHint(job.workerId));
  return true;
}

/** Ends a job of this transaction as succeeded, without any daemon. */
export async function succeedWithoutDaemon(ctx: Context, id: string): Promise<void> {
  const job = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ status: "succeeded", startedAt: now, completedAt: now })
    .where("j.id", "=", id)
    .returning(jobFields)
    .executeTakeFirstOrThrow();
  await jobEnded(ctx, job, "succeeded", "pending");
}

/** Fails the running jobs of daemons that are deleted, and gives back those that they did not accept yet. */
export async function endJobsOf(
  ctx: Context,
  organizationId: string,
  daemonIds: readonly string[],
  error: string,
): Promise<void> {
  const held = await ctx.db
    .selectFrom("provisionerJobs")
    .where("workerId", "=", anyOf(daemonIds))
    .where("status", "in", ["running", "canceling"])
    .select(["id", "status"])
    .orderBy("id")
    .forUpdate()
    .execute();
  const former = new Map(held.map(({ id, status }) => [id, status]));
  const failed = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ ...withoutLease, status: "failed", error })
    .where("j.id", "=", anyOf([...former.keys()]))
    .returning(jobFields)
    .execute();
  await ctx.db
    .updateTable("provisionerJobs")
    .set(handedBack)
    .where("workerId", "=", anyOf(daemonIds))
    .where("status", "=", "pending")
    .execute();
  for (const job of failed) await jobEnded(ctx, job, "failed", former.get(job.id)!);
  ctx.publish(workHint(organizationId), ...daemonIds.map(presenceHint));
}
