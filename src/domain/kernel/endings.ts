import { shaped, type Statement } from "./database.js";
import { joined, type Sql, sql } from "./sql.js";

/**
 * A part of the last statement of a transaction: common table expressions that write `rows`, a JSON array of what the
 * verbs of the transaction collected. They contain `rows` once.
 */
export type Ending<Row> = (rows: string) => Sql & { readonly row?: Row };

/** The collected rows of each part. */
export type Endings = ReadonlyMap<Ending<unknown>, readonly unknown[]>;

/** The common table expressions that write collected rows. */
export const tablesOf = (endings: Endings): Sql =>
  joined([...endings].map(([ending, rows]) => ending(JSON.stringify(rows))));

/** Returns the last statement of a transaction, with its values. */
export function endingOf(endings: Endings): [Statement<never>, unknown[]] {
  const { text, values } = sql`with ${tablesOf(endings)} select`;
  return [shaped(text), values];
}
