import { randomInt } from "node:crypto";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import { CamelCasePlugin, Kysely, type PluginTransformQueryArgs, type RootOperationNode, sql } from "kysely";
import { Pool, type PoolConfig } from "pg";
import type { Logger } from "pino";
import { createOrm } from "../../entities/orm.js";
import type { Schema } from "../../entities/schema.js";
import { Availability } from "./availability.js";
import { StewardDialect } from "./dialect.js";
import { types } from "./parsers.js";
import { SessionClient, sessionConfig, type SessionOptions } from "./session.js";

/** Kysely with the tables and columns of the entities, in camel case. */
export type Db = Kysely<Schema>;

/** Names the columns of results in camel case. Those of statements are left to the compiler of the dialect. */
class CamelCaseResults extends CamelCasePlugin {
  override transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    return node;
  }
}

const camelCase = new CamelCaseResults({ maintainNestedObjectKeys: true });

/** The database: entities by MikroORM, tables by Kysely, both on the same connections. */
export class Database {
  /** Kysely outside of transactions. */
  readonly db: Db;

  constructor(
    readonly orm: MikroORM,
    /**
     * Kysely for single statements that write, each of which is its own transaction. They may wait for locks, and so take
     * the connections of transactions. Throws `UnknownOutcome` if the response to one is lost.
     */
    readonly writes: Db,
    /** For statements outside of transactions. */
    readonly pool: Pool,
    /** All pools. */
    readonly pools: readonly [Pool, Pool],
    readonly counts: { executed: number },
    private readonly options: DatabaseOptions,
  ) {
    this.db = kyselyOf(orm.em);
  }

  /** Whether work that needs sessions has a URL of its own. */
  get hasDirectUrl(): boolean {
    return this.options.directUrl !== undefined;
  }

  /**
   * Runs `work` on two connections with sessions of their own and without time limits: for migrations, backups, and other
   * work of an operator.
   */
  async withoutTimeouts<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    const { url, directUrl = url, log } = this.options;
    const unlimited = openDatabase({ url: directUrl, pool: 2, statementTimeout: 0, needsSession: true, log });
    try {
      return await work(unlimited);
    } finally {
      await unlimited.close();
    }
  }

  /** Whether another one is the same database of the same server: then a lock that is held there is held here. */
  async isSameAs({ db }: Database): Promise<boolean> {
    const take = sql<{ isFree: boolean }>`
      select pg_try_advisory_xact_lock(${randomInt(2 ** 47)}::bigint) as "isFree"`;
    return db.transaction().execute(async (transaction) => {
      await take.execute(transaction);
      return !(await take.execute(this.db)).rows[0]!.isFree;
    });
  }

  async close(): Promise<void> {
    await this.orm.close();
    // The ORM does not close what it has not used itself.
    await Promise.all(this.pools.filter(({ ending }) => !ending).map((pool) => pool.end()));
  }
}

/** Kysely in the transaction of an entity manager, or outside of transactions if it has none. */
const kyselyOf = (em: EntityManager): Db => em.getKysely<Schema>().withPlugin(camelCase);

export interface DatabaseOptions {
  url: string;
  /** A URL of the same database that leads past poolers, for work that needs sessions of its own. Default: `url`. */
  directUrl?: string;
  /** Whether each connection needs a session of its own. */
  needsSession?: boolean;
  /** Maximum number of connections. */
  pool: number;
  /** Milliseconds after which Postgres cancels a statement. A third of it is the timeout for locks. */
  statementTimeout: number;
  /** Where outages of the database are logged. Default: nowhere. */
  log?: Pick<Logger, "error" | "info">;
}

const noLog = { error() {}, info() {} };

/** Opens no connection yet. */
export function openDatabase(given: DatabaseOptions): Database {
  const { needsSession, pool: most, log = noLog } = given;
  const availability = new Availability(log);
  const counts = { executed: 0 };
  const observer = {
    sent: () => void counts.executed++,
    succeeded: () => availability.noteSuccess(),
    failed: (error: unknown) => availability.noteFailure(error),
  };
  const options = poolOptions(given, { needsSession });
  // Transactions may wait for locks; reads and probes never wait for them.
  const reads = openPool({ ...options, max: Math.max(1, Math.floor(most / 2)) });
  const transactions = openPool({ ...options, max: Math.ceil(most / 2) });
  const orm = createOrm(new StewardDialect({ reads, transactions, observer }), options.database!);
  const writes = new StewardDialect({ reads: transactions, transactions, observer, writesAlone: true });
  return new Database(orm, kyselyWith(writes), reads, [reads, transactions], counts, given);
}

/** Opens Kysely for reads from a standby, in transactions that only read. Opens no connection yet. `sent` counts statements. */
export function openReads(given: Omit<DatabaseOptions, "directUrl" | "needsSession">, sent: () => void): Db {
  const pool = openPool({ ...poolOptions(given, { readsOnly: true }), max: given.pool, maxLifetimeSeconds: 60 });
  const observer = { sent, succeeded() {}, failed() {} };
  return kyselyWith(new StewardDialect({ reads: pool, transactions: pool, observer }));
}

const kyselyWith = (dialect: StewardDialect): Db => new Kysely<Schema>({ dialect }).withPlugin(camelCase);

function poolOptions(
  { url, statementTimeout, log = noLog }: DatabaseOptions,
  needs: Pick<SessionOptions, "needsSession" | "readsOnly">,
): PoolConfig {
  const session = sessionConfig(url, {
    applicationName: "steward",
    ...needs,
    onShared: ({ keepsStatements }) =>
      log.info(
        { preparesStatements: keepsStatements },
        `The database is behind a pooler in transaction mode. Settings are made in each transaction${keepsStatements ? "." : ", and statements are not prepared."}`,
      ),
    settings: {
      statement_timeout: String(statementTimeout),
      lock_timeout: String(Math.round(statementTimeout / 3)),
    },
  });
  return {
    ...session,
    Client: SessionClient as never,
    types,
    pipeline: true,
    // Ends connections that do not respond: Postgres itself ends statements earlier.
    ...(statementTimeout > 0 && { query_timeout: statementTimeout + 5_000 }),
  };
}

function openPool(options: PoolConfig): Pool {
  const pool = new Pool(options);
  // A lost connection fails the statement that it runs, and the pool replaces it. Without listeners, it would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
