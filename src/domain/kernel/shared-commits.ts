import { type Connection, type FieldDef, type PoolClient, Query, type Submittable } from "pg";
import type { GatheringOptions } from "./gathering.js";
import { type KnownColumns, ResultRows, type Sent } from "./result-rows.js";
import { isRolledBack, SharedTransactions } from "./shared-transactions.js";

/** A transaction may wait for a lock of its own, but not the others for longer. */
const gathering: GatheringOptions = { batchSize: 16, crowd: 2, patience: 5 };

/** Where transactions get their connections. */
interface Connections {
  connect(): Promise<PoolClient>;
  release(client: PoolClient, isBroken?: boolean): void;
}

/** Runs the same statement for several requests in one transaction. */
export function sharedCommits(connections: Connections): SharedTransactions<Sent, object[]> {
  const known: KnownColumns = new Map();
  return new SharedTransactions({
    gathering,
    keyOf: ({ text }) => text,
    order: byFirstLock,
    commit: (queries) => commit(connections, queries, known),
  });
}

/** All batches run their statements in the order of what each locks first, which prevents deadlocks. */
const byFirstLock = (a: Sent, b: Sent) => (firstLock(a) < firstLock(b) ? -1 : 1);
const firstLock = ({ values }: Sent) => String(values?.[0]);

async function commit(connections: Connections, queries: readonly Sent[], known: KnownColumns): Promise<object[][]> {
  const client = await connections.connect();
  let isBroken = false;
  try {
    return await new Promise<object[][]>((resolve, reject) => {
      client.query(new SharedCommit(queries, known, resolve, reject));
    });
  } catch (error) {
    isBroken = !isRolledBack(error);
    throw error;
  } finally {
    connections.release(client, isBroken);
  }
}

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
