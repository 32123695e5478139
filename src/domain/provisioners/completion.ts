import { auditingMore } from "../audit/audit.js";
import { authorizeMachine } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { shaped, statement } from "../kernel/database.js";
import { badInput, conflict, Problems } from "../kernel/errors.js";
import { sql } from "../kernel/sql.js";
import { isStorable } from "../kernel/text.js";
import type { BuildResult } from "../workspaces/build-outcomes.js";
import { daemonHint } from "./ends.js";
import { jobColumns, type JobErrorCode, jobHint, type JobOutcome, type JobRow } from "./jobs.js";
import { held, isHeld, isHeldWith, type Leased, leaseLost } from "./leases.js";
import { endDiff, jobEnded, ofJob } from "./outcomes.js";

export interface CompleteProvisionerJob extends Leased {
  /** JSON for the next build of the workspace. */
  state?: unknown;
  /** Whether the next builds of the workspace go to this daemon. */
  pin?: boolean | null;
}

export interface FailProvisionerJob extends Leased {
  error: string;
  errorCode?: JobErrorCode | null;
  state?: unknown;
  /** Whether the job was stopped because its cancellation was requested. */
  canceled?: boolean | null;
}

/** A job that its daemon ended. */
export interface Ended {
  status: JobOutcome;
}

/** In bytes of JSON. */
const largestState = 256 * 1024;
/** In bytes. */
const longestError = 4096;

// Deletions and dry runs may create nothing.
const hasReport = `(j.resources_hash is not null or j.type = 'template_version_dry_run' or exists (
  select from workspace_builds b where b.job_id = j.id and b.transition = 'delete'))`;

// The lease remains: a repeated call is recognized by it.
const endHeld = (condition: string) =>
  statement<JobRow>(`
    update provisioner_jobs j set status = $4, error = $5, error_code = $6, completed_at = now()
    where ${isHeld} and ${condition}
    returning ${jobColumns}`);

const ends = {
  succeeded: endHeld(`j.status in ('running', 'canceling') and ${hasReport}`),
  failed: endHeld("j.status in ('running', 'canceling')"),
  canceled: endHeld("j.status = 'canceling'"),
} as const satisfies Record<JobOutcome, unknown>;

/** The error of a job that failed. Empty for others. */
interface Failure {
  error: string;
  errorCode: JobErrorCode | "";
}

const noFailure: Failure = { error: "", errorCode: "" };

/**
 * Ends a dry run, on which nothing else depends, with its record, in one commit with the ends of other jobs. Returns
 * whether it did.
 */
async function endDryRun(ctx: Context, leased: Leased, outcome: JobOutcome, { error, errorCode }: Failure) {
  const values = held(ctx, leased);
  const { organizationId } = authorizeMachine(ctx.actor, "provisioner_job:work");
  const entry = {
    action: "update",
    ...ofJob({ id: leased.jobId, type: "template_version_dry_run", organizationId }),
  } as const;
  const [running, canceling] = (["running", "canceling"] as const).map((before) => endDiff(before, outcome, error));
  const diff = sql`(select ${JSON.stringify({ running, canceling })}::jsonb -> former from ended)`;
  const { text, values: all } = sql`
    with ended as (
      update provisioner_jobs j set status = ${outcome}, error = ${error}, error_code = ${errorCode}, completed_at = now()
      where j.type = 'template_version_dry_run' and ${isHeldWith(values)}
        and j.status = any(${outcome === "canceled" ? ["canceling"] : ["running", "canceling"]})
      returning j.id, case when j.canceled_at is null then 'running' else 'canceling' end as former
    ), ${auditingMore(ctx, entry, diff)}
    select id from ended`;
  return (await ctx.row(shaped(text), ...all)) !== undefined;
}

const statusOfLease = statement<Pick<JobRow, "status"> & { isAlive: boolean }>(`
  select j.status, j.lease_expires_at > now() as "isAlive" from provisioner_jobs j
  where j.id = $1 and j.worker_id = $2 and j.lease_hash = $3`);

/**
 * Ends a job that succeeded; a cancellation that was requested meanwhile is void. Repeated calls have the same result.
 * Throws CONFLICT, with the reason `LEASE_LOST` without the current lease.
 */
export async function completeProvisionerJob(
  ctx: Context,
  { state, pin, ...leased }: CompleteProvisionerJob,
): Promise<Ended> {
  const problems = new Problems();
  problems.add("state", stateProblem(state));
  problems.throwIfAny();
  const [, workerId] = held(ctx, leased);
  return end(ctx, leased, "succeeded", { state, pinDaemonId: pin ? workerId : undefined });
}

/** Ends a job that failed, or was canceled. Otherwise like `completeProvisionerJob`. */
export async function failProvisionerJob(
  ctx: Context,
  { state, error, errorCode, canceled, ...leased }: FailProvisionerJob,
): Promise<Ended> {
  const problems = new Problems();
  const isError = error !== "" && Buffer.byteLength(error) <= longestError && isStorable(error);
  problems.add("error", isError ? undefined : `Must be 1 to ${longestError} bytes of valid Unicode without NUL.`);
  problems.add("state", stateProblem(state));
  problems.throwIfAny();
  return end(ctx, leased, canceled ? "canceled" : "failed", { state }, { error, errorCode: errorCode ?? "" });
}

function stateProblem(state: unknown): string | undefined {
  if (state == null) return undefined;
  const text = JSON.stringify(state);
  if (Buffer.byteLength(text) > largestState) return `Must be at most ${largestState} bytes of JSON.`;
  return isStorable(text) && !text.includes("\\u0000") ? undefined : "Must be valid Unicode without NUL characters.";
}

async function end(
  ctx: Context,
  leased: Leased,
  outcome: JobOutcome,
  { state, ...result }: BuildResult,
  failure: Failure = noFailure,
): Promise<Ended> {
  const values = held(ctx, leased);
  const done = { status: outcome };
  if (state == null && (await endDryRun(ctx, leased, outcome, failure))) {
    ctx.publish(jobHint(leased.jobId), daemonHint(values[1]));
    return done;
  }
  const job = await ctx.row(ends[outcome], ...values, outcome, failure.error, failure.errorCode);
  if (!job) return alreadyEnded(ctx, values, outcome);
  if (state != null && job.type !== "workspace_build")
    throw badInput([{ field: "state", detail: "Only builds of workspaces have a state." }]);
  await jobEnded(ctx, job, outcome, job.canceledAt === null ? "running" : "canceling", {
    ...result,
    state: state ?? undefined,
  });
  ctx.publish(daemonHint(values[1]));
  return done;
}

/** The result of a repeated call. Throws CONFLICT for all others. */
async function alreadyEnded(ctx: Context, values: [string, string, Buffer], outcome: JobOutcome): Promise<Ended> {
  const found = await ctx.row(statusOfLease, ...values);
  if (found?.status === outcome) return { status: outcome };
  if (!found?.isAlive || (found.status !== "running" && found.status !== "canceling")) throw leaseLost();
  if (outcome === "canceled")
    throw badInput([{ field: "canceled", detail: "The cancellation of the job was not requested." }]);
  throw conflict("The resources of the job have not been reported.");
}

/** Fails the job whose resources exceed the quota, after the rollback of their report. */
export function failForQuota(ctx: Context, leased: Leased): void {
  const failure: Failure = {
    error: "The owner of the workspace has no credits left.",
    errorCode: "INSUFFICIENT_QUOTA",
  };
  ctx.afterRollback(async (afresh) => {
    await end(afresh, leased, "failed", {}, failure);
  });
}
