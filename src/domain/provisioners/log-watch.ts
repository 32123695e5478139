import type { Context } from "../kernel/context.js";
import { logReader } from "../kernel/log-lines.js";
import type { Watch } from "../kernel/watching.js";
import { jobHint } from "./jobs.js";
import { findProvisionerJob } from "./listing.js";
import { type JobLogRow, logColumns } from "./logs.js";

const jobLogs = logReader<JobLogRow>("provisioner_job_logs", "job_id", logColumns);

/**
 * Streams the lines of the log of a job, from the first one or after a cursor or the id of a line, until the job has
 * ended and all are sent, or the caller may not read it any more. A rejected watch throws before this resolves.
 */
export const watchJobLogs = (
  ctx: Context,
  { jobId, after }: { jobId: string; after?: string | null },
): Promise<Watch<JobLogRow>> =>
  jobLogs.watch(ctx, after, {
    while: (fresh) => findProvisionerJob(fresh, jobId),
    hints: ({ id }) => [jobHint(id)],
    isComplete: ({ completedAt }) => completedAt !== null,
  });
