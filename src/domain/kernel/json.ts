import { rfc3339 } from "../../infrastructure/database/parsers.js";

/** Rows as JSON: the values of each column by its name, null if there are no rows. */
export type JsonRows = Readonly<Record<string, readonly unknown[] | null>>;

/** SQL that reads rows as `JsonRows`. A JSON object for each row would cost Postgres three times as much. */
export const jsonOf = (columns: string): string => `json_build_object(${columns.split(", ").map(valuesOf).join(", ")})`;

/** `u.avatar_url as "avatarUrl"` → `'avatarUrl', json_agg(u.avatar_url)`. */
function valuesOf(column: string): string {
  const [, value, name, alias] = /^(\w+\.(\w+))(?: as "(\w+)")?$/.exec(column)!;
  return `'${alias ?? name}', json_agg(${value})`;
}

/** Returns the rows of `JsonRows`. Columns of times have names that end in `At`. */
export function rowsOf<Row>(columns: JsonRows): Row[] {
  const rows: Array<Record<string, unknown>> = [];
  for (const [name, values] of Object.entries(columns)) {
    const isTime = name.endsWith("At");
    values?.forEach((value, index) => {
      (rows[index] ??= {})[name] = isTime && value !== null ? rfc3339(value as string) : value;
    });
  }
  return rows as Row[];
}

/** Whether a parsed JSON value is an object, and not a list or null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
