import { DatabaseError } from "pg";
import { type Ending, type Endings, endingOf, statementOf } from "./endings.js";
import { Gathering, type GatheringOptions } from "./gathering.js";
import type { Statement } from "./statements.js";

/** While a batch writes, the next one gathers: most wait for the same rows, such as the counter of a group. */
const options: GatheringOptions = { batchSize: 32, crowd: 1, patience: 10 };

interface Pending {
  endings: Endings;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * Writes the endings of transactions that have nothing else to write: those with the same parts together, by one statement,
 * which is a transaction. If it fails, nothing is stored, and each is written by a statement of its own: they fail independently.
 */
export class SharedEndings {
  readonly #gathering = new Map<Statement<never>, Gathering<Pending>>();

  /** `write` runs a statement outside of a transaction. */
  constructor(private readonly write: (statement: Statement<never>, values: unknown[]) => Promise<unknown>) {}

  /** Resolves once the rows are committed. */
  run(endings: Endings): Promise<void> {
    const statement = statementOf(endings);
    let gathering = this.#gathering.get(statement);
    if (!gathering) {
      gathering = new Gathering<Pending>(options, (batch) => this.#send(batch));
      this.#gathering.set(statement, gathering);
    }
    return new Promise((resolve, reject) => gathering.add({ endings, resolve, reject }));
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    try {
      await this.write(...endingOf(merged(batch.map(({ endings }) => endings))));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) await Promise.all(batch.map((each) => this.#send([each])));
      else for (const { reject } of batch) reject(error as Error);
    }
  }
}

function merged(all: readonly Endings[]): Endings {
  const rows = new Map<Ending<unknown>, unknown[]>();
  for (const [ending] of all[0]!)
    rows.set(
      ending,
      all.flatMap((endings) => endings.get(ending)!),
    );
  return rows;
}

/** Whether Postgres reported the failure. After a lost connection, it is unknown whether the transaction was committed. */
export const isRolledBack = (error: unknown): boolean => error instanceof DatabaseError && error.severity === "ERROR";
