import { type Insertable, sql } from "kysely";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";

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

const jsonOf = (rows: readonly object[]): string =>
  JSON.stringify(
    rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [columnOf(name), stored(value)]))),
  );

const columnOf = (property: string): string => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Bytes as Postgres reads them from JSON. */
const stored = (value: unknown): unknown => (value instanceof Buffer ? `\\x${value.toString("hex")}` : value);
