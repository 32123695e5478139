// Opens the connections to Postgres: all of them by the same URL, on the same terms.
import { callbackify } from "node:util";
import { Client, type ClientConfig, Connection, type QueryResult } from "pg";
import { StartRefused } from "../../runtime/errors.js";
import { type Pooling, recognizePooling } from "./pooling.js";
import { initializeSession, initializeTransaction, type Settings } from "./session-settings.js";
import { type DatabaseUrl, type Endpoint, readDatabaseUrl } from "./url.js";

/** Milliseconds, unless the URL has other values. */
const usualConnectTimeout = 5_000;
/** Node probes every second from then on, and gives the connection up after ten. */
const usualKeepAlive = 5_000;

export interface SessionOptions {
  applicationName: string;
  /** Settings of the sessions, in addition to those of `session-settings.ts`, or instead of them. */
  settings?: Settings;
  /** Whether each connection needs a session to itself. If a pooler has none, it is rejected with `StartRefused`. */
  needsSession?: boolean;
  /** Whether the server may be a standby; of several servers, it must be one. Default: it must accept writes. */
  readsOnly?: boolean;
  /** Is called once for each server of the URL that is behind a pooler in transaction mode. */
  onShared?: (pooling: Pooling) => void;
}

/** The configuration of a `SessionClient`. */
export interface SessionConfig extends ClientConfig {
  route: Route;
  /** Statements that make the settings, for a session and for a transaction. */
  initialize: string;
  perTransaction: string;
  needsSession: boolean;
  readsOnly: boolean;
  onShared?: (pooling: Pooling) => void;
}

/**
 * Returns the configuration of `SessionClient`s. The clients of one configuration remember which of the servers they
 * use. Throws if the URL is invalid.
 */
export function sessionConfig(text: string, options: SessionOptions): SessionConfig {
  const { applicationName, settings = {}, needsSession = false, readsOnly = false, onShared } = options;
  const { url, faults } = readDatabaseUrl(text);
  if (!url) throw new Error(`The URL of the database ${faults.join(", and it ")}.`);
  return {
    route: new Route(url),
    initialize: initializeSession(settings),
    perTransaction: initializeTransaction(settings),
    needsSession,
    readsOnly,
    onShared,
    user: url.user,
    password: url.password,
    database: url.database,
    host: url.endpoints[0]!.host,
    port: url.endpoints[0]!.port,
    ssl: url.endpoints[0]!.ssl,
    application_name: url.applicationName ?? applicationName,
    options: url.options,
    connectionTimeoutMillis: url.connectTimeout ?? usualConnectTimeout,
    keepAlive: url.keepAlive !== false,
    keepAliveInitialDelayMillis: url.keepAlive || usualKeepAlive,
  };
}

/** The endpoints of a URL. With several, one that works is found by trying, and used until it fails. */
class Route {
  #found: Promise<Endpoint> | undefined;
  readonly #poolings = new Map<Endpoint, Promise<Pooling>>();

  constructor(readonly url: DatabaseUrl) {}

  /** Whether there are several servers. Each can have several endpoints: with TLS, and without. */
  get isChoice(): boolean {
    return new Set(this.url.endpoints.map(({ host, port }) => `${host}:${port}`)).size > 1;
  }

  /** Returns the endpoint to connect to. `works` rejects if an endpoint does not. */
  find(works: (endpoint: Endpoint) => Promise<unknown>): Promise<Endpoint> {
    const { endpoints } = this.url;
    if (endpoints.length === 1) return Promise.resolve(endpoints[0]!);
    return (this.#found ??= this.#try(works).catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    }));
  }

  /** Returns the pooling of an endpoint, which `recognize` finds out on the first connection. */
  poolingOf(endpoint: Endpoint, recognize: () => Promise<Pooling>): Promise<Pooling> {
    const known = this.#poolings.get(endpoint);
    if (known) return known;
    const pooling = recognize().catch((error: unknown) => {
      this.#poolings.delete(endpoint);
      throw error;
    });
    this.#poolings.set(endpoint, pooling);
    return pooling;
  }

  /** To be called if the endpoint has failed. */
  forget(): void {
    this.#found = undefined;
  }

  async #try(works: (endpoint: Endpoint) => Promise<unknown>): Promise<Endpoint> {
    const reasons: string[] = [];
    let code: string | undefined;
    for (const endpoint of this.url.endpoints) {
      try {
        await works(endpoint);
        return endpoint;
      } catch (error) {
        if (error instanceof StartRefused) throw error;
        reasons.push(`${endpoint.host}:${endpoint.port}: ${(error as Error).message}`);
        ({ code } = error as { code?: string });
      }
    }
    throw Object.assign(new Error([...new Set(reasons)].join("; ")), { code });
  }
}

/** A connection could not be opened, for whatever reason. Has the SQLSTATE for that. */
class ConnectionFailure extends Error {
  readonly code = "08001";

  constructor(cause: unknown) {
    const { message, code } = cause as { message?: string; code?: string };
    super(message || code || String(cause), { cause });
    this.name = "ConnectionFailure";
  }
}

const sharesSessions =
  "The pooler of the database lends its connections for a transaction only, as PgBouncer does with pool_mode = transaction. " +
  "Migrations, backups, and the messages of other replicas need a session: set STEWARD_DATABASE_DIRECT_URL to a URL of the " +
  "same database that leads past the pooler, or let the pooler pool sessions.";

/** The function of Postgres in which a commit waits for a standby, and which gives up with a warning. */
const waitsForStandby = "SyncRepWaitForLSN";

/**
 * A connection whose server is one that the URL names and that accepts writes, unless only reads are needed, and whose
 * session has its settings. They are made by statements: poolers reject startup options.
 */
export class SessionClient extends Client {
  readonly #config: SessionConfig;
  #pooling: Pooling | undefined;
  #wasUnconfirmed = false;

  constructor(config: SessionConfig) {
    super(config);
    this.#config = config;
    this.on("notice", ({ routine }) => {
      if (routine === waitsForStandby) this.#wasUnconfirmed = true;
    });
    // Statements in progress fail with the error. Without a listener, it would end the process.
    this.on("error", () => {});
  }

  /** The statement that makes the settings of a transaction, if the session does not have them. */
  get perTransaction(): string | undefined {
    return this.#pooling?.hasOwnSession ? undefined : this.#config.perTransaction;
  }

  /** Whether statements stay prepared under their names. */
  get keepsStatements(): boolean {
    return this.#pooling?.keepsStatements === true;
  }

  /**
   * Whether the server has committed, since this was last asked, without the confirmation of a synchronous standby: it has
   * stopped waiting because it stops, or because someone canceled the statement, and says so by a warning only.
   */
  wasUnconfirmed(): boolean {
    const was = this.#wasUnconfirmed;
    this.#wasUnconfirmed = false;
    return was;
  }

  override connect(): Promise<Client>;
  override connect(callback: (error: Error | null, client?: Client) => void): void;
  override connect(callback?: (error: Error | null, client?: Client) => void): Promise<Client> | void {
    if (!callback) return this.#open();
    callbackify(() => this.#open())(callback);
  }

  async #open(): Promise<Client> {
    const { route } = this.#config;
    try {
      const endpoint = await route.find((each) => this.#probe(each));
      return await this.#openAt(endpoint);
    } catch (error) {
      route.forget();
      throw error instanceof ConnectionFailure || error instanceof StartRefused ? error : new ConnectionFailure(error);
    }
  }

  async #probe(endpoint: Endpoint): Promise<void> {
    const client = new SessionClient(this.#config);
    await client.#openAt(endpoint);
    await client.end();
  }

  async #openAt(endpoint: Endpoint): Promise<Client> {
    const { route, needsSession } = this.#config;
    await this.#connectTo(endpoint);
    try {
      this.#pooling = await route.poolingOf(endpoint, () => this.#recognize(endpoint));
      if (needsSession && !this.#pooling.hasOwnSession) throw new StartRefused(sharesSessions);
      await this.#initialize();
      return this;
    } catch (error) {
      this.connection.stream.destroy();
      throw error;
    }
  }

  async #recognize(endpoint: Endpoint): Promise<Pooling> {
    const pooling = await recognizePooling(this, async () => {
      const another = new SessionClient(this.#config);
      await another.#connectTo(endpoint);
      return another;
    });
    if (!pooling.hasOwnSession) this.#config.onShared?.(pooling);
    return pooling;
  }

  /** Opens the connection, without its settings. */
  async #connectTo(endpoint: Endpoint): Promise<void> {
    const { keepAlive, keepAliveInitialDelayMillis, route } = this.#config;
    const sslNegotiation = route.url.isDirectTls && endpoint.ssl ? "direct" : "postgres";
    const options = { keepAlive, keepAliveInitialDelayMillis, ssl: endpoint.ssl, sslNegotiation };
    const connection = new Connection(options);
    Object.assign(this, { ...endpoint, sslNegotiation, connection });
    await super.connect();
  }

  async #initialize(): Promise<void> {
    const { route, readsOnly } = this.#config;
    const initialize = this.perTransaction === undefined ? this.#config.initialize : "select;";
    // Several statements have an array of results.
    const results = (await this.query(`${initialize} ${selectState}`).catch(explainRejection)) as unknown as Array<
      QueryResult<State>
    >;
    const { isStandby, isReadOnly } = results.at(-1)!.rows[0]!;
    if (readsOnly && !isStandby && route.isChoice) throw new Error("The server is not a standby.");
    if (readsOnly || !route.url.mustBeWritable) return;
    if (isStandby) throw new Error("The server is a standby, which accepts no writes.");
    if (isReadOnly) throw new Error("The server is read-only.");
  }
}

/** Throws the rejection of a setting, which the role may not change, with the way out. */
function explainRejection(error: unknown): never {
  if ((error as { code?: string }).code !== insufficientPrivilege) throw error;
  throw new StartRefused(
    `The database rejects a setting that Steward needs: ${(error as Error).message}. Remove what "alter role" or "alter database" has set.`,
  );
}

const insufficientPrivilege = "42501";

interface State {
  isStandby: boolean;
  isReadOnly: boolean;
}

const selectState = `
  select pg_is_in_recovery() as "isStandby", current_setting('default_transaction_read_only')::bool as "isReadOnly"`;
