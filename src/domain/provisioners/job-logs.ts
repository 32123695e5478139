import type { Expression, InferResult } from "kysely";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { defineLogs, type LogArguments } from "../log-lines.js";
import type { Page } from "../kernel/paging.js";
import { cleaned, textProblem } from "../kernel/text.js";
import type { Watch } from "../kernel/watching.js";
import { findProvisionerJob, jobHint } from "./provisioner-jobs.js";
import { type Leased, leaseEnd, leaseLost, lockRunning, renewedLease } from "./leases.js";

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

/** A line that a daemon reports. */
export interface LogEntry {
  /** Counts from 1. Lines with the number of a known line, or a lower one, are skipped. */
  sequence: number;
  createdAt: string;
  level: ProvisionerLogLevel;
  source: ProvisionerLogSource;
  stage: string;
  output: string;
}

const mostEntries = 100;
const longestStage = 128;
/** In bytes. */
const longestOutput = 4096;
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

export interface UpdateProvisionerJob extends Leased {
  logs?: readonly LogEntry[] | null;
}

/** Stores lines of the log of a job and renews its lease. Throws CONFLICT with the reason `LEASE_LOST`. */
export async function updateProvisionerJob(
  ctx: Context,
  { logs, ...leased }: UpdateProvisionerJob,
): Promise<JobProgress> {
  const entries = logs ?? [];
  checkEntries(entries);
  const job = await lockRunning(ctx, leased)
    .select(["j.id", "j.status", "j.logSequence", "j.logBytes", "j.logsOverflowed"])
    .executeTakeFirst();
  if (!job) throw leaseLost();
  const { added, ...log } = append(job, entries);
  const rows = added.map((entry) => ({
    ...entry,
    stage: cleaned(entry.stage, longestStage),
    jobId: job.id,
    id: newId(),
  }));
  if (rows.length > 0) await ctx.db.insertInto("provisionerJobLogs").values(rows).execute();
  const { expiresAt } = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ ...log, leaseExpiresAt: renewedLease(ctx) })
    .where("j.id", "=", job.id)
    .returning(leaseEnd)
    .executeTakeFirstOrThrow();
  if (entries.length > 0) ctx.publish(jobHint(job.id));
  return { id: job.id, expiresAt, cancelRequested: job.status === "canceling", logsOverflowed: log.logsOverflowed };
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

function checkEntries(entries: readonly LogEntry[]): void {
  const problems = new Problems();
  if (entries.length > mostEntries) problems.add("logs", `Must have at most ${mostEntries} entries.`);
  for (const [index, { sequence, stage, output }] of entries.slice(0, mostEntries).entries()) {
    const at = `logs[${index}]`;
    problems.add(`${at}.sequence`, sequence > 0 ? undefined : "Must be at least 1.");
    problems.add(
      `${at}.stage`,
      stage.length <= longestStage ? textProblem(stage) : `Must be at most ${longestStage} characters.`,
    );
    const fits = Buffer.byteLength(output) <= longestOutput;
    problems.add(`${at}.output`, fits ? textProblem(output) : `Must be at most ${longestOutput} bytes.`);
  }
  problems.throwIfAny();
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
