// The tables, for tests that must look behind the interfaces: at secrets at rest, at rows that must be gone, at races that
// need a lock, and after a time that no test waits for. The columns of a condition must equal its values, one of a list, or
// be null.
import { Client, type ClientBase, type QueryResult, type QueryResultRow } from "pg";
import type { App } from "./app.js";
import { countWaiting } from "./locks.js";
import { eventually } from "./watchers.js";

/** A server, a world with one, or the URL of a database. */
type Place = { app: App } | App | string;
type Columns = Record<string, unknown>;

interface Taken {
  connection: ClientBase;
  release: () => Promise<void>;
}

/** Takes a connection: one of the server's own, unless the place is a URL. */
async function take(place: Place): Promise<Taken> {
  if (typeof place === "string") {
    const connection = new Client(place);
    await connection.connect();
    return { connection, release: () => connection.end() };
  }
  const connection = await ("app" in place ? place.app : place).services.database.pool.connect();
  return { connection, release: async () => connection.release() };
}

async function run<Row extends QueryResultRow>(
  place: Place,
  statement: string,
  values: unknown[] = [],
): Promise<QueryResult<Row>> {
  const { connection, release } = await take(place);
  try {
    return await connection.query<Row>(statement, values);
  } finally {
    await release();
  }
}

/** A condition, whose parameters are numbered from a number on, and their values. */
function condition(where: Columns, from = 1): { matches: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts = Object.entries(where).map(([column, value]) => {
    if (value === null) return `${column} is null`;
    values.push(value);
    return `${column} = ${Array.isArray(value) ? "any" : ""}($${from + values.length - 1})`;
  });
  return { matches: parts.join(" and ") || "true", values };
}

/** Runs a statement on rows, and fails if there are none. */
async function change(place: Place, table: string, where: Columns, set: string[]): Promise<void> {
  const { matches, values } = condition(where);
  const { rowCount } = await run(place, `update ${table} set ${set.join()} where ${matches}`, values);
  if (rowCount === 0) throw new Error(`No rows of ${table} are ${JSON.stringify(where)}.`);
}

/** The number of rows that a table has. */
export async function countRows(place: Place, table: string, where: Columns = {}): Promise<number> {
  const { matches, values } = condition(where);
  const { rows } = await run<{ count: number }>(
    place,
    `select count(*)::int as count from ${table} where ${matches}`,
    values,
  );
  return rows[0]!.count;
}

/** All that tables hold, as text. */
export async function storedText(place: Place, ...tables: string[]): Promise<string> {
  const read = tables.map((table) => run(place, `select * from ${table}`));
  return JSON.stringify((await Promise.all(read)).map(({ rows }) => rows as unknown[]));
}

/** An encrypted value, as it is stored. */
export interface StoredSecret {
  id: string;
  ownerId: string;
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
}

/** The encrypted values in the columns of a table that begin with `prefix`. The columns `owner` and `key` say whose they are. */
export async function storedSecrets(
  place: Place,
  table: string,
  prefix: string,
  { owner = "id", key = "key_id", where = {} }: { owner?: string; key?: string; where?: Columns } = {},
): Promise<StoredSecret[]> {
  const { matches, values } = condition(where);
  const { rows } = await run<StoredSecret>(
    place,
    `select id, ${owner} as "ownerId", ${key} as "keyId", ${prefix}_nonce as nonce, ${prefix}_ciphertext as ciphertext
     from ${table} where ${matches}`,
    values,
  );
  return rows;
}

/** Sets columns of rows, and returns how many there are. */
export async function setColumns(place: Place, table: string, where: Columns, values: Columns): Promise<number> {
  const set = Object.keys(values).map((column, index) => `${column} = $${index + 1}`);
  const { matches, values: wanted } = condition(where, set.length + 1);
  const { rowCount } = await run(place, `update ${table} set ${set.join()} where ${matches}`, [
    ...Object.values(values),
    ...wanted,
  ]);
  return rowCount!;
}

/**
 * Sets times of rows to a time from now, or ago: `setTimes(w, "api_keys", { id }, { expires_at: "-1 s" })`. Columns round
 * to milliseconds, by which `0 s` would often be just ahead: times are rounded down before.
 */
export const setTimes = (place: Place, table: string, where: Columns, times: Record<string, string>) =>
  change(
    place,
    table,
    where,
    Object.entries(times).map(([column, time]) => `${column} = date_trunc('milliseconds', now() + interval '${time}')`),
  );

/** Moves times of rows back, as if so much time had passed: `letPass(w, "api_keys", { id }, "1 h", ["expires_at"])`. */
export const letPass = (place: Place, table: string, where: Columns, time: string, columns: string[]) =>
  change(
    place,
    table,
    where,
    columns.map((column) => `${column} = ${column} - interval '${time}'`),
  );

/** The same for columns that are lists of times. */
export const letListsPass = (place: Place, table: string, where: Columns, time: string, columns: string[]) =>
  change(
    place,
    table,
    where,
    columns.map((column) => `${column} = array(select at - interval '${time}' from unnest(${column}) at)`),
  );

/** Deletes rows, as no request does. */
export async function deleteRows(place: Place, table: string, where: Columns): Promise<void> {
  const { matches, values } = condition(where);
  await run(place, `delete from ${table} where ${matches}`, values);
}

/** A text that changes with every write to one of the rows. */
export async function versionsOf(place: Place, table: string, where: Columns): Promise<string> {
  const { matches, values } = condition(where);
  const { rows } = await run<{ versions: string }>(
    place,
    `select string_agg(xmin::text || ctid::text, ' ' order by ctid) as versions from ${table} where ${matches}`,
    values,
  );
  return rows[0]!.versions;
}

/** A transaction that holds locks. */
export interface Holder {
  readonly connection: ClientBase;
  /** Changes the locked rows in the transaction. */
  readonly set: (values: Columns) => Promise<void>;
  /** Deletes rows in the transaction. */
  readonly remove: (from: string, condition: Columns) => Promise<void>;
  /** Locks further rows. Throws if another transaction has locked one of them. */
  readonly lock: (table: string, where: Columns) => Promise<void>;
  /** Resolves when this many statements wait for locks, or more: jobs of the server may be among them. */
  readonly awaited: (count?: number) => Promise<void>;
  /** Cancels the statements that wait for locks, as Postgres does with one of those in a deadlock. */
  readonly cancelWaiting: () => Promise<void>;
  readonly commit: () => Promise<void>;
}

/** Holds locks while `work` runs, which may commit early. */
async function holding<Result>(
  place: Place,
  lock: (connection: ClientBase) => Promise<unknown>,
  { table, where }: { table: string; where: Columns },
  work: (holder: Holder) => Promise<Result>,
): Promise<Result> {
  const [{ connection, release }, watching] = [await take(place), await take(place)];
  try {
    await connection.query("begin");
    await lock(connection);
    return await work({
      connection,
      set: async (changes) => {
        const set = Object.keys(changes).map((column, index) => `${column} = $${index + 1}`);
        const { matches, values } = condition(where, set.length + 1);
        const statement = `update ${table} set ${set.join()} where ${matches}`;
        await connection.query(statement, [...Object.values(changes), ...values]);
      },
      remove: async (from, which) => {
        const { matches, values } = condition(which);
        await connection.query(`delete from ${from} where ${matches}`, values);
      },
      lock: async (of, which) => {
        const { matches, values } = condition(which);
        await connection.query(`select from ${of} where ${matches} for no key update nowait`, values);
      },
      awaited: (count = 1) =>
        eventually(async () => (await countWaiting(watching.connection)) >= count, `${count} wait for the lock`),
      cancelWaiting: async () => {
        await connection.query(
          `select pg_cancel_backend(pid) from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        );
      },
      commit: async () => void (await connection.query("commit")),
    });
  } finally {
    await connection.query("rollback");
    await Promise.all([release(), watching.release()]);
  }
}

/** Locks rows while `work` runs, as a change of them does. */
export function lockRows<Result>(
  place: Place,
  table: string,
  where: Columns,
  work: (holder: Holder) => Promise<Result>,
): Promise<Result> {
  const { matches, values } = condition(where);
  const lock = `select from ${table} where ${matches} for no key update`;
  return holding(place, (connection) => connection.query(lock, values), { table, where }, work);
}

/** Locks a whole table, against reading as well, while `work` runs. */
export const lockTable = <Result>(
  place: Place,
  table: string,
  work: (holder: Holder) => Promise<Result>,
): Promise<Result> =>
  holding(
    place,
    (connection) => connection.query(`lock table ${table} in access exclusive mode`),
    { table, where: {} },
    work,
  );

/** Ends the connections to the database that have a name, and returns how many there were. */
export async function endConnections(place: Place, name: string): Promise<number> {
  const { rowCount } = await run(
    place,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = $1`,
    [name],
  );
  return rowCount!;
}

/** Counts the rows of tables for the planner, as autovacuum does within a minute. */
export async function analyze(place: Place, ...tables: string[]): Promise<void> {
  await run(place, `analyze ${tables.join()}`);
}

/** Fails every commit of a transaction that inserts into a table, while `work` runs. */
export async function failingCommits<Result>(
  place: Place,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await run(
    place,
    `create function fail() returns trigger language plpgsql as $$ begin raise 'no disk'; end $$;
     create constraint trigger failing after insert on ${table} deferrable initially deferred
       for each row execute function fail()`,
  );
  try {
    return await work();
  } finally {
    await run(place, `drop trigger failing on ${table}; drop function fail`);
  }
}
