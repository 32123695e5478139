import { type RawBuilder, sql as kysely } from "kysely";
import { containing } from "./text.js";
import sql, { empty, join as joined, raw, type Sql } from "sql-template-tag";

export { containing, empty, joined, raw, type Sql, sql };

/** Joins conditions with `and`. Omits absent ones, so that each combination in use is a different statement. */
export function allOf(...conditions: ReadonlyArray<Sql | undefined>): Sql {
  const present = conditions.filter((condition) => condition !== undefined);
  return present.length > 0 ? joined(present, " and ") : sql`true`;
}

/** Joins conditions with `and`; `undefined` if all are absent. */
export const allGiven = (...conditions: ReadonlyArray<Sql | undefined>): Sql | undefined =>
  conditions.some((condition) => condition !== undefined) ? allOf(...conditions) : undefined;

/** What a filter stands for, such as a condition; `undefined` if the filter has no value. */
export const given = <Value, Meaning>(
  value: Value | null | undefined,
  meaning: (value: Value) => Meaning,
): Meaning | undefined => (value == null ? undefined : meaning(value));

/** Joins conditions with `or`. */
export const anyOf = (...conditions: readonly Sql[]): Sql => sql`(${joined(conditions, " or ")})`;

/** The condition that a column contains a text, in any letter case. Trigram indexes have its form. */
export const contains = (column: string, part: string): Sql =>
  sql`lower(${raw(column)}) collate "C" like lower(${containing(part)}::text)`;

/** Text of an area that does not use Kysely yet, as a part of a statement that does. */
export const embedded = <Value>({ strings, values }: Sql): RawBuilder<Value> =>
  kysely<Value>(strings as unknown as TemplateStringsArray, ...values);
