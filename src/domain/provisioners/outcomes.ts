import { auditedAs, type Diff } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { importEnded } from "../templates/imports.js";
import { type BuildResult, buildChanged, buildEnded } from "../workspaces/build-outcomes.js";
import { type JobOutcome, jobHint, type JobRow, type ProvisionerJobType } from "./jobs.js";

/** What follows the end of a job, in its transaction. `job` has the final status. */
type Ended = (ctx: Context, job: JobRow, outcome: JobOutcome, result: BuildResult) => Promise<void>;

const ended: Record<ProvisionerJobType, Ended> = {
  template_version_import: importEnded,
  workspace_build: buildEnded,
  template_version_dry_run: async () => {},
};

/** A job, for the audit log. */
export const ofJob = ({ id, type, organizationId }: Pick<JobRow, "id" | "type" | "organizationId">) =>
  auditedAs("provisioner_job", id, type, organizationId);

/** The end of a job, for the audit log. */
export const endDiff = (before: JobRow["status"], outcome: JobOutcome, error: string): Diff => ({
  status: { old: before, new: outcome },
  ...(error !== "" && { error: { old: "", new: error } }),
});

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
  ctx.audit({ action: "update", ...ofJob(job), diff: endDiff(before, outcome, job.error) });
  ctx.publish(jobHint(job.id));
}

/** Applies a status that is not final: a daemon accepted the job, or its cancellation was requested. */
export async function jobChanged(ctx: Context, job: JobRow): Promise<void> {
  if (job.type === "workspace_build") await buildChanged(ctx, job);
  ctx.publish(jobHint(job.id));
}
