import type { Expression, InferResult } from "kysely";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { defineLogs, type LogArguments } from "../log-lines.js";
import { type Page, pageSize, placeText } from "../kernel/paging.js";
import { cleanLabel } from "../../runtime/text.js";
import type { Watch } from "../kernel/watching.js";
import { findProvisionerJob, jobHint } from "./provisioner-jobs.js";
import { Leased, leaseEnd, leaseLost, lockRunning, renewedLease } from "./leases.js";
import {
  bytes,
  check,
  choice,
  dateTime,
  type Input,
  inputOf,
  int,
  list,
  optional,
  prose,
  required,
} from "../kernel/values.js";
import { longestStage } from "../../entities/provisioners.js";

/** The weight of a line. */
export const ProvisionerLogLevel = {
  TRACE: "trace",
  DEBUG: "debug",
  INFO: "info",
  WARN: "warn",
  ERROR: "error",
} as const;
export type ProvisionerLogLevel = (typeof ProvisionerLogLevel)[keyof typeof ProvisionerLogLevel];

/** The writer of a line: the daemon itself, or the program that it runs. */
export const ProvisionerLogSource = { PROVISIONER_DAEMON: "provisioner_daemon", PROVISIONER: "provisioner" } as const;
export type ProvisionerLogSource = (typeof ProvisionerLogSource)[keyof typeof ProvisionerLogSource];

const lines = (ctx: Context, job: Expression<string>) =>
  ctx.db
    .selectFrom("provisionerJobLogs as l")
    .where("l.jobId", "=", job)
    .select(["l.id", "l.jobId", "l.sequence", "l.createdAt", "l.level", "l.source", "l.stage", "l.output"]);

/** A line of the log of a job. */
export type JobLogRow = InferResult<ReturnType<typeof lines>>[number];

/** Selects lines of the log of a job. */
export const JobLogArguments = inputOf({
  after: optional(placeText, "Returns lines after this cursor or the ID of a line."),
  first: optional(pageSize, "Page size, at most 1000. Default: 100."),
});

/** A line that a daemon reports. */
export const LogEntry = inputOf({
  sequence: required(
    int(1, 2_147_483_647),
    "Number of the line, from 1, in ascending order. Lines up to the last known number are skipped.",
  ),
  createdAt: required(dateTime, "When it was written."),
  level: required(choice(ProvisionerLogLevel), "Severity of the line."),
  source: required(choice(ProvisionerLogSource), "The source of the line."),
  stage: required(prose(longestStage), "The step of the job, {limits}."),
  output: required(bytes(0, 4096), "The text, {limits}."),
});
export type LogEntry = Input<typeof LogEntry>;

/** In bytes. */
const largestLog = 1024 * 1024;

/** The response to a report of a daemon on its progress. */
export interface JobProgress {
  id: string;
  expiresAt: string;
  /** Whether the daemon must stop the job. */
  cancelRequested: boolean;
  /** Whether the log is full: further lines are dropped. */
  logsOverflowed: boolean;
}

export const UpdateProvisionerJob = inputOf({
  ...Leased.shape,
  logs: optional(list(100, LogEntry), "Lines for the log, {limits}."),
});
export type UpdateProvisionerJob = Input<typeof UpdateProvisionerJob>;

/** Stores lines of the log of a job and renews its lease. Throws CONFLICT with the reason `LEASE_LOST`. */
export async function updateProvisionerJob(ctx: Context, { logs, ...job }: UpdateProvisionerJob): Promise<JobProgress> {
  const problems = new Problems();
  check(UpdateProvisionerJob, { logs }, problems);
  problems.throwIfAny();
  const entries = logs ?? [];
  const found = await lockRunning(ctx, job)
    .select(["j.id", "j.status", "j.logSequence", "j.logBytes", "j.logsOverflowed"])
    .executeTakeFirst();
  if (!found) throw leaseLost();
  const { added, ...log } = append(found, entries);
  const rows = added.map((entry) => ({
    ...entry,
    stage: cleanLabel(entry.stage, longestStage),
    jobId: found.id,
    id: newId(),
  }));
  if (rows.length > 0) await ctx.db.insertInto("provisionerJobLogs").values(rows).execute();
  const { expiresAt } = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ ...log, leaseExpiresAt: renewedLease(ctx) })
    .where("j.id", "=", found.id)
    .returning(leaseEnd)
    .executeTakeFirstOrThrow();
  if (entries.length > 0) ctx.publish(jobHint(found.id));
  return { id: found.id, expiresAt, cancelRequested: found.status === "canceling", logsOverflowed: log.logsOverflowed };
}

/** The state of the log of a job. */
interface LogState {
  /** The number of the last line. */
  logSequence: number;
  logBytes: number;
  logsOverflowed: boolean;
}

/** Returns the lines of a report that are new and fit into the log, and the state of the log with them. */
function append({ logSequence: last, logBytes, logsOverflowed }: LogState, entries: readonly LogEntry[]) {
  const bySequence = new Map(entries.map((entry) => [entry.sequence, entry]));
  const fresh = [...bySequence.values()].filter(({ sequence }) => sequence > last);
  fresh.sort((a, b) => a.sequence - b.sequence);
  const added: LogEntry[] = [];
  for (const entry of fresh) {
    const total = logBytes + Buffer.byteLength(entry.output);
    logsOverflowed ||= total > largestLog;
    if (logsOverflowed) break;
    added.push(entry);
    logBytes = total;
  }
  return { added, logSequence: fresh.at(-1)?.sequence ?? last, logBytes, logsOverflowed };
}

const jobLogs = defineLogs(lines);

/** Reads a page of the log of a job. Checks no permission: the job does. */
export const logsOfJob = (ctx: Context, jobId: string, page: LogArguments): Promise<Page<JobLogRow>> =>
  jobLogs.page(ctx, jobId, page);

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
