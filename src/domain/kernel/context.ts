import DataLoader from "dataloader";
import type { Logger } from "pino";
import type { AgentApi } from "../../infrastructure/agent-api.js";
import type { Fetch } from "../../infrastructure/http.js";
import type { Passwords } from "../../infrastructure/passwords/passwords.js";
import type { Vault } from "../../infrastructure/vault.js";
import type { Config } from "../../runtime/config.js";
import { type AuditEntry, type AuditNumbers, auditRow, insertAuditEvents, recordFlushes } from "./audit.js";
import { type Actor, idOf, systemActor } from "./actor.js";
import { newId } from "./ids.js";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { ControlledTransaction } from "kysely";
import type { Schema } from "../../entities/schema.js";
import type { Database, Db } from "../../infrastructure/database/database.js";
import type { Standby } from "../../infrastructure/database/standby.js";
import { UnknownOutcome } from "../../infrastructure/database/unknown-outcome.js";
import { unavailable } from "./errors.js";
import type { Events, Hint } from "../../runtime/events.js";
import type { RequestDetails } from "./request.js";

/**
 * The services of the process, shared by all requests. `app.ts` creates them. Those of the infrastructure are here, those of
 * the areas in `domain/services.ts`.
 */
export interface Services {
  config: Config;
  database: Database;
  /** Serves the reads of `readOnStandby`, if it is configured. */
  standby?: Standby;
  events: Events;
  callers: Callers;
  auditNumbers: AuditNumbers;
  /** Calls URLs that users configure. */
  fetch: Fetch;
  passwords: Passwords;
  vault: Vault;
  /** Calls the programs of tasks. */
  agentApi: AgentApi;
  log: Logger;
}

/** Knows the credentials of callers. */
export interface Callers {
  /** Reads a caller again. Rejects with UNAUTHENTICATED once its credential has ended. */
  renew(actor: Actor): Promise<Actor>;
  /** The hints that the rights of a caller may have changed. */
  hintsOf(actor: Actor): readonly Hint[];
}

/** Returns a context of the server itself, for work that no request causes. */
export const systemContext = (services: Services): Context =>
  new Context(services, systemActor, { id: newId() }, () => new AbortController());

/** Writes what the verbs of a mutation collected. */
type DeferredWrite<Item> = (ctx: Context, items: readonly Item[]) => Promise<unknown>;

type BatchRead<Key, Value> = (ctx: Context, keys: readonly Key[]) => Promise<ArrayLike<Value | Error>>;

/** The transaction of a mutation. */
interface RunningTransaction {
  db: ControlledTransaction<Schema>;
  /** Made with its first use: it costs more than a small statement, and most mutations change tables only. */
  em?: EntityManager;
}

/**
 * A request: its caller, the services, and the transaction while a mutation runs. Apollo copies a context field by
 * field onto the same prototype: getters work, `#private` fields would be lost.
 */
export class Context {
  private transaction: RunningTransaction | undefined;
  /** The transaction on a standby, in a context of `readOnStandby`. */
  private onStandby: Db | undefined;
  private readonly committed: Array<() => void | Promise<void>> = [];
  private readonly failed: Array<() => Promise<void>> = [];
  private readonly deferred = new Map<DeferredWrite<unknown>, unknown[]>();
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
    return (this.transaction.em ??= this.entitiesIn(this.transaction.db));
  }

  private entitiesIn(db: ControlledTransaction<Schema>): EntityManager {
    const em = this.services.database.orm.em.fork();
    em.setTransactionContext(db.withoutPlugins());
    recordFlushes(em, (entry) => this.audit(entry));
    return em;
  }

  /** The tables: for reads, lists, and changes of many rows. Inside a mutation, in its transaction. */
  get db(): Db {
    return this.transaction?.db ?? this.onStandby ?? this.services.database.db;
  }

  /**
   * Runs a read from which nothing is decided, with a context whose `db` is that of a standby, if there is one that has all
   * that was committed before. Otherwise, or if the standby fails, it runs on the primary. Inside a mutation, it always does.
   */
  readOnStandby<Result>(read: (ctx: Context) => Promise<Result>): Promise<Result> {
    const { standby } = this.services;
    if (!standby || this.transaction) return read(this);
    const onStandby = (db: Db) => {
      const ctx = this.afresh();
      ctx.onStandby = db;
      return read(ctx);
    };
    return standby.read(onStandby, () => read(this));
  }

  /** Writes an audit event with the commit of the mutation. If that fails, so does the mutation. */
  audit(entry: AuditEntry): void {
    this.beforeCommit(insertAuditEvents, auditRow(this, entry));
    this.afterCommit(this.services.auditNumbers.soon);
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
  async renewCaller(): Promise<Context> {
    this.caller = await this.services.callers.renew(this.caller);
    return this.afresh();
  }

  /** Clears the cache of `load`. */
  private forgetLoaded(): void {
    this.loaders = undefined;
  }

  /** Runs `work` in a transaction, commits it, and runs the actions of `afterCommit`. */
  async transactional<Result>(work: () => Promise<Result>): Promise<Result> {
    const db = await this.services.database.db.startTransaction().execute();
    const transaction = (this.transaction = { db });
    this.deferred.clear();
    const result = await this.committing(transaction, work);
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
  private async committing<Result>(transaction: RunningTransaction, work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      this.beginCommit();
      await transaction.em?.flush();
      await this.writeDeferred();
      await transaction.db.commit().execute();
      return result;
    } catch (error) {
      if (this.request.fate === "commits") this.request.fate = undefined;
      this.forgetLoaded();
      this.committed.length = 0;
      await transaction.db.rollback().execute();
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
