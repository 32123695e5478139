import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, conflict, Problems } from "../kernel/errors.js";
import { isStorable } from "../kernel/text.js";
import type { BuildResult } from "../workspaces/build-outcomes.js";
import { daemonHint } from "./ends.js";
import { jobColumns, type JobErrorCode, type JobOutcome, type JobRow } from "./jobs.js";
import { held, isHeld, type Leased, leaseLost } from "./leases.js";
import { jobEnded } from "./outcomes.js";

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
  { error = "", errorCode = "" }: { error?: string; errorCode?: JobErrorCode | "" } = {},
): Promise<Ended> {
  const values = held(ctx, leased);
  const job = await ctx.row(ends[outcome], ...values, outcome, error, errorCode);
  if (!job) return alreadyEnded(ctx, values, outcome);
  if (state != null && job.type !== "workspace_build")
    throw badInput([{ field: "state", detail: "Only builds of workspaces have a state." }]);
  await jobEnded(ctx, job, outcome, job.canceledAt === null ? "running" : "canceling", {
    ...result,
    state: state ?? undefined,
  });
  ctx.publish(daemonHint(values[1]));
  return { status: outcome };
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
  const failure = {
    error: "The owner of the workspace has no credits left.",
    errorCode: "INSUFFICIENT_QUOTA",
  } as const;
  ctx.afterRollback(async (afresh) => {
    await end(afresh, leased, "failed", {}, failure);
  });
}
