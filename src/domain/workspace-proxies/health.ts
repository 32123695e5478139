import { cleanLabel } from "../../runtime/text.js";
import { setTimeout as sleep } from "node:timers/promises";
import { type InferResult, sql, type SqlBool } from "kysely";
import type { Logger } from "pino";
import * as z from "zod/mini";
import type { Config } from "../../runtime/config.js";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { jsonIn } from "../../runtime/json.js";
import { after, now } from "../kernel/queries.js";
import { numberOf } from "../../infrastructure/database/locks.js";
import { claimIds } from "../kernel/queue.js";
import { storable } from "../kernel/values.js";
import { type Fetch, OutsideError, outsideFetch } from "../../infrastructure/http.js";
import { mayCallInside } from "../../infrastructure/inside-addresses.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const workspaceProxies = columnsOf("workspaceProxies");

/** The result of the last health check of a proxy. */
export const ProxyStatus = {
  OK: "ok",
  UNHEALTHY: "unhealthy",
  UNREACHABLE: "unreachable",
  UNREGISTERED: "unregistered",
} as const;
export type ProxyStatus = (typeof ProxyStatus)[keyof typeof ProxyStatus];

/** The report of a proxy, or the error that prevented it. */
export interface ProxyReport {
  errors: string[];
  warnings: string[];
}

/** Proxies checked concurrently. */
const batchSize = 5;

/** Milliseconds between attempts while another replica is checking. */
const retryInterval = 200;

/** Maximum size of a report, in bytes. */
const maxReportSize = 64 * 1024;

export interface ProxyHealthOptions {
  config: Config;
  database: Pick<Database, "db">;
  log: Logger;
}

/** Claims proxies whose check is due: the next one is due after an interval. */
const claiming = (db: Db, interval: number) =>
  db
    .updateTable("workspaceProxies")
    .set({ checkDueAt: after(interval) })
    .where(
      "id",
      "=",
      claimIds(
        db
          .selectFrom("workspaceProxies")
          .select("id")
          .where("deletedAt", "is", null)
          .where(sql<SqlBool>`${workspaceProxies.checkDueAt} <= now()`)
          .orderBy("checkDueAt"),
        batchSize,
      ),
    )
    .returning(["id", "accessUrl", "registration"]);

type Registered = InferResult<ReturnType<typeof claiming>>[number];

/**
 * Checks the health of proxies when they are due, in small batches. Only one replica checks at a time; the others retry
 * when the next proxy is due, in case that replica has stopped.
 */
export class ProxyHealth {
  readonly #fetch: Fetch;
  readonly #interval: number;
  readonly #db: Db;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #isWanted = false;
  #working: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ config, database, log }: ProxyHealthOptions) {
    const rules = { allowsLoopback: config.proxyHealthAllowLoopback, only: config.proxyHealthAllowedCidrs };
    const permits = (address: string) => mayCallInside(address, rules);
    const { outboundProxy: proxy, proxyHealthTimeout: timeout } = config;
    this.#fetch = outsideFetch({ proxy, permits, timeout, bodyLimit: maxReportSize });
    this.#interval = config.proxyHealthInterval;
    this.#db = database.db;
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
      const { due } = await this.#db
        .selectFrom("workspaceProxies")
        .select(sql<number | null>`1000 * extract(epoch from min(${workspaceProxies.checkDueAt}) - now())`.as("due"))
        .where("deletedAt", "is", null)
        .executeTakeFirstOrThrow();
      const milliseconds = due ?? this.#interval;
      if (milliseconds > 0) return Math.min(milliseconds, this.#interval);
      if (!(await this.#inTurn(() => this.#checkAll()))) await this.#pause();
    }
    return this.#interval;
  }

  #pause = () => sleep(retryInterval, undefined, { signal: this.#stopping.signal }).catch(() => {});

  /** Runs `work` under the lock. Returns false if another replica holds it. A replica that dies loses it. */
  async #inTurn(work: () => Promise<void>): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      const lock = sql<boolean>`pg_try_advisory_xact_lock(${sql.raw(numberOf("proxy_health"))})`.as("isOurs");
      const { isOurs } = await transaction.selectNoFrom(lock).executeTakeFirstOrThrow();
      if (isOurs) await work();
      return isOurs;
    });
  }

  async #checkAll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const batch = await claiming(this.#db, this.#interval).execute();
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
    // Discards a result if the proxy was deleted or registered again in the meantime.
    await this.#db
      .updateTable("workspaceProxies")
      .set({ status, ...report, checkedAt: now })
      .where("id", "=", id)
      .where("registration", "=", registration)
      .where("deletedAt", "is", null)
      .execute();
  }
}

interface Diagnosis {
  status: ProxyStatus;
  report: ProxyReport;
}

const failWith = (status: ProxyStatus, error: string): Diagnosis => ({
  status,
  report: { errors: [error], warnings: [] },
});

/**
 * Checks the health of a proxy by its `/healthz-report`. `fetch` limits the duration, the response size, and the
 * addresses that may be called. Redirects are not followed, so that only the registered host is called.
 */
async function diagnose(fetch: Fetch, accessUrl: string, signal: AbortSignal): Promise<Diagnosis> {
  try {
    const response = await fetch(`${accessUrl}/healthz-report`, { redirect: "manual", signal });
    if (response.status !== 200) return failWith("unhealthy", `unexpected status code ${response.status}`);
    const report = reportOf(await response.text());
    if (!report) return failWith("unhealthy", "the response is not a report");
    return { status: report.errors.length > 0 ? "unhealthy" : "ok", report };
  } catch (error) {
    if (!(error instanceof OutsideError)) throw error;
    if (error.reason === "too_large") return failWith("unhealthy", "the report is too long");
    return failWith("unreachable", `request to proxy failed: ${kindOf(error)}`);
  }
}

/** Lines of a report that are stored, and characters per line. */
const maxLines = 20;
const maxLineLength = 512;

const lines = z.pipe(
  z.array(storable),
  z.transform((all) => all.slice(0, maxLines).map((line) => cleanLabel(line, maxLineLength))),
);
const proxyReport = z.object({ errors: lines, warnings: lines });

const reportOf = (text: string): ProxyReport | undefined => z.safeParse(proxyReport, jsonIn(text)).data;

const nameErrors = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "ENODATA", "ESERVFAIL"]);
const tlsErrors = /TLS|SSL|CERT|SIGNATURE|^EPROTO$/;

/** The kind of failure, without internal names and addresses, since all users may read it. */
function kindOf({ reason, cause }: OutsideError): string {
  if (reason === "timeout") return "timeout";
  if (reason === "refused") return "address refused";
  const { code = "" } = (cause ?? {}) as { code?: string };
  if (nameErrors.has(code)) return "name not found";
  return tlsErrors.test(code) ? "TLS failed" : "connection failed";
}
