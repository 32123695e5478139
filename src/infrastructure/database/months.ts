// Tables with a partition for each month: the months of UUIDv7 ids, which begin with their time. A whole month is dropped
// as one when its retention has ended. Rows for which there is no month go to a default partition, so that no write fails.
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { Logger } from "pino";
import type { Config } from "../../runtime/config.js";
import { isConnectionFault } from "./availability.js";
import type { Database, Db } from "./database.js";
import { day, hour } from "../../runtime/durations.js";
import type { Purge } from "./purge.js";
import { takeTurn } from "./locks.js";

/** The partitioned tables. The first partition of each is the table of earlier releases, with what it had. */
const partitioned = ["audit_log", "connection_log", "inbox"] as const;
export type Partitioned = (typeof partitioned)[number];

interface Services {
  config: Config;
  database: Pick<Database, "db" | "withoutTimeouts">;
  log: Pick<Logger, "info" | "warn">;
}

/** Months that exist ahead, beside the current one. */
const ahead = 3;

/** Makes the months of all tables ahead of time, and warns of rows and times that have no month. */
export const monthsJob = {
  name: "make months",
  every: hour,
  async run({ database, log }: Services): Promise<void> {
    if ((await missingMonths(database.db)).length > 0)
      await database.withoutTimeouts(({ db }) => makeMonths({ db, log }));
    await warnOfRows({ db: database.db, log });
  },
};

/** A month of a table, such as `2027-03-01`. */
interface Month {
  table: Partitioned;
  month: string;
  /** Whether it begins in more than a week. */
  isLater: boolean;
}

/** The partitions of table `t`, with their bounds, and the id below which theirs are. The default partition has none. */
const partitions = (table: string) => sql`
  select name, bounds, substring(bounds from 'TO \\(''([0-9a-f-]{36})''\\)')::uuid as until from (
    select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ${sql.raw(table)}::regclass) bounded`;

/** The current month and the next ones that tables lack. Partitions leave no gaps, but for months that could not be made. */
async function missingMonths(db: Db): Promise<Month[]> {
  const { rows } = await sql<Month>`
    select t.name as table, to_char(month, 'YYYY-MM-DD') as month, month > now() at time zone 'UTC' + interval '7 days' as "isLater"
    from unnest(${partitioned}::text[]) as t (name),
      generate_series(date_trunc('month', now() at time zone 'UTC'),
        date_trunc('month', now() at time zone 'UTC') + make_interval(months => ${sql.lit(ahead)}), interval '1 month') month
    where to_regclass(t.name || to_char(month, '_YYYY_MM')) is null
      and first_id_of(month at time zone 'UTC') >= coalesce(
        (select until from (${partitions("t.name")}) p where until is not null order by until limit 1),
        '00000000-0000-0000-0000-000000000000')
    order by month, t.name`.execute(db);
  return rows;
}

/** Returns the tables that lack the partition of a month that begins within a week. */
export const tablesWithoutMonth = async (db: Db): Promise<string[]> => [
  ...new Set((await missingMonths(db)).filter(({ isLater }) => !isLater).map(({ table }) => table)),
];

/** Returns the ids at which the partitions of a table end, in their order. */
export async function monthEnds(db: Db, table: Partitioned): Promise<string[]> {
  const { rows } = await sql<{ until: string }>`
    select until from (${partitions(`'${table}'`)}) p where until is not null order by until`.execute(db);
  return rows.map(({ until }) => until);
}

/** Milliseconds to wait for a lock, meanwhile others wait too; attempts; and milliseconds between them. */
const lockTimeout = 250;
const attempts = 20;
const pause = 500;

/** SQLSTATEs of changes that are tried again: lock not available, deadlock detected. */
const gaveWay = new Set(["55P03", "40P01"]);

/** Makes the months that tables lack, on a connection of the owner of the tables. Warns of those that are missed soon. */
export async function makeMonths({ db, log }: { db: Db; log: Pick<Logger, "info" | "warn"> }): Promise<void> {
  for (const { table, month, isLater } of await missingMonths(db)) {
    const made = sql`select create_month(${table}, ${month}::date)`;
    const reason = await whenUnlocked(db, (transaction) => made.execute(transaction));
    if (reason === undefined) log.info({ table, month }, "A partition of the database was made for a month.");
    else if (!isLater)
      log.warn(
        { table, month, reason },
        `The table ${table} has no partition for a month that begins within a week. Its rows go to ${table}_default.`,
      );
  }
}

/**
 * Runs a change of partitions in a transaction that waits for locks for moments only. Returns why Postgres rejects it, if so:
 * others keep the table locked, the default partition has rows of the month, or the tables have another owner.
 */
async function whenUnlocked(db: Db, change: (db: Db) => Promise<unknown>): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      await db.transaction().execute(async (transaction) => {
        await sql`set local lock_timeout to ${sql.lit(lockTimeout)}`.execute(transaction);
        await takeTurn({ db: transaction }, "months");
        await change(transaction);
      });
      return undefined;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (isConnectionFault(error)) throw error;
      if (!gaveWay.has(code ?? "") || attempt === attempts) return message;
    }
    await delay(pause * (0.5 + Math.random()));
  }
}

/** Warns if rows had no month of their own. They work as others, and are deleted one by one. */
async function warnOfRows({ db, log }: { db: Db; log: Pick<Logger, "warn"> }): Promise<void> {
  for (const table of partitioned) {
    const other = sql.table(`${table}_default`);
    const { rows } = await sql<{ hasRows: boolean }>`select exists (select from ${other}) as "hasRows"`.execute(db);
    if (rows[0]!.hasRows)
      log.warn({ table }, `The table ${table}_default has rows, for which there was no partition of a month.`);
  }
}

/**
 * Drops the months of a table that ended some time ago. A day is left for clocks that differ, and for transactions that
 * take their time. `before` runs in the transaction that drops a month.
 */
export async function dropMonths(
  services: Services,
  table: Partitioned,
  age: number,
  before?: (db: Db, month: string) => Promise<unknown>,
): Promise<void> {
  const { database, log } = services;
  const { rows } = await sql<{ name: string }>`
    select name from (${partitions(`'${table}'`)}) p
    where until <= first_id_of(now() - make_interval(secs => ${(age + day) / 1000})) order by until`.execute(
    database.db,
  );
  for (const { name } of rows) {
    const drop = async (transaction: Db) => {
      // Another server may have dropped it meanwhile.
      const exists = sql<{ exists: boolean }>`select to_regclass(${name}) is not null as "exists"`;
      if (!(await exists.execute(transaction)).rows[0]!.exists) return;
      await before?.(transaction, name);
      await sql`drop table ${sql.table(name)}`.execute(transaction);
    };
    const reason = await database.withoutTimeouts(({ db }) => whenUnlocked(db, drop));
    if (reason === undefined) log.info({ table, partition: name }, "A month was dropped after its retention.");
    else log.warn({ table, partition: name, reason }, "A month could not be dropped after its retention.");
  }
}

/**
 * Declares a job that drops the months of a table after the retention of their last row: a row stays for up to a month
 * longer. Rows of the first partition, which has more than a month, and of the default partition are deleted, in batches
 * of 1000. Replicas may run it concurrently.
 */
export function purgeMonths(
  table: Partitioned,
  { by, keptFor }: { by: string; keptFor: (config: Config) => number },
): Purge<Services> {
  const deleteOldest = (partition: string, age: number) => sql`
    delete from ${sql.table(partition)} where id = any(array(
      select t.id from ${sql.table(partition)} t where ${sql.ref(by)} <= now() - make_interval(secs => ${age / 1000})
      order by ${sql.ref(by)} limit 1000 for update of t skip locked))`;
  return {
    name: `purge ${table}`,
    every: hour,
    async run(services) {
      const age = keptFor(services.config);
      if (age === Infinity) return;
      await dropMonths(services, table, age);
      const { db } = services.database;
      const { rows } = await sql<{ name: string }>`
        select name from (${partitions(`'${table}'`)}) p where bounds ~ 'MINVALUE|DEFAULT'`.execute(db);
      for (const { name } of rows) while ((await deleteOldest(name, age).execute(db)).numAffectedRows! > 0n);
    },
  };
}
