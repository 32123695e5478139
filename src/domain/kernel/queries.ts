import { type Insertable, sql } from "kysely";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";

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
  db: Pick<Db, "insertInto">,
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
    rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [columnOf(name), storedAs(value)])),
    ),
  );

const columnOf = (property: string): string => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Bytes as Postgres reads them from JSON. */
const storedAs = (value: unknown): unknown => (value instanceof Buffer ? `\\x${value.toString("hex")}` : value);

/** The time by the clock of the database, at the start of the transaction. */
export const now = sql<string>`now()`;

/** The time by the clock of the database in some milliseconds. */
export const after = (milliseconds: number) => sql<string>`now() + make_interval(secs => ${milliseconds / 1000})`;

/** The `like` pattern of texts that contain `part`. */
export const containing = (part: string): string => `%${beginningWith(part)}`;

/** The `like` pattern of texts that begin with `part`. */
export const beginningWith = (part: string): string => `${part.replace(/[\\%_]/g, "\\$&")}%`;

/** Where texts have to match a part: `containing` or `beginningWith`. */
export type Match = (part: string) => string;

/** The folding of `foldCase` in SQL, independent of the locale of the database. Unique indexes use the same expression. */
export const foldedSql = (text: string): string => `lower(${text} collate "C")`;

/** A folded column, as unique indexes have it. */
export const foldedColumn = (column: string) => sql<string>`lower(${sql.ref(column)} collate "C")`;
