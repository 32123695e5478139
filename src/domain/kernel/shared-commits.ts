import { type Connection, type FieldDef, type PoolClient, Query, type Submittable } from "pg";
import { Gathering, type GatheringOptions } from "./gathering.js";
import { type KnownColumns, ResultRows, type Sent } from "./result-rows.js";
import { isRolledBack } from "./shared-endings.js";

/** A transaction may wait for a lock of its own, but not the others for longer. */
const options: GatheringOptions = { batchSize: 16, crowd: 2, patience: 5 };

interface Pending {
  query: Sent;
  resolve: (rows: object[]) => void;
  reject: (error: Error) => void;
}

/** Where transactions get their connections. */
interface Connections {
  connect(): Promise<PoolClient>;
  release(client: PoolClient, isBroken?: boolean): void;
}

/**
 * Runs the same statement for several requests in one transaction. Most of the cost of a small change is its commit and
 * the messages around it. If one of them fails, nothing is stored, and each runs again in a transaction of its own: they fail independently.
 */
export class SharedCommits {
  readonly #gathering = new Map<string, Gathering<Pending>>();
  readonly #columns: KnownColumns = new Map();

  constructor(private readonly connections: Connections) {}

  /** Resolves to the rows of the statement, once they are committed. */
  run(query: Sent): Promise<object[]> {
    let gathering = this.#gathering.get(query.text);
    if (!gathering) {
      gathering = new Gathering<Pending>(options, (batch) => this.#send(batch));
      this.#gathering.set(query.text, gathering);
    }
    return new Promise((resolve, reject) => gathering.add({ query, resolve, reject }));
  }

  /** Sends a batch in the order of what each statement locks first, as all batches do. */
  async #send(batch: readonly Pending[]): Promise<void> {
    const sorted = batch.length > 1 ? batch.toSorted(byFirstLock) : batch;
    try {
      const results = await this.#commit(sorted.map(({ query }) => query));
      for (const [index, { resolve }] of sorted.entries()) resolve(results[index]!);
    } catch (error) {
      if (sorted.length > 1 && isRolledBack(error)) await Promise.all(sorted.map((each) => this.#send([each])));
      else for (const { reject } of sorted) reject(error as Error);
    }
  }

  async #commit(queries: readonly Sent[]): Promise<object[][]> {
    const client = await this.connections.connect();
    let isBroken = false;
    try {
      return await new Promise<object[][]>((resolve, reject) => {
        client.query(new SharedCommit(queries, this.#columns, resolve, reject));
      });
    } catch (error) {
      isBroken = !isRolledBack(error);
      throw error;
    } finally {
      this.connections.release(client, isBroken);
    }
  }
}

const firstLock = ({ query: { values } }: Pending) => String(values?.[0]);
const byFirstLock = (a: Pending, b: Pending) => (firstLock(a) < firstLock(b) ? -1 : 1);

/** Statements for `Client.query` with a single `Sync`, which makes them one transaction. All have the same text. */
class SharedCommit implements Submittable {
  /** The key under which the client records that the connection has prepared the text. */
  readonly name: string | undefined;
  readonly text: string;
  readonly #results: ResultRows[];
  #received = 0;

  constructor(
    private readonly queries: readonly Sent[],
    known: KnownColumns,
    private readonly resolve: (rows: object[][]) => void,
    private readonly reject: (error: Error) => void,
  ) {
    ({ name: this.name, text: this.text } = queries[0]!);
    this.#results = queries.map((query) => new ResultRows(query, known));
  }

  submit(connection: Connection): void {
    const unfinished = Object.create(connection, { sync: { value: () => {} } }) as Connection;
    connection.stream.cork();
    try {
      for (const query of this.queries)
        new Query(query, (error) => error && this.handleError(error)).submit(unfinished);
      connection.sync();
    } finally {
      connection.stream.uncork();
    }
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#results[this.#received]!.describe(fields);
  }

  handleDataRow({ fields: values }: { fields: Array<string | null> }): void {
    this.#results[this.#received]!.add(values);
  }

  handleCommandComplete(): void {
    this.#received++;
  }

  handleReadyForQuery(): void {
    const unreadable = this.#results.find((each) => each.unreadable)?.unreadable;
    if (unreadable) this.reject(unreadable);
    else this.resolve(this.#results.map(({ found }) => found));
  }

  handleError(error: Error): void {
    this.reject(error);
  }
}
