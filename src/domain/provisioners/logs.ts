import { ProvisionerJobLog } from "../../entities/provisioners.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { isStorable } from "../kernel/text.js";
import { jobHint } from "./jobs.js";
import { held, isHeld, type Leased, leaseLost, leaseSeconds } from "./leases.js";

/** The weight of a line. */
export const ProvisionerLogLevel = {
  TRACE: "trace",
  DEBUG: "debug",
  INFO: "info",
  WARN: "warn",
  ERROR: "error",
} as const;
export type ProvisionerLogLevel = (typeof ProvisionerLogLevel)[keyof typeof ProvisionerLogLevel];

/** What wrote a line: the daemon itself, or what it runs. */
export const ProvisionerLogSource = { PROVISIONER_DAEMON: "provisioner_daemon", PROVISIONER: "provisioner" } as const;
export type ProvisionerLogSource = (typeof ProvisionerLogSource)[keyof typeof ProvisionerLogSource];

export const logColumns = columnsOf(ProvisionerJobLog, "l", [
  "id",
  "jobId",
  "sequence",
  "createdAt",
  "level",
  "source",
  "stage",
  "output",
]);

/** A line of the log of a job. */
export type JobLogRow = RowOf<typeof logColumns>;

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

/** What a daemon learns from a report on its progress. */
export interface JobProgress {
  id: string;
  expiresAt: string;
  /** Whether the daemon must stop the job. */
  cancelRequested: boolean;
  /** Whether the log is full: further lines are dropped. */
  logsOverflowed: boolean;
}

const addLogs = statement<JobProgress>(`
  with held as materialized (
    select j.id, j.log_sequence, j.log_bytes, j.logs_overflowed from provisioner_jobs j
    where ${isHeld} and j.status in ('running', 'canceling') for update
  ), lines as materialized (
    select distinct on (l.sequence) l.* from held, unnest($5::uuid[], $6::int[], $7::timestamptz[], $8::text[], $9::text[],
      $10::text[], $11::text[]) as l (id, sequence, created_at, level, source, stage, output)
    where l.sequence > held.log_sequence order by l.sequence
  ), measured as (
    select l.*, held.log_bytes + sum(octet_length(l.output)) over (order by l.sequence) as total
    from lines l, held where not held.logs_overflowed
  ), stored as (
    insert into provisioner_job_logs (job_id, sequence, id, created_at, level, source, stage, output)
    select $1, sequence, id, created_at, level, source, stage, output from measured where total <= ${largestLog}
  )
  update provisioner_jobs j set lease_expires_at = now() + make_interval(secs => $4),
    log_sequence = greatest(held.log_sequence, (select max(sequence) from lines)),
    log_bytes = greatest(held.log_bytes, (select max(total) from measured where total <= ${largestLog})),
    logs_overflowed = held.logs_overflowed or exists (select from measured where total > ${largestLog})
  from held where j.id = held.id
  returning j.id, j.lease_expires_at as "expiresAt", j.status = 'canceling' as "cancelRequested",
    j.logs_overflowed as "logsOverflowed"`);

export interface UpdateProvisionerJob extends Leased {
  logs?: readonly LogEntry[] | null;
}

/** Stores lines of the log of a job and renews its lease. Throws CONFLICT with the reason `LEASE_LOST`. */
export async function updateProvisionerJob(
  ctx: Context,
  { logs, ...leased }: UpdateProvisionerJob,
): Promise<JobProgress> {
  const values = held(ctx, leased);
  const entries = logs ?? [];
  checkEntries(entries);
  const all = <Name extends keyof LogEntry>(name: Name) => entries.map((entry) => entry[name]);
  const lines = [entries.map(() => newId()), all("sequence"), all("createdAt"), all("level"), all("source")];
  const progress = await ctx.row(addLogs, ...values, leaseSeconds(ctx), ...lines, all("stage"), all("output"));
  if (!progress) throw leaseLost();
  if (entries.length > 0) ctx.publish(jobHint(progress.id));
  return progress;
}

function checkEntries(entries: readonly LogEntry[]): void {
  const problems = new Problems();
  if (entries.length > mostEntries) problems.add("logs", `Must have at most ${mostEntries} entries.`);
  for (const [index, { sequence, stage, output }] of entries.slice(0, mostEntries).entries()) {
    const at = `logs[${index}]`;
    problems.add(`${at}.sequence`, sequence > 0 ? undefined : "Must be at least 1.");
    problems.add(
      `${at}.stage`,
      stage.length <= longestStage ? storable(stage) : `Must be at most ${longestStage} characters.`,
    );
    const fits = Buffer.byteLength(output) <= longestOutput;
    problems.add(`${at}.output`, fits ? storable(output) : `Must be at most ${longestOutput} bytes.`);
  }
  problems.throwIfAny();
}

const storable = (text: string): string | undefined =>
  isStorable(text) ? undefined : "Must be valid Unicode without NUL characters.";

/** The lines of a job in their order. `after` and `before` take a cursor or the id of a line. */
export async function logsOfJob(ctx: Context, jobId: string, page: PageArguments): Promise<Page<JobLogRow>> {
  const problems = new Problems();
  const range = readRange(page, {}, problems);
  problems.throwIfAny();
  const isOfJob = sql`l.job_id = ${jobId}`;
  const ofPlace = (id: string): Sql =>
    sql`(select l.sequence from provisioner_job_logs l where ${isOfJob} and l.id = ${id})`;
  const order: Order = { keys: [{ column: sql`l.sequence`, ofPlace }], id: sql`l.id` };
  const rows = await ctx.select<JobLogRow>(
    rowsIn(range, order, (beyond) => {
      const condition = beyond ? sql`${isOfJob} and ${beyond}` : isOfJob;
      return sql`select ${raw(logColumns)} from provisioner_job_logs l where ${condition}`;
    }),
  );
  return pageOf(range, rows, {
    cursor: ({ id }) => cursor(id, {}),
    count: () => ctx.count(sql`select count(*) from provisioner_job_logs l where ${isOfJob}`),
  });
}
