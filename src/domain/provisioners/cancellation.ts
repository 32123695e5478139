import { auditedAs } from "../audit/audit.js";
import { may, requireScope, sees } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, forbidden, notFound } from "../kernel/errors.js";
import { isUuid } from "../kernel/text.js";
import { daemonHint, ended } from "./ends.js";
import { jobColumns, type JobRow } from "./jobs.js";
import { jobChanged, jobEnded } from "./outcomes.js";

interface Cancelable extends JobRow {
  ownerId: string;
  allowsCancel: boolean;
}

const lockJob = statement<Cancelable>(`
  select ${jobColumns}, coalesce(w.owner_id, j.initiator_id) as "ownerId",
    coalesce(t.allow_user_cancel, false) as "allowsCancel"
  from provisioner_jobs j
    left join workspace_builds b on b.job_id = j.id left join workspaces w on w.id = b.workspace_id
    left join template_versions v on v.id = coalesce(b.version_id, j.version_id)
    left join templates t on t.id = v.template_id
  where j.id = $1 for update of j`);

const cancelJob = statement<JobRow>(`
  update provisioner_jobs j set status = 'canceled', canceled_at = now(), ${ended} where j.id = $1
  returning ${jobColumns}`);

const requestCancel = statement<JobRow>(`
  update provisioner_jobs j set status = 'canceling', canceled_at = now() where j.id = $1 returning ${jobColumns}`);

/**
 * Cancels a job that waits, and asks the daemon of a running one to stop it. Returns its id. Throws CONFLICT for a job
 * that has ended or is being canceled. The owner of the job may cancel it if the template allows it.
 */
export async function cancelProvisionerJob(ctx: Context, id: string): Promise<string> {
  requireScope(ctx.actor, "provisioner_job:update");
  const found = isUuid(id) ? await ctx.row(lockJob, id) : undefined;
  if (!found || !sees(ctx.actor, "provisioner_job:read", found)) throw notFound();
  if (!may(ctx.actor, "provisioner_job:update", found)) throw forbidden();
  if (found.status === "canceling") throw conflict("The job is being canceled already.");
  if (found.status !== "pending" && found.status !== "running") throw conflict("The job has ended.");
  if (found.status === "pending") {
    await jobEnded(ctx, (await ctx.row(cancelJob, id))!, "canceled", "pending");
  } else {
    const job = (await ctx.row(requestCancel, id))!;
    await jobChanged(ctx, job);
    auditRequest(ctx, job);
  }
  if (found.workerId !== null) ctx.publish(daemonHint(found.workerId));
  return id;
}

const cancelPending = statement<JobRow>(`
  update provisioner_jobs j set status = 'canceled', canceled_at = now(), ${ended}
  where j.id = $1 and j.status = 'pending' returning ${jobColumns}`);

/** Cancels a job unless a daemon has accepted it. Returns whether it did. Checks no permission. */
export async function cancelPendingJob(ctx: Context, id: string): Promise<boolean> {
  const job = await ctx.row(cancelPending, id);
  if (!job) return false;
  await jobEnded(ctx, job, "canceled", "pending");
  if (job.workerId !== null) ctx.publish(daemonHint(job.workerId));
  return true;
}

const auditRequest = (ctx: Context, { id, type, organizationId }: JobRow): void =>
  ctx.audit({
    action: "update",
    ...auditedAs("provisioner_job", id, type, organizationId),
    diff: { status: { old: "running", new: "canceling" } },
  });
