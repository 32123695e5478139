import { shaped, type Statement } from "./database.js";
import { joined, type Sql, sql } from "./sql.js";

/**
 * A part of the last statement of a transaction: common table expressions that write `rows`, a JSON array of what the
 * verbs of the transaction collected. They contain `rows` once.
 */
export type Ending<Row> = (rows: string) => Sql & { readonly row?: Row };

/** Returns the last statement of a transaction with the collected rows of each part, and its values. */
export function endingOf(endings: ReadonlyMap<Ending<unknown>, readonly unknown[]>): [Statement<never>, unknown[]] {
  const tables = joined([...endings].map(([ending, rows]) => ending(JSON.stringify(rows))));
  const { text, values } = sql`with ${tables} select`;
  return [shaped(text), values];
}
