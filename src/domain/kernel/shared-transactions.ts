import { DatabaseError } from "pg";
import { Gathering, type GatheringOptions } from "./gathering.js";

interface Pending<Work, Result> {
  work: Work;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

interface Sharing<Work, Result> {
  gathering: GatheringOptions;
  /** Only work with the same key shares a transaction. */
  keyOf: (work: Work) => unknown;
  /** The order of work in a transaction. Default: that of the calls. */
  order?: (a: Work, b: Work) => number;
  /** Runs a batch as one transaction. Returns the results in the order of the batch. */
  commit: (batch: readonly Work[]) => Promise<readonly Result[]>;
}

/**
 * Runs work of several requests in one transaction: most of the cost of a small change is its commit and the messages
 * around it. If the transaction fails, nothing is stored, and each is repeated in one of its own: they fail independently.
 */
export class SharedTransactions<Work, Result> {
  readonly #gatherings = new Map<unknown, Gathering<Pending<Work, Result>>>();

  constructor(private readonly sharing: Sharing<Work, Result>) {}

  /** Resolves once the work is committed. */
  run(work: Work): Promise<Result> {
    const key = this.sharing.keyOf(work);
    let gathering = this.#gatherings.get(key);
    if (!gathering) {
      gathering = new Gathering(this.sharing.gathering, (batch) => this.#send(batch));
      this.#gatherings.set(key, gathering);
    }
    return new Promise((resolve, reject) => gathering.add({ work, resolve, reject }));
  }

  async #send(batch: readonly Pending<Work, Result>[]): Promise<void> {
    const { order, commit } = this.sharing;
    const sorted = order && batch.length > 1 ? batch.toSorted((a, b) => order(a.work, b.work)) : batch;
    try {
      const results = await commit(sorted.map(({ work }) => work));
      for (const [index, { resolve }] of sorted.entries()) resolve(results[index]!);
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) await Promise.all(batch.map((each) => this.#send([each])));
      else for (const { reject } of batch) reject(error as Error);
    }
  }
}

/** Whether Postgres reported the failure. After a lost connection, it is unknown whether the transaction was committed. */
export const isRolledBack = (error: unknown): boolean => error instanceof DatabaseError && error.severity === "ERROR";
