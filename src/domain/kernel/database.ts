import { tracingChannel } from "node:diagnostics_channel";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { Logger } from "pino";
import { type Pool, type PoolClient, type QueryResult, types as pgTypes } from "pg";
import { Availability } from "./availability.js";
import { Lookups } from "./lookups.js";
import { type Endings, endingOf, statementOf } from "./endings.js";
import { sharedCommits } from "./shared-commits.js";
import { sharedEndings } from "./shared-endings.js";
import { isRolledBack } from "./shared-transactions.js";
import { Slots } from "./slots.js";
import { lookup, shaped, type Statement, statement } from "./statements.js";
import { rfc3339 } from "./text.js";

export { lookup, shaped, type Statement, statement };

/** Publishes statements without their values: `start` when one is sent, `asyncEnd` with its rows as `result`. */
const channel = tracingChannel<unknown, { text: string; result?: unknown[] }>("steward.statement");

const traced = <Row>({ text }: Statement<Row>, run: () => Promise<Row[]>): Promise<Row[]> =>
  channel.hasSubscribers ? channel.tracePromise(run, { text }) : run();

const parseBytes = pgTypes.getTypeParser(pgTypes.builtins.BYTEA);

/** Copies bytes into memory of their own: the parsed ones are part of a pool, all 64 kB of which a cached hash would keep. */
function ownBytes(text: string): Buffer {
  const pooled = parseBytes(text) as Buffer;
  const own = Buffer.alloc(pooled.length);
  own.set(pooled);
  return own;
}

const parsers = new Map<number, (text: string) => unknown>([
  [pgTypes.builtins.BYTEA, ownBytes],
  [pgTypes.builtins.INT8, Number],
  [pgTypes.builtins.NUMERIC, Number],
  [pgTypes.builtins.TIMESTAMPTZ, rfc3339],
]);

const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format !== "binary" && parsers.get(oid)) || pgTypes.getTypeParser(oid, format),
};

const prepared = ({ name, text }: Statement<unknown>, values: unknown[]) => ({ name, text, values, types });

/** Sends statements to Postgres on the pool of MikroORM, outside or inside of a transaction. */
export class Database {
  /** The number of statements sent. */
  executed = 0;
  readonly availability: Availability;
  readonly lookups: Lookups;
  readonly #sharedCommits = sharedCommits(this);
  readonly #sharedEndings = sharedEndings((wanted, values) => this.#write(wanted, values));
  /** Reserves a quarter of the connections for reads and probes, since transactions may wait for locks. */
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
    return traced(wanted, () => {
      const query = prepared(wanted, values);
      const rows = wanted.isLookup ? this.lookups.rows(query) : this.pool.query(query).then(this.#rowsOf, this.#fail);
      return rows as Promise<Row[]>;
    });
  }

  /**
   * Runs a statement that stores all that a request stores. It is committed with the same
   * statement of other requests, and should first lock what `$1` names. Throws what fails its own use of it alone.
   */
  commit<Row>(wanted: Statement<Row>, values: unknown[]): Promise<Row[]> {
    this.executed++;
    return traced(wanted, () =>
      this.#sharedCommits.run(prepared(wanted, values)).then((rows) => {
        this.availability.succeeded();
        return rows as Row[];
      }, this.#fail),
    );
  }

  /** Writes what transactions collected that have sent nothing, with the same of other requests. */
  end(endings: Endings): Promise<unknown> {
    this.executed++;
    return traced(statementOf(endings), () => this.#sharedEndings.run(endings).then(() => [], this.#fail));
  }

  /** Runs a statement that may wait for locks, and is a transaction. */
  async #write(wanted: Statement<never>, values: unknown[]): Promise<void> {
    const client = await this.connect();
    let isBroken = false;
    try {
      await client.query(prepared(wanted, values));
      this.availability.succeeded();
    } catch (error) {
      isBroken = !isRolledBack(error);
      throw error;
    } finally {
      this.release(client, isBroken);
    }
  }

  readonly #rowsOf = ({ rows }: QueryResult) => {
    this.availability.succeeded();
    return rows;
  };

  readonly #fail = (error: unknown): never => {
    this.availability.failed(error);
    throw error;
  };

  transaction(): Transaction {
    return new Transaction(this);
  }

  /** Takes a connection for a transaction, to be returned by `release`. */
  async connect(): Promise<PoolClient> {
    await this.#transactions.take();
    try {
      return await this.pool.connect();
    } catch (error) {
      this.#transactions.give();
      return this.#fail(error);
    }
  }

  release(client: PoolClient, isBroken = false): void {
    client.release(isBroken);
    this.#transactions.give();
  }
}

/** A transaction. It begins in the same round trip as its first statement. */
export class Transaction {
  #client: Promise<PoolClient> | undefined;
  #isOver = false;

  constructor(private readonly database: Database) {}

  async query<Row>(wanted: Statement<Row>, values: unknown[]): Promise<Row[]> {
    const client = await this.#connection();
    return this.#send(client, wanted, values);
  }

  #send<Row>(client: PoolClient, wanted: Statement<Row>, values: unknown[]): Promise<Row[]> {
    this.database.executed++;
    return traced(wanted, () => {
      const query = prepared(wanted, values);
      const rows = wanted.isLookup
        ? this.database.lookups.rowsOn(client, query)
        : client.query(query).then((result) => result.rows as object[], this.#fail);
      return rows as Promise<Row[]>;
    });
  }

  /** Writes rows, and commits. If that fails, the transaction is rolled back. */
  async commit(endings: Endings = new Map()): Promise<void> {
    const isEnding = endings.size > 0;
    if (!this.#client) {
      this.#isOver = true;
      if (isEnding) await this.database.end(endings);
      return;
    }
    const client = await this.#connection();
    // One write is safe: Postgres turns the commit of a failed transaction into a rollback.
    const results = await Promise.allSettled(
      inOneWrite(client, () => [
        ...(isEnding ? [this.#send(client, ...endingOf(endings))] : []),
        client.query("commit"),
      ]),
    );
    const failure = results.find((result) => result.status === "rejected");
    if (failure) this.#fail(failure.reason);
    this.#release(client);
  }

  /** Rolls back. Has no effect on a transaction that has not begun. Safe after a failed commit. */
  async rollback(): Promise<void> {
    this.#isOver = true;
    if (!this.#client) return;
    const client = await this.#client.catch(() => undefined);
    if (!client) return;
    // Fails if the connection is lost. The pool drops such a connection on release.
    await client.query("rollback").catch(() => {});
    this.#release(client);
  }

  async #connection(): Promise<PoolClient> {
    if (this.#isOver) throw new Error("The transaction is over.");
    this.#client ??= this.database.connect().then((client) => {
      const { stream } = client.connection;
      // `begin` shares a write with the first statement, which follows before the next tick: each write wakes Postgres.
      stream.cork();
      process.nextTick(() => stream.uncork());
      // Not awaited: if it fails, so does the first statement.
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

/** Sends the statements that `send` queues on a connection in one write. */
function inOneWrite<Result>({ connection: { stream } }: PoolClient, send: () => Result): Result {
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}
