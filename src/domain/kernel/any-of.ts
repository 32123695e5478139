import { sql, type SqlBool } from "kysely";

/**
 * One of some values of a type, by default ids: `eb("g.id", "=", anyOf(ids))`. Unlike with `in`, the statement is the same
 * for any number of them.
 */
export const anyOf = <Value = string>(values: readonly Value[], type: "uuid" | "text" | "bytea" = "uuid") =>
  sql<Value>`any(${values}::${sql.raw(type)}[])`;

/**
 * The condition that a column has one of some values. A single one is compared by `=`, so that Postgres can read the rows
 * from an index in order.
 */
export function isAmong(column: string, values: readonly string[], type: "uuid" | "text" = "uuid") {
  const [value, ...others] = values;
  const isIt = value !== undefined && others.length === 0 ? sql`${value}` : anyOf(values, type);
  return sql<SqlBool>`${sql.ref(column)} = ${isIt}`;
}
