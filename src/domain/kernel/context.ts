import DataLoader from "dataloader";
import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import { type AuditEntry, auditStatement } from "../audit/audit.js";
import type { Actor } from "./actor.js";
import type { Database, Statement, Transaction } from "./database.js";
import type { Entitlements } from "../entitlements/entitlements.js";
import type { Errands } from "./errands.js";
import { unavailable } from "./errors.js";
import type { Events, Hint } from "./events.js";
import type { RequestFacts } from "./request.js";
import type { IdentityProviders } from "../outside/identity-providers.js";
import type { Fetch } from "../outside/http.js";
import type { Passwords } from "../outside/passwords.js";
import type { Mailer } from "../outside/smtp.js";
import type { Vault } from "../outside/vault.js";
import type { RateLimits } from "../rate-limits/rate-limits.js";
import type { Credentials } from "../tokens/credentials.js";
import type { ProxyHealth } from "../workspace-proxies/health.js";

/** What the process offers to every request, wired together in `app.ts`. */
export interface Services {
  config: Config;
  database: Database;
  events: Events;
  /** Calls URLs that others chose. */
  fetch: Fetch;
  passwords: Passwords;
  vault: Vault;
  credentials: Credentials;
  limits: RateLimits;
  entitlements: Entitlements;
  identityProviders: IdentityProviders;
  /** Where a mail server is configured. */
  mailer?: Mailer;
  errands: Errands;
  proxyHealth: ProxyHealth;
  log: Logger;
}

type BatchRead<Key, Value> = (ctx: Context, keys: readonly Key[]) => Promise<ArrayLike<Value | Error>>;

const first = <Row>(rows: Row[]): Row | undefined => rows[0];

/**
 * One request: who acts, what it may use, and the transaction while a mutation runs.
 * Apollo copies it field by field onto the same prototype: getters work, `#private` fields would be lost.
 */
export class Context {
  private transaction: Transaction | undefined;
  private readonly committed: Array<() => void | Promise<void>> = [];
  private loaders: Map<unknown, DataLoader<unknown, unknown>> | undefined;

  constructor(
    readonly services: Services,
    readonly actor: Actor,
    readonly request: RequestFacts,
    private readonly lifetime: () => AbortController,
  ) {}

  /** Aborted when the caller is gone, its session ends or the server drains. Every wait of a stream takes it. */
  get signal(): AbortSignal {
    return this.lifetime().signal;
  }

  get config(): Config {
    return this.services.config;
  }

  get log(): Logger {
    return this.services.log;
  }

  /** All rows of a prepared statement. Inside a mutation it runs in the mutation's transaction. */
  rows<Row>(prepared: Statement<Row>, ...values: unknown[]): Promise<Row[]> {
    return (this.transaction ?? this.services.database).query(prepared, values);
  }

  /** The first row of a prepared statement. */
  row<Row>(prepared: Statement<Row>, ...values: unknown[]): Promise<Row | undefined> {
    return this.rows(prepared, ...values).then(first);
  }

  /** Writes an audit event in the mutation's transaction: without the event there is no mutation. */
  audit(entry: AuditEntry): void {
    if (!this.transaction) throw new Error("Audit events belong to a transaction.");
    this.transaction.beforeCommit(auditStatement(this, entry));
  }

  /**
   * Runs `action` once the mutation is committed and before its response; never if it is rolled back. Hints are sent
   * here. A failure of `action` is logged and does not fail the response.
   */
  afterCommit(action: () => void | Promise<void>): void {
    this.committed.push(action);
  }

  publish(...hints: Hint[]): void {
    this.afterCommit(() => this.services.events.publish(...hints));
  }

  /** Reads `key` together with all others asked for in this turn: one statement for a whole page. */
  load<Key, Value>(batch: BatchRead<Key, Value>, key: Key): Promise<Value> {
    this.loaders ??= new Map();
    let loader = this.loaders.get(batch);
    if (!loader) {
      loader = new DataLoader((keys: readonly unknown[]) => batch(this, keys as readonly Key[]));
      this.loaders.set(batch, loader);
    }
    return loader.load(key) as Promise<Value>;
  }

  /** The same caller with nothing remembered: for each event of a stream. */
  afresh(): Context {
    return new Context(this.services, this.actor, this.request, this.lifetime);
  }

  /** Drops what `load` has read, so that later reads see what was written since. */
  private forgetLoaded(): void {
    this.loaders = undefined;
  }

  /**
   * Runs `work` in one transaction and commits it: all of it happens or none of it. Actions of `afterCommit` run
   * before this resolves, and their failures are logged: what is committed is never reported as failed.
   */
  async transactional<Result>(work: () => Promise<Result>): Promise<Result> {
    const transaction = (this.transaction = this.services.database.transaction());
    const result = await this.committing(transaction, work);
    this.transaction = undefined;
    this.forgetLoaded();
    await Promise.all(this.committed.splice(0).map((action) => this.afterwards(action)));
    return result;
  }

  /** After a failure the context keeps the transaction, which rejects statements that come late. */
  private async committing<Result>(transaction: Transaction, work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      if (this.request.fate === "given up") throw unavailable("The request was given up.");
      this.request.fate = "commits";
      await transaction.commit();
      return result;
    } catch (error) {
      if (this.request.fate === "commits") this.request.fate = undefined;
      this.forgetLoaded();
      this.committed.length = 0;
      await transaction.rollback();
      throw error;
    }
  }

  private async afterwards(action: () => void | Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.log.error({ err: error, requestId: this.request.id }, "an action after the commit failed");
    }
  }
}
