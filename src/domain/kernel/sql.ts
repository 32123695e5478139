import sql, { join as joined, raw, type Sql } from "sql-template-tag";

export { joined, raw, type Sql, sql };

/** Joins conditions with `and`. Omits absent ones, so that each combination in use is a different statement. */
export function allOf(...conditions: ReadonlyArray<Sql | undefined>): Sql {
  const present = conditions.filter((condition) => condition !== undefined);
  return present.length > 0 ? joined(present, " and ") : sql`true`;
}

/** The condition of a filter; `undefined` if the filter has no value. */
export const given = <Value>(value: Value | null | undefined, condition: (value: Value) => Sql): Sql | undefined =>
  value == null ? undefined : condition(value);

/** Joins conditions with `or`. */
export const anyOf = (...conditions: readonly Sql[]): Sql => sql`(${joined(conditions, " or ")})`;

/** The `like` pattern of texts that contain `part`. */
export const containing = (part: string): string => `%${part.replace(/[\\%_]/g, "\\$&")}%`;
