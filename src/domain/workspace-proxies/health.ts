import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import { type Database, statement } from "../kernel/database.js";
import { type Fetch, outsideFetch } from "../outside/http.js";
import { mayCallInside } from "../outside/inside-addresses.js";
import { diagnose } from "./diagnosis.js";

/** Proxies that are asked at once. */
const atOnce = 5;

/** Milliseconds until somebody who found another replica at it looks again. */
const patience = 200;

/** Bytes of a report. */
const longestReport = 64 * 1024;

export interface ProxyHealthOptions {
  config: Config;
  database: Database;
  log: Logger;
}

interface Registered {
  id: string;
  accessUrl: string;
  registration: number;
}

const wait = statement<{ milliseconds: number | null }>(`
  select 1000 * extract(epoch from min(check_due_at) - now()) as milliseconds from workspace_proxies
  where deleted_at is null`);

const takeTurn = statement<{ isOurs: boolean }>(
  `select pg_try_advisory_xact_lock(hashtext('steward.proxy_health')) as "isOurs"`,
);

const claim = statement<Registered>(`
  update workspace_proxies set check_due_at = now() + $1 * interval '1 millisecond'
  where id in (
    select id from workspace_proxies where deleted_at is null and check_due_at <= now()
    order by check_due_at limit ${atOnce} for no key update skip locked
  )
  returning id, access_url as "accessUrl", registration`);

// What was found out about a proxy that was deleted or has registered again meanwhile does not count.
const store = statement(`
  update workspace_proxies set status = $3, errors = $4, warnings = $5, checked_at = now()
  where id = $1 and registration = $2 and deleted_at is null`);

/**
 * Asks proxies how they are: each when it is due, a few at once, and of all replicas one at a time. The others look
 * again when the next proxy is due, so that somebody does it whoever goes away.
 */
export class ProxyHealth {
  readonly #ask: Fetch;
  readonly #interval: number;
  readonly #database: Database;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #isWanted = false;
  #working: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ config, database, log }: ProxyHealthOptions) {
    const rules = { loopback: config.proxyHealthAllowLoopback, only: config.proxyHealthAllowedCidrs };
    const permits = (address: string) => mayCallInside(address, rules);
    this.#ask = outsideFetch({ permits, timeout: config.proxyHealthTimeout, bodyLimit: longestReport });
    this.#interval = config.proxyHealthInterval;
    this.#database = database;
    this.#log = log;
  }

  /** Checks all that is due, unless another replica does; nobody waits for it. */
  soon(): void {
    this.#isWanted = true;
    this.#working ??= this.#work().catch((error: unknown) =>
      this.#log.error({ err: error }, "Proxies could not be checked; they are later."),
    );
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#working;
  }

  async #work(): Promise<void> {
    try {
      let due = 0;
      while (this.#isWanted && !this.#stopping.signal.aborted) {
        this.#isWanted = false;
        due = await this.#checkDue();
      }
      clearTimeout(this.#timer);
      if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => this.soon(), due).unref();
    } finally {
      this.#working = undefined;
    }
  }

  /** Gives the milliseconds until there is something to do again. */
  async #checkDue(): Promise<number> {
    while (!this.#stopping.signal.aborted) {
      const [next] = await this.#database.query(wait, []);
      const milliseconds = next?.milliseconds ?? this.#interval;
      if (milliseconds > 0) return Math.min(milliseconds, this.#interval);
      if (!(await this.#inTurn(() => this.#checkAll()))) await this.#pause();
    }
    return this.#interval;
  }

  #pause = () => sleep(patience, undefined, { signal: this.#stopping.signal }).catch(() => {});

  /** Does the work while no other replica does; false if one does. A replica that dies gives its turn back. */
  async #inTurn(work: () => Promise<void>): Promise<boolean> {
    const turn = this.#database.transaction();
    try {
      const [taken] = await turn.query(takeTurn, []);
      if (taken?.isOurs) await work();
      return taken?.isOurs === true;
    } finally {
      await turn.rollback();
    }
  }

  async #checkAll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const batch = await this.#database.query(claim, [this.#interval]);
      if (batch.length === 0) return;
      await Promise.all(batch.map((proxy) => this.#check(proxy)));
    }
  }

  async #check({ id, accessUrl, registration }: Registered): Promise<void> {
    const diagnosis = await diagnose(this.#ask, accessUrl, this.#stopping.signal).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) throw error;
    });
    if (!diagnosis) return;
    const { status, report } = diagnosis;
    await this.#database.query(store, [id, registration, status, report.errors, report.warnings]);
  }
}
