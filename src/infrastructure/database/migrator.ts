// Migrates a database while servers of an earlier release use it: their statements wait for it for less than a second.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { ClientBase, Pool, PoolClient } from "pg";
import { watchLocks } from "./lock-watch.js";
import { Reporter } from "./migration-report.js";
import {
  concurrently,
  type Index,
  indexOfPartition,
  type LockMode,
  type MigrationSql,
  type Statement,
  statementsOf,
} from "./migration-sql.js";

/** Milliseconds to wait for a lock. Meanwhile, statements of others that need the table wait, too. */
const lockTimeout = 250;
/** Bytes of a table from which on its indexes are built concurrently. */
const largeTable = 8 * 1024 ** 2;
/** Milliseconds between attempts. */
const longestPause = 2_000;

/** SQLSTATEs of attempts that gave way: lock not available, deadlock detected, canceled because others waited. */
const gaveWay = new Set(["55P03", "40P01", "57014"]);

export interface MigratorOptions {
  /** Has a connection for the migrations, and one beside it. */
  pools: readonly [Pool, Pool];
  /** All migrations, in their order. */
  migrations: readonly MigrationSql[];
  log: Pick<Logger, "info">;
  /** The number of the advisory lock of processes that migrate, as SQL. */
  turn: string;
  /** Throws if the database must not be migrated. Gets the names of the migrations that it has. */
  check: (executed: string[]) => void;
}

interface Progress {
  executed: string[];
  /** Migrations whose transaction is committed, but not all that comes after it. */
  unfinished: string[];
}

const selectExecuted = "select name from migrations order by id";
const selectUnfinished = "select name from unfinished_migrations";
const createTables = `
  create table if not exists migrations (
    id serial primary key, name varchar(255) not null, executed_at timestamptz(0) not null default current_timestamp);
  create table if not exists unfinished_migrations (name varchar(255) primary key)`;

/** Returns the state of a database, which may be empty. */
export async function progressOf(client: ClientBase | Pool): Promise<Progress> {
  const names = async (table: string, select: string) => {
    const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [table]);
    return rows[0]!.exists ? (await client.query<{ name: string }>(select)).rows.map(({ name }) => name) : [];
  };
  return {
    executed: await names("migrations", selectExecuted),
    unfinished: await names("unfinished_migrations", selectUnfinished),
  };
}

/**
 * Runs the migrations that a database lacks, up to the one that is named `to`, in the transaction of the caller, and returns
 * their names: for databases that no one else uses.
 */
export async function migrateWithin(client: ClientBase, all: readonly MigrationSql[], to?: string): Promise<string[]> {
  await client.query(createTables);
  const { executed } = await progressOf(client);
  const done: string[] = [];
  for (const { name, sql, backfills } of all) {
    if (!executed.includes(name)) {
      await client.query(sql.join(";\n"));
      for (const backfill of backfills) while ((await client.query(backfill)).rowCount !== 0);
      await client.query("insert into migrations (name) values ($1)", [name]);
      done.push(name);
    }
    if (name === to) break;
  }
  return done;
}

/** Migrates a database online. Several processes may do so concurrently. */
export class Migrator {
  /** Tables that could not be locked, the last one first: they are locked before others. */
  #contended: string[] = [];
  readonly #reporter: Reporter;

  constructor(private readonly options: MigratorOptions) {
    this.#reporter = new Reporter(options.log);
  }

  /**
   * Runs the migrations that the database lacks, and returns their names. Gives way to others and tries again until it
   * succeeds, and logs what it waits for. After a failure, what is left to do can be done by another run.
   */
  async run(signal?: AbortSignal): Promise<string[]> {
    const done: string[] = [];
    for (let failures = 0; ; failures++) {
      const before = done.length;
      try {
        await this.#attempt(done, signal);
        return done;
      } catch (error) {
        if (!gaveWay.has((error as { code?: string }).code ?? "")) throw error;
      }
      this.#reporter.gaveWay();
      if (done.length > before) failures = 0;
      await delay(Math.min(longestPause, 100 * 2 ** failures) * (0.5 + Math.random()), undefined, { signal });
    }
  }

  /** Does all that is left to do, unless it has to give way. Adds the migrations that it completes to `done`. */
  async #attempt(done: string[], signal?: AbortSignal): Promise<void> {
    const { migrations, check } = this.options;
    const [pool] = this.options.pools;
    const next = async (client: ClientBase | Pool) => {
      const { executed, unfinished } = await progressOf(client);
      check(executed);
      const migration = migrations.find(({ name }) => !executed.includes(name) || unfinished.includes(name));
      return migration && { migration, isApplied: executed.includes(migration.name) };
    };
    if (!(await next(pool))) return;
    const client = await pool.connect();
    try {
      // If this process is killed, its statement ends soon. Postgres can do that on some systems only.
      await client.query("set client_connection_check_interval to '1s'").catch(() => {});
      await this.#takeTurn(client, signal);
      await client.query(createTables);
      if ((await progressOf(client)).executed.length === 0) {
        // No server uses an empty database: one transaction is several times as fast.
        await client.query("begin");
        const names = await migrateWithin(client, migrations);
        await client.query("commit");
        done.push(...names);
      }
      for (let left; (left = await next(client)); done.push(left.migration.name)) {
        signal?.throwIfAborted();
        if (!left.isApplied) await this.#apply(client, left.migration);
        await this.#finish(client, left.migration);
      }
    } finally {
      // Ends the session, and with it the turn and whatever is in progress.
      client.release(true);
    }
  }

  /**
   * Waits until no other process migrates. The wait is not in the database: the snapshot of a waiting statement would
   * keep that process from completing an index.
   */
  async #takeTurn(client: PoolClient, signal?: AbortSignal): Promise<void> {
    const take = `select pg_try_advisory_lock(${this.options.turn}) as "isOurs"`;
    for (let isFirst = true; ; isFirst = false) {
      if ((await client.query<{ isOurs: boolean }>(take)).rows[0]!.isOurs) return;
      if (isFirst) this.options.log.info("Waiting for another process that migrates the database.");
      await delay(200, undefined, { signal });
    }
  }

  /** Runs the transaction of a migration. Its tables are locked first: nothing changes between its statements. */
  async #apply(client: PoolClient, { name, sql, backfills }: MigrationSql): Promise<void> {
    this.#reporter.begin(`Running the migration ${name}`);
    const statements = statementsOf(sql);
    const tables = await existingTables(client, statements);
    const isLater = ({ index }: Statement) =>
      index !== undefined &&
      (tables.get(index.table) ?? 0) >= largeTable &&
      // An index that replaces a unique one must not leave a gap.
      !(index.isUnique && statements.some(({ drops }) => drops.length > 0));
    const now = statements.filter((statement) => !isLater(statement));
    const locks = await locksOf(client, now, tables);
    await this.#givingWay(client, async () => {
      for (const [table, mode] of this.#inOrder(locks)) {
        await client.query(`lock table "${table}" in ${mode} mode`).catch((error: unknown) => {
          this.#contended = [table, ...this.#contended.filter((each) => each !== table)];
          throw error;
        });
      }
      await client.query(now.map((statement) => statement.sql).join(";\n"));
      await client.query("insert into migrations (name) values ($1)", [name]);
      if (now.length < statements.length || backfills.length > 0)
        await client.query("insert into unfinished_migrations (name) values ($1)", [name]);
    });
  }

  #inOrder(locks: ReadonlyMap<string, LockMode>): Array<[string, LockMode]> {
    const first = this.#contended.filter((table) => locks.has(table));
    const others = [...locks.keys()].filter((table) => !first.includes(table)).sort();
    return [...first, ...others].map((table) => [table, locks.get(table)!]);
  }

  /** Does what comes after the transaction of a migration. All of it can be interrupted and repeated. */
  async #finish(client: PoolClient, { name, sql, backfills }: MigrationSql): Promise<void> {
    if (!(await progressOf(client)).unfinished.includes(name)) return;
    for (const backfill of backfills) {
      this.#reporter.begin(`Filling in rows for the migration ${name}`);
      const fill = () => this.#givingWay(client, async () => (await client.query(backfill)).rowCount ?? 0);
      for (let rows = 0, count; (count = await fill()) > 0;) this.#reporter.count((rows += count));
    }
    for (const { index } of statementsOf(sql)) if (index) await this.#build(client, index);
    await client.query("delete from unfinished_migrations where name = $1", [name]);
  }

  /** Builds an index that does not exist, or that an interruption has left incomplete. */
  async #build(client: PoolClient, index: Index): Promise<void> {
    const { rows } = await client.query<{ isValid: boolean }>(
      `select indisvalid as "isValid" from pg_index where indexrelid = to_regclass($1)`,
      [index.name],
    );
    if (rows[0]?.isValid) return;
    const partitions = await partitionsOf(client, index.table);
    if (partitions.length > 0) {
      for (const { name, nr } of partitions) await this.#build(client, indexOfPartition(index, name, nr));
      // Takes the indexes of the partitions, and builds none.
      await this.#givingWay(client, () => client.query(index.sql));
      return;
    }
    this.#reporter.begin(`Building the index ${index.name} of the table ${index.table}`);
    const { onWait } = this.#reporter;
    await watchLocks(this.options.pools[1], client, { givesWay: false, onWait }, async () => {
      if (rows[0]) await client.query(`drop index concurrently "${index.name}"`);
      await client.query(concurrently(index)).catch(async (error: { code?: string }) => {
        // An incomplete unique index would reject rows that the complete one never could.
        if (error.code === "23505") await client.query(`drop index concurrently "${index.name}"`);
        throw error;
      });
    });
  }

  /** Runs `work` in a transaction that fails if it has to wait for locks, or if others wait for it. */
  async #givingWay<Result>(client: PoolClient, work: () => Promise<Result>): Promise<Result> {
    const { onWait } = this.#reporter;
    return watchLocks(this.options.pools[1], client, { givesWay: true, onWait }, async () => {
      await client.query(`begin; set local lock_timeout to ${lockTimeout}`);
      const result = await work();
      await client.query("commit");
      return result;
    });
  }
}

/** The partitions of a table, each with a number that stays the same. */
const partitionsOf = async (client: PoolClient, table: string): Promise<Array<{ name: string; nr: number }>> =>
  (
    await client.query<{ name: string; nr: number }>(
      `select relname as name, inhrelid::int8 as nr from pg_inherits join pg_class on oid = inhrelid
       where inhparent = to_regclass($1) order by inhrelid`,
      [table],
    )
  ).rows;

/** Sizes of the tables that statements name, and of those of the indexes that they drop, by name. */
async function existingTables(client: PoolClient, statements: Statement[]): Promise<Map<string, number>> {
  const named = statements.flatMap(({ locks, index }) => [
    ...locks.map(({ table }) => table),
    ...(index ? [index.table] : []),
  ]);
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `select relname as name,
       coalesce((select sum(pg_table_size(relid)) from pg_partition_tree(c.oid)), pg_table_size(c.oid))::float8 as bytes
     from pg_class c
     where c.oid = any(select to_regclass(name) from unnest($1::text[]) as named (name))`,
    [named],
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

/** The locks that statements take on existing tables, the stronger one for each table. */
async function locksOf(
  client: PoolClient,
  statements: readonly Statement[],
  tables: ReadonlyMap<string, number>,
): Promise<Map<string, LockMode>> {
  const { rows: dropped } = await client.query<{ table: string }>(
    `select relname as table from pg_index join pg_class c on c.oid = indrelid
     where indexrelid = any(select to_regclass(name) from unnest($1::text[]) as named (name))`,
    [statements.flatMap(({ drops }) => drops)],
  );
  const all = [
    ...statements
      .flatMap(({ locks: own, index }) =>
        index ? [...own, { table: index.table, mode: "share row exclusive" as const }] : own,
      )
      .filter(({ table }) => tables.has(table)),
    ...dropped.map(({ table }) => ({ table, mode: "access exclusive" as const })),
  ];
  const locks = new Map<string, LockMode>();
  for (const { table, mode } of all) if (mode === "access exclusive" || !locks.has(table)) locks.set(table, mode);
  return locks;
}
