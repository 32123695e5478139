import { tracingChannel } from "node:diagnostics_channel";
import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresDialect,
  PostgresDriver,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from "kysely";
import type { Pool, PoolClient, QueryConfig, QueryResult as PgResult } from "pg";
import { isConnectionFault } from "./availability.js";
import type { SessionClient } from "./session.js";
import { beginUsual } from "./session-settings.js";
import { UnknownOutcome } from "./unknown-outcome.js";

/** Publishes statements without their values: `start` when one is sent, `asyncEnd` with its rows as `result`. */
const channel = tracingChannel<unknown, { text: string; result?: unknown[] }>("steward.statement");

/** Is told how statements end. */
export interface StatementObserver {
  /** A statement was sent. */
  sent(): void;
  succeeded(): void;
  failed(error: unknown): void;
}

export interface DialectOptions {
  /** For statements outside of transactions, which wait for no lock. */
  reads: Pool;
  /** For transactions, which may wait for locks: so reads and probes always find a connection. */
  transactions: Pool;
  observer: StatementObserver;
  /** Whether statements outside of transactions write: if the response to one is lost, its outcome is not known. */
  writesAlone?: boolean;
}

/**
 * Kysely's dialect for Postgres, with five differences. A transaction takes its connection with its first statement, so that
 * none is held while a password is hashed. If the response to COMMIT is lost, the server is asked what became of the
 * transaction, unless it only reads; of a single statement that writes, the outcome is not known then. Statements with
 * parameters are prepared under a name. Names are in camel case. And behind a pooler in transaction mode, each transaction
 * makes its settings.
 */
export class StewardDialect extends PostgresDialect {
  readonly #options: DialectOptions;

  constructor(options: DialectOptions) {
    super({ pool: options.reads });
    this.#options = options;
  }

  override createDriver(): Driver {
    return new PoolDriver(this.#options);
  }

  override createQueryCompiler(): QueryCompiler {
    return new SnakeCaseCompiler();
  }
}

/**
 * Writes names in snake case, but for the collation `C`. Kysely's own plugin copies each statement to do so, which takes
 * 8 % of the CPU of a list.
 */
class SnakeCaseCompiler extends PostgresQueryCompiler {
  protected override sanitizeIdentifier(name: string): string {
    let written = snakeCased.get(name);
    if (written === undefined) {
      written = super.sanitizeIdentifier(name.replace(/\B[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
      snakeCased.set(name, written);
    }
    return written;
  }
}

/** Names of tables, columns, and aliases as they are written. The program has a few thousand. */
const snakeCased = new Map<string, string>();

class PoolDriver extends PostgresDriver {
  readonly #options: DialectOptions;

  constructor(options: DialectOptions) {
    super({ pool: options.reads });
    this.#options = options;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return new LazyConnection(this.#options);
  }

  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    (connection as LazyConnection).begin(settings);
  }

  override commitTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as LazyConnection).commit();
  }

  override rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return (connection as LazyConnection).rollback();
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as LazyConnection).release();
  }

  override async destroy(): Promise<void> {
    const { reads, transactions } = this.#options;
    await Promise.all([...new Set([reads, transactions])].map((pool) => pool.end()));
  }
}

/** A connection of a pool, taken with the first statement. */
class LazyConnection implements DatabaseConnection {
  #client: Promise<Connected> | undefined;
  /** The statement that begins the transaction. */
  #begin: string | undefined;
  /** Whether the transaction only reads: it gets no ID, which standbys have not, and it does not matter how it ends. */
  #isReadOnly = false;
  /** Identifies the transaction, so that its outcome can be asked; a rejection means that nothing was stored. */
  #transaction: Promise<TransactionIdentity> | undefined;

  /** Whether the end of the transaction was sent: what is sent after it would be a transaction of its own. */
  #isOver = false;

  constructor(private readonly options: DialectOptions) {}

  begin({ isolationLevel, accessMode }: TransactionSettings): void {
    if (isolationLevel) throw new Error("Transactions have the isolation level for which statements are written.");
    this.#begin = `${beginUsual}${accessMode ? `, ${accessMode}` : ""}`;
    this.#isReadOnly = accessMode === "read only";
  }

  async executeQuery<Row>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#isOver) throw new Error("The transaction has ended.");
    const { rows, command, rowCount } = await this.#send(text, parameters);
    const isWrite = command === "INSERT" || command === "UPDATE" || command === "DELETE" || command === "MERGE";
    return { rows: rows as Row[], ...(isWrite && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  // oxlint-disable-next-line require-yield -- part of the interface; responses of Steward are bounded and never streamed
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("Streams are not supported.");
  }

  async #send(text: string, parameters: readonly unknown[]): Promise<PgResult<object>> {
    const { observer, writesAlone } = this.options;
    const run = async () => {
      observer.sent();
      let client: Connected | undefined;
      try {
        client = await (this.#client ??= this.#connect());
        const isNamed = client.keepsStatements && parameters.length > 0 && parameters.length <= mostParameters;
        const name = isNamed ? nameOf(text) : undefined;
        const statement = { name, text, values: parameters as unknown[] };
        const isAlone = this.#begin === undefined && client.perTransaction !== undefined;
        const result = await (isAlone ? inTransaction(client, statement) : client.query<object>(statement));
        this.#throwIfUnconfirmed(client);
        observer.succeeded();
        return result;
      } catch (error) {
        observer.failed(error);
        const isUnknown = writesAlone && client && this.#begin === undefined && isConnectionFault(error);
        throw isUnknown ? new UnknownOutcome(error) : error;
      }
    };
    if (!channel.hasSubscribers) return run();
    // The subscribers expect rows, which the promise that is traced resolves to.
    let result: PgResult<object>;
    await channel.tracePromise(async () => (result = await run()).rows, { text });
    return result!;
  }

  async #connect(): Promise<Connected> {
    const { reads, transactions } = this.options;
    if (!this.#begin) return (await reads.connect()) as Connected;
    const client = (await transactions.connect()) as Connected;
    const start = `${this.#begin}; ${client.perTransaction ?? ""}`;
    // Sent together with the first statement, which fails if this does.
    if (this.#isReadOnly) {
      client.query(start).catch(() => {});
      return client;
    }
    const begin = `${start} select pg_current_xact_id()::text as id, ${serverRun} as "serverRun"`;
    const begun = client.query(begin) as unknown as Promise<Array<PgResult<TransactionIdentity>>>;
    this.#transaction = begun.then((results) => results.at(-1)!.rows[0]!);
    this.#transaction.catch(() => {});
    return client;
  }

  /** Commits; has nothing to do if no statement was sent. Throws `UnknownOutcome` if the outcome cannot be found out. */
  async commit(): Promise<void> {
    this.#isOver = true;
    if (!this.#client) return;
    const client = await this.#client;
    try {
      // The response is ROLLBACK if a statement failed before, even if the failure was caught.
      const { command } = await client.query("commit");
      if (command !== "COMMIT") throw new Error("The transaction was rolled back, since a statement in it failed.");
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      this.options.observer.failed(error);
      // This server would say that it is committed, but another one may take over without it.
      if (client.wasUnconfirmed()) {
        this.release(error as Error);
        throw new UnknownOutcome(error);
      }
      await this.#findOutcome(error);
    }
    try {
      this.#throwIfUnconfirmed(client);
    } finally {
      this.release();
    }
  }

  /** Throws if the server has committed without the standby that it has to wait for. */
  #throwIfUnconfirmed(client: Connected): void {
    if (!client.wasUnconfirmed()) return;
    const cause = unconfirmedCommit();
    this.options.observer.failed(cause);
    throw new UnknownOutcome(cause);
  }

  /** Returns if the transaction was committed, throws otherwise. */
  async #findOutcome(lost: unknown): Promise<void> {
    // Without an ID, not even the first statement has a response, and so the commit did not reach a living server.
    const transaction = await this.#transaction?.catch(() => undefined);
    this.release(lost as Error);
    if (transaction === undefined) throw lost;
    const outcome = await outcomeOf(this.options.transactions, transaction);
    if (outcome === "committed") return;
    throw outcome === "aborted" ? lost : new UnknownOutcome(lost);
  }

  async rollback(): Promise<void> {
    this.#isOver = true;
    const client = await this.#client?.catch(() => undefined);
    if (!client) return;
    try {
      await client.query("rollback");
      this.release();
    } catch (error) {
      this.release(error as Error);
    }
  }

  /** Returns the connection to its pool, which drops it after an `error`. */
  release(error?: Error): void {
    void giveBack(this.#client, error);
    this.#client = undefined;
  }
}

/**
 * Runs a statement in a transaction of its own, which has the settings that the session does not have. All of it is sent
 * together. Returns only after the commit.
 */
async function inTransaction(client: Connected, statement: QueryConfig): Promise<PgResult<object>> {
  const parts = [
    client.query(`${beginUsual}; ${client.perTransaction}`),
    client.query<object>(statement),
    client.query("commit"),
  ];
  const failed = (await Promise.allSettled(parts)).find((part) => part.status === "rejected");
  if (failed) throw failed.reason;
  return parts[1]!;
}

/** A connection of the pools, whose `Client` is `SessionClient`. */
type Connected = PoolClient & Pick<SessionClient, "perTransaction" | "keepsStatements" | "wasUnconfirmed">;

async function giveBack(client: Promise<PoolClient> | undefined, error?: Error): Promise<void> {
  try {
    (await client)?.release(error);
  } catch {
    // There is no connection to release.
  }
}

/** The SQLSTATE says that the outcome of a transaction is not known. */
const unconfirmedCommit = () =>
  Object.assign(new Error("A commit was not confirmed by a standby."), { code: "08007" as const });

interface TransactionIdentity {
  readonly id: string;
  /** The run of the server that gave the ID. */
  readonly serverRun: string;
}

/** An expression that differs between all servers, and between two runs of the same server. */
const serverRun = "pg_postmaster_start_time()::text";

/** Milliseconds for which the outcome of a transaction is asked, and between two attempts. */
const askedFor = 5_000;
const askedEvery = 100;

/**
 * Asks what became of a transaction whose connection was lost. Undefined if no server responds in time, or if the
 * transaction is still running, as one is that waits for a standby. A server that took over, or was started again, may
 * give the ID of a transaction that it has never seen to another one: only its word that nothing was committed counts.
 */
async function outcomeOf(pool: Pool, { id, serverRun: run }: TransactionIdentity): Promise<Outcome | undefined> {
  const deadline = performance.now() + askedFor;
  while (performance.now() < deadline) {
    try {
      const { rows } = await pool.query<{ status: string | null; isSame: boolean }>(selectOutcome, [id, run]);
      const { status, isSame } = rows[0]!;
      if (status === "committed") return isSame ? status : undefined;
      if (status === "aborted") return status;
      if (status === null) return undefined; // so old that Postgres no longer knows
    } catch (error) {
      // A server that has not seen the transaction took over from one that had not passed it on.
      if ((error as { code?: string }).code === invalidParameter) return "aborted";
      if (!isConnectionFault(error)) throw error;
    }
    await delay(askedEvery);
  }
  return undefined;
}

type Outcome = "committed" | "aborted";

const selectOutcome = `select pg_xact_status($1::text::xid8) as status, ${serverRun} = $2 as "isSame"`;
const invalidParameter = "22023";

/** Maximum number of statements that are prepared, each about 50 kB per connection. Further ones are planned per use. */
const mostNames = 1000;
const names = new Map<string, string>();

/** Maximum number of parameters of prepared statements. Those with more insert many rows: each number of rows has its own text. */
const mostParameters = 50;

/**
 * The end of statements that are not prepared, so that Postgres plans them for their values: searches, whose best index
 * depends on how frequent the word is.
 */
export const plannedForValues = "/* planned for its values */";

/** The name of a prepared statement, by its text: the same on all connections. */
function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size >= mostNames || text.includes(plannedForValues)) return undefined;
  const name = hash("sha256", text, "base64url");
  names.set(text, name);
  return name;
}
