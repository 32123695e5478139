import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import { run } from "../../infrastructure/database/database.js";
import { type Database, statement } from "../kernel/database.js";
import { numberOf } from "../kernel/locks.js";
import { type Fetch, outsideFetch } from "../outside/http.js";
import { mayCallInside } from "../outside/inside-addresses.js";
import { diagnose } from "./diagnosis.js";

/** Proxies checked concurrently. */
const batchSize = 5;

/** Milliseconds between attempts while another replica is checking. */
const retryInterval = 200;

/** Maximum size of a report, in bytes. */
const maxReportSize = 64 * 1024;

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
  `select pg_try_advisory_xact_lock(${numberOf("proxy_health")}) as "isOurs"`,
);

const claim = statement<Registered>(`
  update workspace_proxies set check_due_at = now() + $1 * interval '1 millisecond'
  where id in (
    select id from workspace_proxies where deleted_at is null and check_due_at <= now()
    order by check_due_at limit ${batchSize} for no key update skip locked
  )
  returning id, access_url as "accessUrl", registration`);

// Discards a result if the proxy was deleted or registered again in the meantime.
const store = statement(`
  update workspace_proxies set status = $3, errors = $4, warnings = $5, checked_at = now()
  where id = $1 and registration = $2 and deleted_at is null`);

/**
 * Checks the health of proxies when they are due, in small batches. Only one replica checks at a time; the others retry
 * when the next proxy is due, in case that replica has stopped.
 */
export class ProxyHealth {
  readonly #fetch: Fetch;
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
    this.#fetch = outsideFetch({ permits, timeout: config.proxyHealthTimeout, bodyLimit: maxReportSize });
    this.#interval = config.proxyHealthInterval;
    this.#database = database;
    this.#log = log;
  }

  /** Starts a check of due proxies in the background, unless another replica is checking. */
  soon(): void {
    this.#isWanted = true;
    this.#working ??= this.#work().catch((error: unknown) =>
      this.#log.error({ err: error }, "Proxies could not be checked; the check is retried later."),
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

  /** Checks due proxies. Returns the milliseconds until the next one is due. */
  async #checkDue(): Promise<number> {
    while (!this.#stopping.signal.aborted) {
      const [next] = await this.#database.query(wait, []);
      const milliseconds = next?.milliseconds ?? this.#interval;
      if (milliseconds > 0) return Math.min(milliseconds, this.#interval);
      if (!(await this.#inTurn(() => this.#checkAll()))) await this.#pause();
    }
    return this.#interval;
  }

  #pause = () => sleep(retryInterval, undefined, { signal: this.#stopping.signal }).catch(() => {});

  /** Runs `work` under the lock. Returns false if another replica holds it. A replica that dies loses it. */
  async #inTurn(work: () => Promise<void>): Promise<boolean> {
    return this.#database.db.transaction().execute(async (transaction) => {
      const [taken] = await run(transaction, takeTurn, []);
      if (taken?.isOurs) await work();
      return taken?.isOurs === true;
    });
  }

  async #checkAll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const batch = await this.#database.query(claim, [this.#interval]);
      if (batch.length === 0) return;
      await Promise.all(batch.map((proxy) => this.#check(proxy)));
    }
  }

  async #check({ id, accessUrl, registration }: Registered): Promise<void> {
    const diagnosis = await diagnose(this.#fetch, accessUrl, this.#stopping.signal).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) throw error;
    });
    if (!diagnosis) return;
    const { status, report } = diagnosis;
    await this.#database.query(store, [id, registration, status, report.errors, report.warnings]);
  }
}
