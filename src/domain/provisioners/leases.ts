import { sql, type SqlBool } from "kysely";
import { authorizeMachine } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, DomainError, Problems } from "../kernel/errors.js";
import { holdsStorableText } from "../../runtime/text.js";
import { after, now } from "../kernel/queries.js";
import { hashSecret } from "../tokens/token-text.js";
import type { BuildResult } from "../workspaces/ended-builds.js";
import { jobChanged, jobEnded } from "./ended-jobs.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { daemonHint, JobErrorCode, jobFields, type JobOutcome } from "./provisioner-jobs.js";
import {
  bytes,
  check,
  choice,
  flag,
  inputOf,
  type Input,
  jsonObject,
  meant,
  optional,
  required,
  secret,
  uuid,
} from "../kernel/values.js";
import { longestJobError } from "../../entities/provisioners.js";

const j = columnsOf("provisionerJobs", "j");
const b = columnsOf("workspaceBuilds", "b");

/** A job, and the token with which its daemon reports on it. */
export const Leased = inputOf({
  jobId: required(uuid, "ID of the job."),
  lease: required(secret, "Lease of the job, from its assignment."),
});
export type Leased = Input<typeof Leased>;

/** The condition that the calling daemon got the job `j` with this lease. Throws FORBIDDEN for callers that are no daemons. */
function isLeased(ctx: Context, { jobId, lease }: Leased) {
  const { id } = authorizeMachine(ctx.actor, "provisioner_job:work");
  return sql<SqlBool>`(j.id = ${jobId} and ${j.workerId} = ${id} and ${j.leaseHash} = ${hashSecret(lease)})`;
}

/** `isLeased` with a lease that has not expired: the daemon may report on the job. */
const isHeld = (ctx: Context, leased: Leased) =>
  sql<SqlBool>`(${isLeased(ctx, leased)} and ${j.leaseExpiresAt} > now())`;

/** Locks the running job of a lease until the transaction ends. Selects nothing if the calling daemon does not hold it. */
export const lockRunning = (ctx: Context, leased: Leased) =>
  ctx.db
    .selectFrom("provisionerJobs as j")
    .where(isHeld(ctx, leased))
    .where("j.status", "in", ["running", "canceling"])
    .forNoKeyUpdate("j");

/** The error for calls without the current lease: the daemon must abandon the work. */
export const leaseLost = () =>
  new DomainError("CONFLICT", "The job is not held with this lease. Abandon the work.", { reason: "LEASE_LOST" });

/** When a lease expires that is renewed now. */
export const renewedLease = ({ config }: Pick<Context, "config">) => after(config.jobHungAfter);

/** When the lease of the job `j` expires. */
export const leaseEnd = sql<string>`${j.leaseExpiresAt}`.as("expiresAt");

/**
 * Accepts a job that was handed out to the calling daemon, which runs from now on. Returns when its lease expires.
 * Repeated calls have the same result. Throws CONFLICT with the reason `LEASE_LOST`.
 */
export async function acceptProvisionerJob(ctx: Context, leased: Leased): Promise<{ id: string; expiresAt: string }> {
  const held = ctx.db.updateTable("provisionerJobs as j").where(isHeld(ctx, leased));
  const job = await held
    .where("j.status", "=", "pending")
    .set({ status: "running", startedAt: now, refusedBy: null, leaseExpiresAt: renewedLease(ctx) })
    .returning(["j.id", "j.type", "j.workspaceBuildId", leaseEnd])
    .executeTakeFirst();
  if (job) {
    await jobChanged(ctx, job);
    return { id: job.id, expiresAt: job.expiresAt };
  }
  const accepted = await held
    .where("j.status", "in", ["running", "canceling"])
    .set({ leaseExpiresAt: renewedLease(ctx) })
    .returning(["j.id", leaseEnd])
    .executeTakeFirst();
  if (!accepted) throw leaseLost();
  return accepted;
}

export const CompleteProvisionerJob = inputOf({
  ...Leased.shape,
  state: optional(jsonObject, "The state for the next build of the workspace, at most 256 KiB of JSON. Builds only."),
  pin: optional(flag, "Whether all builds of the workspace go to this daemon until a stop or a deletion succeeds."),
});
export type CompleteProvisionerJob = Input<typeof CompleteProvisionerJob>;

const failureText = meant(bytes(1, longestJobError), { limits: `at most ${longestJobError} bytes` });

export const FailProvisionerJob = inputOf({
  ...Leased.shape,
  error: required(failureText, "The reason of the failure, {limits}. Shown to users."),
  errorCode: optional(choice(JobErrorCode), "Machine-readable reason."),
  state: optional(jsonObject, "As for `completeProvisionerJob`."),
  canceled: optional(flag, "Whether the job was stopped because its cancellation was requested."),
});
export type FailProvisionerJob = Input<typeof FailProvisionerJob>;

/** A job that its daemon ended. */
export interface Ended {
  status: JobOutcome;
}

/** In bytes of JSON. */
const largestState = 256 * 1024;

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
  const { id } = authorizeMachine(ctx.actor, "provisioner_job:work");
  return end(ctx, leased, "succeeded", { state, pinDaemonId: pin ? id : undefined });
}

/** Ends a job that failed, or was canceled. Otherwise like `completeProvisionerJob`. */
export async function failProvisionerJob(
  ctx: Context,
  { state, error, errorCode, canceled, ...leased }: FailProvisionerJob,
): Promise<Ended> {
  const problems = new Problems();
  check(FailProvisionerJob, { error }, problems);
  problems.add("state", stateProblem(state));
  problems.throwIfAny();
  return end(ctx, leased, canceled ? "canceled" : "failed", { state }, { error, errorCode: errorCode ?? "" });
}

function stateProblem(state: unknown): string | undefined {
  if (state == null) return undefined;
  if (Buffer.byteLength(JSON.stringify(state)) > largestState) return `Must be at most ${largestState} bytes of JSON.`;
  return holdsStorableText(state) ? undefined : "Must be valid Unicode without NUL characters.";
}

/** The error of a job that failed. Empty for others. */
interface Failure {
  error: string;
  errorCode: JobErrorCode | "";
}

const noFailure: Failure = { error: "", errorCode: "" };

// Deletions and dry runs may create nothing.
const hasReport = sql<SqlBool>`(
  ${j.resourcesHash} is not null or j.type = 'template_version_dry_run'
  or exists (select from workspace_builds b where ${b.jobId} = j.id and b.transition = 'delete'))`;

async function end(
  ctx: Context,
  leased: Leased,
  outcome: JobOutcome,
  { state, ...result }: BuildResult,
  failure: Failure = noFailure,
): Promise<Ended> {
  // The lease remains: a repeated call is recognized by it.
  const job = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ status: outcome, ...failure, completedAt: now })
    .where(isHeld(ctx, leased))
    .where("j.status", "in", outcome === "canceled" ? ["canceling"] : ["running", "canceling"])
    .$if(outcome === "succeeded", (query) => query.where(hasReport))
    .returning(jobFields)
    .executeTakeFirst();
  if (!job) return alreadyEnded(ctx, leased, outcome);
  if (state != null && job.type !== "workspace_build")
    throw badInput([{ field: "state", detail: "Only builds of workspaces have a state." }]);
  await jobEnded(ctx, job, outcome, job.canceledAt === null ? "running" : "canceling", {
    ...result,
    state: state ?? undefined,
  });
  ctx.publish(daemonHint(job.workerId!));
  return { status: outcome };
}

/** The result of a repeated call. Throws CONFLICT for all others. */
async function alreadyEnded(ctx: Context, leased: Leased, outcome: JobOutcome): Promise<Ended> {
  const found = await ctx.db
    .selectFrom("provisionerJobs as j")
    .where(isLeased(ctx, leased))
    .select(["j.status", sql<boolean>`${j.leaseExpiresAt} > now()`.as("isAlive")])
    .executeTakeFirst();
  if (found?.status === outcome) return { status: outcome };
  if (!found?.isAlive || (found.status !== "running" && found.status !== "canceling")) throw leaseLost();
  if (outcome === "canceled")
    throw badInput([{ field: "canceled", detail: "The cancellation of the job was not requested." }]);
  throw conflict("The resources of the job have not been reported.");
}

/** Fails the job whose resources exceed the quota, after the rollback of their report. `error` says by how much. */
export function failForQuota(ctx: Context, leased: Leased, error: string): void {
  const failure: Failure = { error, errorCode: "INSUFFICIENT_QUOTA" };
  ctx.afterRollback(async (afresh) => {
    await end(afresh, leased, "failed", {}, failure);
  });
}
