import { type RawBuilder, type SelectType, sql } from "kysely";
import type { Schema } from "../../entities/schema.js";

/** The columns of a table by their names in camel case, for fragments of SQL. */
export type Columns<Table extends keyof Schema> = {
  readonly [Column in keyof Schema[Table]]: RawBuilder<SelectType<Schema[Table][Column]>>;
};

/**
 * The columns of a table for fragments of SQL, in which the compiler otherwise knows no names:
 *
 *     const u = columnsOf("users", "u");
 *     sql<SqlBool>`${u.status} = 'active' and ${u.deletedAt} is null` // "u"."status" = 'active' and …
 *
 * With an alias, which is that of the table in the statement, names are qualified; without one they are not.
 */
export function columnsOf<Table extends keyof Schema>(_table: Table, alias?: string): Columns<Table> {
  const known = new Map<string, RawBuilder<unknown>>();
  const ref = (column: string) => {
    const found = known.get(column) ?? sql.ref(alias === undefined ? column : `${alias}.${column}`);
    known.set(column, found);
    return found;
  };
  return new Proxy({} as Columns<Table>, { get: (_target, column) => ref(String(column)) });
}
