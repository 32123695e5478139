import type { Context } from "../kernel/context.js";
import { logReader } from "../kernel/log-lines.js";
import { jobHint } from "./jobs.js";
import { findProvisionerJob } from "./listing.js";
import { type JobLogRow, logColumns } from "./logs.js";

const jobLogs = logReader<JobLogRow>("provisioner_job_logs", "job_id", logColumns);

/**
 * Streams the lines of the log of a job, from the first one or after a cursor or the id of a line, until the job has
 * ended and all are sent, or the caller may not read it any more. A rejected watch throws before this resolves.
 */
export async function watchJobLogs(
  ctx: Context,
  jobId: string,
  after: string | null | undefined,
): Promise<AsyncIterable<JobLogRow>> {
  const { id } = await findProvisionerJob(ctx, jobId);
  const check = async () => ({ isComplete: (await findProvisionerJob(ctx, id)).completedAt !== null });
  return jobLogs.watch(ctx, id, after, { hint: jobHint(id), check });
}
