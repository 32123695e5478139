import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { jobColumns, type JobRow, workHint } from "./jobs.js";
import { jobEnded } from "./outcomes.js";

/** A job that ended, with its status before. */
export type EndedRow = JobRow & { former: JobRow["status"] };

/** The SQL of the changes at the end of a job `j`, after which its daemon cannot report any more. */
export const ended = "completed_at = now(), lease_hash = null, lease_expires_at = null, refused_by = null";

const failHeld = statement<EndedRow>(`
  with held as materialized (
    select j.id, j.status from provisioner_jobs j
    where j.worker_id = any($1::uuid[]) and j.status in ('running', 'canceling') order by j.id for update
  )
  update provisioner_jobs j set status = 'failed', error = $2, ${ended}
  from held where j.id = held.id
  returning ${jobColumns}, held.status as former`);

const releaseHandedOut = statement(`
  update provisioner_jobs set worker_id = null, worker_name = '', lease_hash = null, lease_expires_at = null
  where worker_id = any($1::uuid[]) and status = 'pending'`);

/** Fails the running jobs of daemons that are deleted, and gives back those that they did not accept yet. */
export async function endJobsOf(
  ctx: Context,
  organizationId: string,
  daemonIds: readonly string[],
  error: string,
): Promise<void> {
  const failed = await ctx.rows(failHeld, daemonIds, error);
  await ctx.rows(releaseHandedOut, daemonIds);
  for (const { former, ...job } of failed) await jobEnded(ctx, job, "failed", former);
  ctx.publish(workHint(organizationId), ...daemonIds.map(presenceHint));
}

/** The hint that a daemon has room for a job, or must cancel one. */
export const daemonHint = (id: string) => ({ topic: "jobs", id: `d:${id}` }) as const;

/** The hint that a connection of a daemon was replaced by a newer one, or that the daemon was deleted. */
export const presenceHint = (id: string) => ({ topic: "jobs", id: `p:${id}` }) as const;
