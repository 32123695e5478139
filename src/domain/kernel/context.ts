import DataLoader from "dataloader";
import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import { type AuditEntry, auditRow, insertAuditEvents } from "../audit/audit.js";
import { recordFlushes } from "../audit/changes.js";
import { type Actor, idOf } from "./actor.js";
import type { EntityManager } from "@mikro-orm/postgresql";
import { type Db, kyselyOf, run } from "../../infrastructure/database/database.js";
import { throwLostRace } from "../../infrastructure/database/availability.js";
import { UnknownOutcome } from "../../infrastructure/database/unknown-outcome.js";
import { type Database, shaped, type Statement } from "./database.js";
import type { ExternalAuthRegistry } from "../external-auth/registry.js";
import { type Ending, endingOf } from "./endings.js";
import type { Entitlements } from "../entitlements/entitlements.js";
import type { Errands } from "./errands.js";
import { unavailable } from "./errors.js";
import type { Events, Hint } from "./events.js";
import type { RequestDetails } from "./request.js";
import type { Sql } from "./sql.js";
import type { Tally } from "./tally.js";
import type { DocumentFetches } from "../oauth2/document-fetches.js";
import type { AgentApi } from "../outside/agent-api.js";
import type { IssuedTokens } from "../oauth2/issued.js";
import type { RecentClients } from "../oauth2/recent-clients.js";
import type { IdentityProviders } from "../outside/identity-providers.js";
import type { Fetch } from "../outside/http.js";
import type { Passwords } from "../outside/passwords.js";
import type { Transports } from "../notifications/transports.js";
import type { Vault } from "../outside/vault.js";
import type { RateLimits } from "../rate-limits/rate-limits.js";
import type { Credentials } from "../tokens/credentials.js";
import type { ProxyHealth } from "../workspace-proxies/health.js";

/** The services of the process, created in `app.ts` and shared by all requests. */
export interface Services {
  config: Config;
  database: Database;
  events: Events;
  /** Calls URLs that users configure. */
  fetch: Fetch;
  passwords: Passwords;
  vault: Vault;
  seals: Sealing;
  credentials: Credentials;
  /** OAuth2 applications that authenticate. */
  clients: RecentClients;
  /** OAuth2 access tokens that applications ask about. */
  issuedTokens: IssuedTokens;
  limits: RateLimits;
  entitlements: Entitlements;
  identityProviders: IdentityProviders;
  externalAuth: ExternalAuthRegistry;
  transports: Transports;
  errands: Errands;
  /** Attempts to sign in. */
  signIns: Tally<"method" | "result">;
  /** Counts the secrets that were left out of deliveries to agents. */
  deliveries: { undelivered: number };
  proxyHealth: ProxyHealth;
  /** Fetches the metadata documents of OAuth2 applications. */
  clientDocuments: DocumentFetches;
  /** Calls the programs of tasks. */
  agentApi: AgentApi;
  log: Logger;
}

/** Authenticates texts that clients keep, each for one purpose. All replicas share the key. */
export interface Sealing {
  /** Appends the authentication code to a text, which stays readable. */
  seal(purpose: string, text: string): Promise<string>;
  /** Returns the text if it was sealed for this purpose, else `undefined`. */
  open(purpose: string, sealed: string | undefined): Promise<string | undefined>;
}

/** Writes what the verbs of a mutation collected. */
type DeferredWrite<Item> = (ctx: Context, items: readonly Item[]) => Promise<unknown>;

type BatchRead<Key, Value> = (ctx: Context, keys: readonly Key[]) => Promise<ArrayLike<Value | Error>>;

const first = <Row>(rows: Row[]): Row | undefined => rows[0];

function collect<Row>(endings: Map<Ending<unknown>, unknown[]>, ending: Ending<Row>, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const collected = endings.get(ending);
  if (collected) collected.push(...rows);
  else endings.set(ending, [...rows]);
}

/**
 * A request: its caller, the services, and the transaction while a mutation runs. Apollo copies a context field by
 * field onto the same prototype: getters work, `#private` fields would be lost.
 */
export class Context {
  private transaction: { em: EntityManager; db: Db } | undefined;
  private readonly committed: Array<() => void | Promise<void>> = [];
  private readonly failed: Array<() => Promise<void>> = [];
  private readonly deferred = new Map<DeferredWrite<unknown>, unknown[]>();
  private readonly endings = new Map<Ending<unknown>, unknown[]>();
  private readonly unwritten = new Map<Ending<unknown>, unknown[]>();
  private loaders: Map<unknown, DataLoader<unknown, unknown>> | undefined;

  constructor(
    readonly services: Services,
    private caller: Actor,
    readonly request: RequestDetails,
    private readonly lifetime: () => AbortController,
  ) {
    const actorId = idOf(caller);
    if (actorId !== undefined) request.actorId = actorId;
  }

  get actor(): Actor {
    return this.caller;
  }

  /** Aborted when the client disconnects, its session ends or the server drains. Pass it to every wait of a stream. */
  get signal(): AbortSignal {
    return this.lifetime().signal;
  }

  get config(): Config {
    return this.services.config;
  }

  get log(): Logger {
    return this.services.log;
  }

  /** The entities, in the transaction of the mutation: for changes of one object that a user makes. */
  get em(): EntityManager {
    if (!this.transaction) throw new Error("This requires a transaction.");
    return this.transaction.em;
  }

  /** The tables: for reads, lists, and changes of many rows. Inside a mutation, in its transaction. */
  get db(): Db {
    return this.transaction?.db ?? this.services.database.db;
  }

  /** Returns the rows of a statement that is text. Inside a mutation, runs it in the transaction. */
  async rows<Row>(prepared: Statement<Row>, ...values: unknown[]): Promise<Row[]> {
    if (this.unwritten.size > 0) await this.writeNow();
    if (!this.transaction) return this.services.database.query(prepared, values);
    return run(this.transaction.em.getKysely(), prepared, values);
  }

  /** Returns the first row of a prepared statement. */
  row<Row>(prepared: Statement<Row>, ...values: unknown[]): Promise<Row | undefined> {
    return this.rows(prepared, ...values).then(first);
  }

  /** Returns the rows of SQL composed of the conditions in use. Prepares each combination once. */
  select<Row>({ text, values }: Sql): Promise<Row[]> {
    return this.rows(shaped<Row>(text), ...values);
  }

  /** Returns the count that SQL of the form `select count(*) from …` selects. */
  count(counting: Sql): Promise<number> {
    return this.select<{ count: number }>(counting).then(([row]) => row!.count);
  }

  /** Writes an audit event with the commit of the mutation. If that fails, so does the mutation. */
  audit(entry: AuditEntry): void {
    this.beforeCommit(insertAuditEvents, auditRow(this, entry));
  }

  /**
   * Passes items to `write` at the end of the mutation, before its commit: once, with all that were collected. If it fails,
   * so does the mutation.
   */
  beforeCommit<Item>(write: DeferredWrite<Item>, ...items: readonly Item[]): void {
    if (!this.transaction) throw new Error("This requires a transaction.");
    const collected = this.deferred.get(write as DeferredWrite<unknown>);
    if (collected) collected.push(...items);
    else this.deferred.set(write as DeferredWrite<unknown>, [...items]);
  }

  /** Writes rows with the commit of the mutation: all that was collected, in one statement. If it fails, so does the mutation. */
  atCommit<Row>(ending: Ending<Row>, ...rows: readonly Row[]): void {
    if (!this.transaction) throw new Error("This requires a transaction.");
    collect(this.endings, ending, rows);
  }

  /**
   * Writes rows with the commit of the mutation, or before what it reads until then, which sees them. The mutation must
   * have checked what constraints require: a violation means that it lost a race, and it is retried.
   */
  write<Row>(ending: Ending<Row>, ...rows: readonly Row[]): void {
    if (!this.transaction) throw new Error("This requires a transaction.");
    collect(this.unwritten, ending, rows);
  }

  private async writeNow(): Promise<void> {
    const written = endingOf(this.unwritten);
    this.unwritten.clear();
    await this.rows(written[0], ...written[1]).catch(throwLostRace);
  }

  /**
   * Runs `action` between the commit of the mutation and its response. Its failure is logged and fails nothing else.
   */
  afterCommit(action: () => void | Promise<void>): void {
    this.committed.push(action);
  }

  /**
   * Runs `action` between the rollback of a failed mutation and its response, in a transaction of its own: for what has
   * to be stored although the request fails. Its failure is logged and changes nothing else.
   */
  afterRollback(action: (ctx: Context) => Promise<void>): void {
    const ctx = this.afresh();
    this.failed.push(() => ctx.transactional(() => action(ctx)));
  }

  publish(...hints: Hint[]): void {
    this.afterCommit(() => this.services.events.publish(...hints));
  }

  /** Reads the value of `key`, in one batch with all keys of the same turn of the event loop. Caches it. */
  load<Key, Value>(batch: BatchRead<Key, Value>, key: Key): Promise<Value> {
    this.loaders ??= new Map();
    let loader = this.loaders.get(batch);
    if (!loader) {
      loader = new DataLoader((keys: readonly unknown[]) => batch(this, keys as readonly Key[]));
      this.loaders.set(batch, loader);
    }
    return loader.load(key) as Promise<Value>;
  }

  /** Returns a context of the same request without transaction and cached values. */
  afresh(): Context {
    return new Context(this.services, this.actor, this.request, this.lifetime);
  }

  /**
   * Reads the caller again, for this context and those made from it. Returns a context like `afresh`. Rejects with
   * UNAUTHENTICATED once the credential has ended.
   */
  async renewed(): Promise<Context> {
    this.caller = await this.services.credentials.renew(this.caller);
    return this.afresh();
  }

  /** Clears the cache of `load`. */
  private forgetLoaded(): void {
    this.loaders = undefined;
  }

  /** Runs `work` in a transaction, commits it, and runs the actions of `afterCommit`. */
  async transactional<Result>(work: () => Promise<Result>): Promise<Result> {
    const em = this.services.database.orm.em.fork();
    recordFlushes(em, (entry) => this.audit(entry));
    await em.begin();
    this.transaction = { em, db: kyselyOf(em) };
    this.deferred.clear();
    this.endings.clear();
    this.unwritten.clear();
    const result = await this.committing(em, work);
    this.transaction = undefined;
    this.forgetLoaded();
    this.failed.length = 0;
    await Promise.all(this.committed.splice(0).map((action) => this.afterwards(action)));
    return result;
  }

  private async writeDeferred(): Promise<void> {
    for (const [write, items] of this.deferred) {
      this.deferred.delete(write);
      await write(this, items);
    }
  }

  /** After a failure, the context keeps the transaction, which rejects late statements. */
  private async committing<Result>(em: EntityManager, work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      this.beginCommit();
      if (this.unwritten.size > 0) await this.writeNow();
      await em.flush();
      await this.writeDeferred();
      if (this.endings.size > 0) await run(em.getKysely(), ...endingOf(this.endings));
      await em.commit();
      return result;
    } catch (error) {
      if (this.request.fate === "commits") this.request.fate = undefined;
      this.forgetLoaded();
      this.committed.length = 0;
      await em.rollback();
      const failed = this.failed.splice(0);
      if (!(error instanceof UnknownOutcome)) await Promise.all(failed.map((action) => this.afterwards(action)));
      throw error;
    }
  }

  /**
   * From here on, the request does not time out: the response waits for the end of the commit, or of calls that have
   * timeouts of their own. Throws UNAVAILABLE if there already is a response.
   */
  beginCommit(): void {
    if (this.request.fate === "given up") throw unavailable("The request timed out.");
    this.request.fate = "commits";
  }

  private async afterwards(action: () => void | Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.log.error({ err: error, requestId: this.request.id }, "an action after the end of a transaction failed");
    }
  }
}
