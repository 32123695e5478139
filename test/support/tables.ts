// The tables, for tests that must look behind the interfaces: at secrets at rest, at rows that must be gone, at races that
// need a lock, and after a time that no test waits for. The columns of a condition must equal its values, or one of a list.
import type { PoolClient } from "pg";
import type { App } from "./app.js";
import { countWaiting } from "./locks.js";
import { eventually } from "./watchers.js";

/** A server, or a world with one. */
type Place = { app: App } | App;
type Columns = Record<string, unknown>;

const poolOf = (place: Place) => ("app" in place ? place.app : place).services.database.pool;

const matches = (where: Columns, from = 1) =>
  Object.entries(where)
    .map(([column, value], index) => `${column} = ${Array.isArray(value) ? "any" : ""}($${index + from})`)
    .join(" and ") || "true";

/** The number of rows that a table has. */
export async function countRows(place: Place, table: string, where: Columns = {}): Promise<number> {
  const { rows } = await poolOf(place).query<{ count: number }>(
    `select count(*)::int as count from ${table} where ${matches(where)}`,
    Object.values(where),
  );
  return rows[0]!.count;
}

/** All that tables hold, as text. */
export async function storedText(place: Place, ...tables: string[]): Promise<string> {
  const read = tables.map((table) => poolOf(place).query(`select * from ${table}`));
  return JSON.stringify((await Promise.all(read)).map(({ rows }) => rows as unknown[]));
}

/** Sets columns of rows, and returns how many there are. */
export async function setColumns(place: Place, table: string, where: Columns, values: Columns): Promise<number> {
  const set = Object.keys(values).map((column, index) => `${column} = $${index + 1}`);
  const { rowCount } = await poolOf(place).query(
    `update ${table} set ${set.join()} where ${matches(where, set.length + 1)}`,
    [...Object.values(values), ...Object.values(where)],
  );
  return rowCount!;
}

/** Sets times of rows to a time from now, or with "-" before it, ago: `setTimes(w, "api_keys", { id }, { expires_at: "-1 s" })`. */
export async function setTimes(
  place: Place,
  table: string,
  where: Columns,
  times: Record<string, string>,
): Promise<void> {
  const set = Object.entries(times).map(([column, time]) => `${column} = now() + interval '${time}'`);
  const { rowCount } = await poolOf(place).query(
    `update ${table} set ${set.join()} where ${matches(where)}`,
    Object.values(where),
  );
  if (rowCount === 0) throw new Error(`No rows of ${table} are ${JSON.stringify(where)}.`);
}

/** Moves times of rows back, as if so much time had passed: `letPass(w, "api_keys", { id }, "1 h", ["expires_at"])`. */
export async function letPass(
  place: Place,
  table: string,
  where: Columns,
  time: string,
  columns: string[],
): Promise<void> {
  const set = columns.map((column) => `${column} = ${column} - interval '${time}'`);
  const { rowCount } = await poolOf(place).query(
    `update ${table} set ${set.join()} where ${matches(where)}`,
    Object.values(where),
  );
  if (rowCount === 0) throw new Error(`No rows of ${table} are ${JSON.stringify(where)}.`);
}

/** Deletes rows, as nobody can over the interfaces. */
export async function deleteRows(place: Place, table: string, where: Columns): Promise<void> {
  await poolOf(place).query(`delete from ${table} where ${matches(where)}`, Object.values(where));
}

/** A transaction that holds locks. */
export interface Holder {
  readonly connection: PoolClient;
  /** Resolves when this many statements wait for locks. */
  awaited(count?: number): Promise<void>;
  commit(): Promise<void>;
}

/** Holds locks while `work` runs, which may commit early. The lock is a statement that takes it. */
async function holding<Result>(
  place: Place,
  lock: string,
  values: unknown[],
  work: (holder: Holder) => Promise<Result>,
): Promise<Result> {
  const pool = poolOf(place);
  const connection = await pool.connect();
  try {
    await connection.query("begin");
    await connection.query(lock, values);
    return await work({
      connection,
      awaited: (count = 1) =>
        eventually(async () => (await countWaiting(pool)) === count, `${count} wait for the lock`),
      commit: async () => void (await connection.query("commit")),
    });
  } finally {
    await connection.query("rollback");
    connection.release();
  }
}

/** Locks rows against changes while `work` runs. */
export const lockRows = <Result>(
  place: Place,
  table: string,
  where: Columns,
  work: (holder: Holder) => Promise<Result>,
): Promise<Result> =>
  holding(place, `select from ${table} where ${matches(where)} for update`, Object.values(where), work);

/** Locks whole tables, against reading as well, while `work` runs. */
export const lockTables = <Result>(
  place: Place,
  tables: string[],
  work: (holder: Holder) => Promise<Result>,
): Promise<Result> => holding(place, `lock table ${tables.join()} in access exclusive mode`, [], work);

/** Fails every commit of a transaction that inserts into a table, while `work` runs. */
export async function failingCommits<Result>(
  place: Place,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const pool = poolOf(place);
  await pool.query(`
    create function fail() returns trigger language plpgsql as $$ begin raise 'no disk'; end $$;
    create constraint trigger failing after insert on ${table} deferrable initially deferred
      for each row execute function fail()`);
  try {
    return await work();
  } finally {
    await pool.query(`drop trigger failing on ${table}; drop function fail`);
  }
}
