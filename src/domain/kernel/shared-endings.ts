import { type Ending, type Endings, endingOf, statementOf } from "./endings.js";
import type { GatheringOptions } from "./gathering.js";
import { SharedTransactions } from "./shared-transactions.js";
import type { Statement } from "./statements.js";

/** While a batch writes, the next one gathers: most wait for the same rows, such as the counter of a group. */
const gathering: GatheringOptions = { batchSize: 32, crowd: 1, patience: 10 };

/**
 * Writes the endings of transactions that have nothing else to write: those with the same parts together, by one
 * statement. `write` runs a statement outside of a transaction.
 */
export const sharedEndings = (write: (statement: Statement<never>, values: unknown[]) => Promise<unknown>) =>
  new SharedTransactions<Endings, void>({
    gathering,
    keyOf: statementOf,
    async commit(batch) {
      await write(...endingOf(merged(batch)));
      return [];
    },
  });

function merged(all: readonly Endings[]): Endings {
  const rows = new Map<Ending<unknown>, unknown[]>();
  for (const [ending] of all[0]!)
    rows.set(
      ending,
      all.flatMap((endings) => endings.get(ending)!),
    );
  return rows;
}
