import { type Insertable, sql } from "kysely";
import type { Schema } from "../../entities/schema.js";
import type { Database, Db } from "../../infrastructure/database/database.js";
import type { Config } from "../../runtime/config.js";

/**
 * Any of several values of a type, by default ids: `eb("g.id", "=", anyOf(ids))`. Unlike with `in`, the text of the
 * statement is the same for every number of values above one. A single value is not passed as an array: for an array,
 * Postgres plans each execution, which takes longer than to read a row by its id, and does not read an index in the
 * order of its other columns.
 */
export const anyOf = <Value = string>(values: readonly Value[], type: "uuid" | "text" | "bytea" = "uuid") =>
  values.length === 1 ? sql<Value>`${values[0]}::${sql.raw(type)}` : sql<Value>`any(${values}::${sql.raw(type)}[])`;

/** Returns the rows of each key, in their order: the result of a batch read for `ctx.load`. */
export function rowsByKey<Row, Key>(rows: readonly Row[], keys: readonly Key[], keyOf: (row: Row) => Key): Row[][] {
  const found = Map.groupBy(rows, keyOf);
  return keys.map((key) => found.get(key) ?? []);
}

/** Returns the row of each id, in their order: the result of a batch read for `ctx.load`. */
export function rowById<Row extends { id: string }>(
  rows: readonly Row[],
  ids: readonly string[],
): Array<Row | undefined> {
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

/**
 * Inserts any number of rows, at least one, as a single parameter: the statement is the same for each number, and no limit
 * on parameters applies. All rows have the columns of the first one.
 */
export function insertAll<Table extends keyof Schema>(
  db: Db,
  table: Table,
  rows: ReadonlyArray<Insertable<Schema[Table]>>,
) {
  const columns = Object.keys(rows[0]!) as Array<keyof Schema[Table] & string>;
  const selected = sql.join(columns.map((column) => sql.ref(column)));
  return db
    .insertInto(table)
    .columns(columns)
    .expression(sql`select ${selected} from json_populate_recordset(null::${sql.table(table)}, ${jsonOf(rows)})`);
}

/** Rows as `json_populate_recordset` reads them. */
export const jsonOf = (rows: readonly object[]): string =>
  JSON.stringify(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [columnOf(name), stored(value)]))),
  );

const columnOf = (property: string): string => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Bytes as Postgres reads them from JSON. */
const stored = (value: unknown): unknown => (value instanceof Buffer ? `\\x${value.toString("hex")}` : value);

/** Advisory locks, for what no row represents. */
export type Lock =
  | "app_connect_keys"
  | "boot"
  | "connections"
  | "failure_reports"
  | "invitations"
  | "licenses"
  | "months"
  | "owners"
  | "proxy_health"
  | "scim_keys"
  | "statistics"
  | "suspensions"
  | "workspace_proxies";

/** SQL that computes the number of a lock. */
export const numberOf = (lock: Lock): string => `hashtext('steward.${lock}')`;

/** Takes a lock until the transaction ends, unless another one has it. Returns whether it was free. */
export async function takeFree({ db }: { db: Db }, lock: Lock): Promise<boolean> {
  const { rows } = await sql<{ isFree: boolean }>`
    select pg_try_advisory_xact_lock(hashtext(${`steward.${lock}`})) as "isFree"`.execute(db);
  return rows[0]!.isFree;
}

/** Waits for a lock, or for that of one object, and holds it until the transaction ends. */
export const takeTurn = ({ db }: { db: Db }, lock: Lock, id?: string): Promise<unknown> => {
  const ofObject = id === undefined ? sql`` : sql`, hashtext(${id})`;
  return sql`select pg_advisory_xact_lock(hashtext(${`steward.${lock}`})${ofObject})`.execute(db);
};

/** The time by the clock of the database, at the start of the transaction. */
export const now = sql<string>`now()`;

/** The time by the clock of the database in some milliseconds. */
export const after = (milliseconds: number) => sql<string>`now() + make_interval(secs => ${milliseconds / 1000})`;

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

export interface PurgeOptions {
  /** The column with the start of the retention: the time of creation or of expiry. */
  by: string;
  /** A join of the table, `t`, with the table that has the column. */
  join?: string;
  /** The retention in milliseconds. Default: 0. */
  keptFor?: number | ((config: Config) => number);
  /** A condition on the rows. Default: all. */
  where?: string;
  /** The name of the job in the log. Default: by the table. */
  name?: string;
  /** Milliseconds from the end of a run to the start of the next. Default: an hour. */
  every?: number;
}

/** A background job that deletes rows. */
export interface Purge<Needed = { config: Config; database: Pick<Database, "db"> }> {
  name: string;
  every: number;
  run(services: Needed): Promise<void>;
}

/**
 * Declares a job that deletes old rows of a table, in batches of 1000. Replicas may run it concurrently: each skips the
 * rows that another one is deleting.
 */
export function purge(
  table: string,
  { by, join = "", where = "true", name = `purge ${table}`, keptFor = 0, every = hour }: PurgeOptions,
): Purge {
  const deleteOldest = (age: number) => sql`
    delete from ${sql.raw(table)} where ctid = any(array(
      select t.ctid from ${sql.raw(`${table} t ${join}`)}
      where ${sql.raw(by)} <= now() - make_interval(secs => ${age / 1000}) and ${sql.raw(where)}
      order by ${sql.raw(by)} limit 1000 for update of t skip locked))`;
  return {
    name,
    every,
    async run({ config, database }) {
      const age = typeof keptFor === "number" ? keptFor : keptFor(config);
      if (age === Infinity) return;
      while ((await deleteOldest(age).execute(database.db)).numAffectedRows! > 0n);
    },
  };
}
