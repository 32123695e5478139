import { type Connection, type FieldDef, type Pool, type PoolClient, Query, type Submittable } from "pg";
import type { Availability } from "./availability.js";
import { Gathering, type GatheringOptions } from "./gathering.js";
import { type KnownColumns, ResultRows, type Sent } from "./result-rows.js";

interface Pending {
  query: Sent;
  resolve: (rows: object[]) => void;
  reject: (error: Error) => void;
}

/** Each lookup of a batch waits about 50 microseconds for each one before it. */
const options: GatheringOptions = { batchSize: 8, crowd: 2, patience: 2 };

/**
 * Sends lookups in batches. Most of the cost of a small statement is its write, which wakes a process of Postgres, and the
 * response, which wakes this one.
 */
export class Lookups {
  readonly #gathering = new Gathering<Pending>(options, (batch) => this.#send(batch));
  readonly #columns: KnownColumns = new Map();

  constructor(
    private readonly pool: Pool,
    private readonly availability: Availability,
  ) {}

  rows(query: Pending["query"]): Promise<object[]> {
    return new Promise((resolve, reject) => this.#gathering.add({ query, resolve, reject }));
  }

  /** Sends a lookup on the connection of a transaction. */
  rowsOn(client: PoolClient, query: Pending["query"]): Promise<object[]> {
    return new Promise((resolve, reject) => {
      client.query(new Lookup({ query, resolve, reject }, this.#columns, this.availability, () => {}));
    });
  }

  #send(batch: readonly Pending[]): Promise<void> {
    return new Promise((end) => {
      this.pool.connect((error, client, release) => {
        if (!client) {
          this.availability.failed(error);
          for (const { reject } of batch) reject(error!);
          return end();
        }
        const { stream } = client.connection;
        let left = batch.length;
        const onEnd = () => {
          if (--left > 0) return;
          release();
          end();
        };
        stream.cork();
        for (const pending of batch) client.query(new Lookup(pending, this.#columns, this.availability, onEnd));
        stream.uncork();
      });
    });
  }
}

/** A query for `Client.query`. */
class Lookup implements Submittable {
  /** The key under which the client records that the connection has prepared the text. */
  readonly name: string | undefined;
  readonly text: string;
  readonly #sending: Query;
  readonly #rows: ResultRows;

  constructor(
    private readonly pending: Pending,
    known: KnownColumns,
    private readonly availability: Availability,
    private readonly onEnd: () => void,
  ) {
    ({ name: this.name, text: this.text } = pending.query);
    this.#sending = new Query(pending.query, (error) => error && this.handleError(error));
    this.#rows = new ResultRows(pending.query, known);
  }

  submit(connection: Connection): void {
    return this.#sending.submit(connection);
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this.#rows.describe(fields);
  }

  handleDataRow({ fields: values }: { fields: Array<string | null> }): void {
    this.#rows.add(values);
  }

  /** Ignores the number of rows. */
  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    const { found, unreadable } = this.#rows;
    if (unreadable) return this.handleError(unreadable);
    this.availability.succeeded();
    this.onEnd();
    this.pending.resolve(found);
  }

  handleError(error: Error): void {
    this.availability.failed(error);
    this.onEnd();
    this.pending.reject(error);
  }
}
