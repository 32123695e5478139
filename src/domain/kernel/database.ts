import type { MikroORM } from "@mikro-orm/postgresql";
import type { Logger } from "pino";
import { type Pool, type PoolClient, type QueryResult, types as pgTypes } from "pg";
import { Availability } from "./availability.js";
import { Lookups } from "./lookups.js";
import { Slots } from "./slots.js";

/** SQL with `$1…` parameters. `Row` is the shape of its rows. */
export interface Statement<Row> {
  /** Under which every connection prepares it once; without a name it is planned anew each time. */
  readonly name?: string;
  readonly text: string;
  /** Whether it finds what it wants by a key, in no time. */
  readonly isLookup?: boolean;
  /** Only for the compiler. */
  readonly row?: Row;
}

let statements = 0;

/** Declares a prepared statement. Declare it once, at module level: each one stays prepared on each connection. */
export function statement<Row = never>(text: string): Statement<Row> {
  return { name: `s${++statements}`, text };
}

/**
 * Declares a prepared statement that finds few rows by their keys: those that are asked for in the same turn travel
 * together. Never one that may take longer or wait for a lock.
 */
export const lookup = <Row = never>(text: string): Statement<Row> => ({ ...statement<Row>(text), isLookup: true });

/**
 * Declares a statement that is planned for its values each time: where conditions come and go with the values, one plan
 * for all of them would use no index.
 */
export const plannedEachTime = <Row = never>(text: string): Statement<Row> => ({ text });

/** `2026-11-21 08:15:30.12+00` → `2026-11-21T08:15:30.120Z`. Every connection runs in UTC; columns keep milliseconds. */
const rfc3339 = (text: string) =>
  `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.length > 22 ? text.slice(20, -3).padEnd(3, "0") : "000"}Z`;

const parsers = new Map<number, (text: string) => unknown>([
  [pgTypes.builtins.INT8, Number],
  [pgTypes.builtins.NUMERIC, Number],
  [pgTypes.builtins.TIMESTAMPTZ, rfc3339],
]);

const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format !== "binary" && parsers.get(oid)) || pgTypes.getTypeParser(oid, format),
};

const prepared = ({ name, text }: Statement<unknown>, values: unknown[]) => ({ name, text, values, types });

/** The one way to Postgres: prepared statements on MikroORM's own pool, alone or in a transaction. */
export class Database {
  /** Statements sent so far. */
  executed = 0;
  readonly availability: Availability;
  readonly lookups: Lookups;
  /** Transactions may wait for locks: a quarter of the connections is left to reads and probes. */
  readonly #transactions: Slots;

  constructor(
    readonly orm: MikroORM,
    readonly pool: Pool,
    log: Pick<Logger, "error" | "info">,
  ) {
    this.availability = new Availability(log);
    this.lookups = new Lookups(pool, this.availability);
    this.#transactions = new Slots(Math.max(2, Math.floor(pool.options.max * 0.75)));
  }

  query<Row>(wanted: Statement<Row>, values: unknown[]): Promise<Row[]> {
    this.executed++;
    const query = prepared(wanted, values);
    return (
      wanted.isLookup ? this.lookups.rows(query) : this.pool.query(query).then(this.#rowsOf, this.#fail)
    ) as Promise<Row[]>;
  }

  readonly #rowsOf = ({ rows }: QueryResult) => {
    this.availability.succeeded();
    return rows;
  };

  readonly #fail = (error: unknown): never => {
    this.availability.failed(error);
    throw error;
  };

  /** Repeats a statement that works off some rows at a time, and returns them, until there are none left. */
  async exhaust(step: Statement<unknown>, ...values: unknown[]): Promise<void> {
    while ((await this.query(step, values)).length > 0);
  }

  transaction(): Transaction {
    return new Transaction(this);
  }

  /** A connection for a transaction, which gives it back by `release`. */
  async connect(): Promise<PoolClient> {
    await this.#transactions.take();
    try {
      return await this.pool.connect();
    } catch (error) {
      this.#transactions.give();
      return this.#fail(error);
    }
  }

  /** Gives a connection back. */
  release(client: PoolClient): void {
    client.release();
    this.#transactions.give();
  }
}

/** A transaction that begins with its first statement, in the same round trip, and that ends once. */
export class Transaction {
  #client: Promise<PoolClient> | undefined;
  readonly #last: Array<[Statement<unknown>, unknown[]]> = [];
  #isOver = false;

  constructor(private readonly database: Database) {}

  async query<Row>(wanted: Statement<Row>, values: unknown[]): Promise<Row[]> {
    const client = await this.#connection();
    this.database.executed++;
    const query = prepared(wanted, values);
    if (wanted.isLookup) return (await this.database.lookups.rowsOn(client, query)) as Row[];
    const { rows } = await client.query(query).catch(this.#fail);
    return rows as Row[];
  }

  /** Adds a statement that is sent together with the commit. If it fails, nothing is committed. */
  beforeCommit([wanted, values]: [Statement<unknown>, unknown[]]): void {
    this.#last.push([wanted, values]);
  }

  async commit(): Promise<void> {
    if (!this.#client && this.#last.length === 0) return;
    const client = await this.#connection();
    this.database.executed += this.#last.length;
    // Postgres turns the commit of a failed transaction into a rollback, so all of it may travel at once.
    const results = await Promise.allSettled(
      inOneWrite(client, () => [
        ...this.#last.map(([wanted, values]) => client.query(prepared(wanted, values))),
        client.query("commit"),
      ]),
    );
    const failure = results.find((result) => result.status === "rejected");
    if (failure) this.#fail(failure.reason);
    this.#release(client);
  }

  /** Undoes everything. Safe after a failed commit and when nothing was begun. */
  async rollback(): Promise<void> {
    this.#isOver = true;
    if (!this.#client) return;
    const client = await this.#client.catch(() => undefined);
    if (!client) return;
    // It fails where the connection is lost; the pool drops such a connection when it comes back.
    await client.query("rollback").catch(() => {});
    this.#release(client);
  }

  async #connection(): Promise<PoolClient> {
    if (this.#isOver) throw new Error("The transaction is over.");
    this.#client ??= this.database.connect().then((client) => {
      const { stream } = client.connection;
      // The first statement follows before the next tick. They share a write: each one wakes a process of Postgres.
      stream.cork();
      process.nextTick(() => stream.uncork());
      // Not awaited: the failure of the first statement says enough.
      client.query("begin").catch(() => {});
      return client;
    });
    return this.#client;
  }

  readonly #fail = (error: unknown): never => {
    this.database.availability.failed(error);
    throw error;
  };

  #release(client: PoolClient): void {
    this.#isOver = true;
    this.#client = undefined;
    this.database.release(client);
  }
}

/** Sends the statements that `send` queues on a connection together. */
function inOneWrite<Result>({ connection: { stream } }: PoolClient, send: () => Result): Result {
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}
