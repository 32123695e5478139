import { sql } from "kysely";

/**
 * One of some values of a type, by default ids: `eb("g.id", "=", anyOf(ids))`. Unlike with `in`, the statement is the same
 * for any number of them, except for one: where there is an array, Postgres plans each execution for its length, which
 * takes longer than to read a row by its id, and does not read an index in the order of its other columns.
 */
export const anyOf = <Value = string>(values: readonly Value[], type: "uuid" | "text" | "bytea" = "uuid") =>
  values.length === 1 ? sql<Value>`${values[0]}::${sql.raw(type)}` : sql<Value>`any(${values}::${sql.raw(type)}[])`;
