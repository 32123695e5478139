import { sql } from "kysely";

/**
 * One of some values of a type, by default ids: `eb("g.id", "=", anyOf(ids))`. Unlike with `in`, the statement is the same
 * for any number of them.
 */
export const anyOf = <Value = string>(values: readonly Value[], type: "uuid" | "text" | "bytea" = "uuid") =>
  sql<Value>`any(${values}::${sql.raw(type)}[])`;
