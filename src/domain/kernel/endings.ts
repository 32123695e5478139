import { shaped, type Statement } from "./statements.js";
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

const statements = new Map<string, Statement<never>>();
const numbers = new Map<Ending<unknown>, number>();

function numberOf(ending: Ending<unknown>): number {
  const number = numbers.get(ending) ?? numbers.size;
  numbers.set(ending, number);
  return number;
}

/** Returns the last statement of a transaction, which is composed once for the same parts. */
export function statementOf(endings: Endings): Statement<never> {
  const key = [...endings.keys()].map(numberOf).join();
  const known = statements.get(key);
  if (known) return known;
  const { text } = sql`with ${tablesOf(endings)} select`;
  const composed = shaped<never>(text);
  statements.set(key, composed);
  return composed;
}

/** Returns the last statement of a transaction, with its values. */
export const endingOf = (endings: Endings): [Statement<never>, unknown[]] => [
  statementOf(endings),
  [...endings.values()].map((rows) => JSON.stringify(rows)),
];
