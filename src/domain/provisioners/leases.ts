import { authorizeMachine } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError } from "../kernel/errors.js";
import { type Sql, sql } from "../kernel/sql.js";
import { storeTaskStatus } from "../tasks/status.js";
import { hashSecret } from "../tokens/text.js";
import { buildStatusWith } from "../workspaces/status.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import { jobHint, type JobRow } from "./jobs.js";

/** A job, and the token with which its daemon reports on it. */
export interface Leased {
  jobId: string;
  lease: string;
}

/**
 * The condition that the daemon `$2` holds the job `j`, `$1`, with the lease `$3`, which has not expired. The first
 * values of each statement of a daemon are those of `held`.
 */
export const isHeld = "j.id = $1 and j.worker_id = $2 and j.lease_hash = $3 and j.lease_expires_at > now()";

/** `isHeld` for composed SQL. */
export const isHeldWith = ([jobId, workerId, leaseHash]: ReturnType<typeof held>): Sql => sql`(
  j.id = ${jobId} and j.worker_id = ${workerId} and j.lease_hash = ${leaseHash} and j.lease_expires_at > now())`;

/** The values of `isHeld`. Throws FORBIDDEN for callers that are no daemons. */
export function held(ctx: Context, { jobId, lease }: Leased): [string, string, Buffer] {
  const { id } = authorizeMachine(ctx.actor, "provisioner_job:work");
  return [jobId, id, hashSecret(lease)];
}

/** The error for calls without the current lease: the daemon must abandon the work. */
export const leaseLost = () =>
  new DomainError("CONFLICT", "The job is not held with this lease. Abandon the work.", { reason: "LEASE_LOST" });

/** Seconds that a lease lasts from its last renewal. */
export const leaseSeconds = ({ config }: Context): number => config.jobHungAfter / 1000;

interface Accepted {
  id: string;
  expiresAt: string;
  former: JobRow["status"];
  /** Of a build. */
  workspaceId: string | null;
}

const acceptJob = statement<Accepted>(`
  with held as materialized (
    select j.id, j.status from provisioner_jobs j
    where ${isHeld} and j.status in ('pending', 'running', 'canceling') for update
  ), accepted as (
    update provisioner_jobs j set status = case when held.status = 'pending' then 'running' else held.status end,
      started_at = coalesce(j.started_at, now()), refused_by = null,
      lease_expires_at = now() + make_interval(secs => $4)
    from held where j.id = held.id
    returning j.id, j.workspace_build_id, j.lease_expires_at, held.status as former
  ), build as (
    update workspace_builds b set updated_at = now()
    from accepted a where b.id = a.workspace_build_id and a.former = 'pending'
    returning b.workspace_id, b.transition
  ), workspace as (
    update workspaces w set latest_status = ${buildStatusWith("'running'")}, updated_at = now()
    from build b where w.id = b.workspace_id
    returning w.*
  ), task as (${storeTaskStatus})
  select a.id, a.lease_expires_at as "expiresAt", a.former, (select id from workspace) as "workspaceId"
  from accepted a`);

/**
 * Accepts a job that was handed out to the calling daemon, which runs from now on. Returns when its lease expires.
 * Repeated calls have the same result. Throws CONFLICT with the reason `LEASE_LOST`.
 */
export async function acceptProvisionerJob(ctx: Context, leased: Leased): Promise<{ id: string; expiresAt: string }> {
  const accepted = await ctx.row(acceptJob, ...held(ctx, leased), leaseSeconds(ctx));
  if (!accepted) throw leaseLost();
  const { id, expiresAt, former, workspaceId } = accepted;
  if (former === "pending") ctx.publish(jobHint(id), ...(workspaceId === null ? [] : [workspaceHint(workspaceId)]));
  return { id, expiresAt };
}
