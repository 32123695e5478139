// The queue of deliveries (`kernel/queue`). Each endpoint has attempts of its own, so that one which is down or slow delays no
// other; while it fails, it has a single one. Events of an endpoint do not wait for each other: receivers order them by their
// sequence.
import { type InferResult, sql, type SqlBool } from "kysely";
import type { StoredAttempt } from "../../entities/event-endpoints.js";
import { endpointLengths } from "../../entities/event-endpoints.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { type Fetch, OutsideError, outsideFetch } from "../../infrastructure/http.js";
import { retryAfterIn } from "../../infrastructure/retry-after.js";
import { signatureOf } from "../../infrastructure/webhook-signatures.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { hour, second } from "../../runtime/durations.js";
import type { Subscription } from "../../runtime/events.js";
import { cleanLabel } from "../../runtime/text.js";
import { type StoredEvent, storedEvents } from "../audit/audit-log.js";
import { endpointSecrets } from "../encryption/columns.js";
import { hasFeature } from "../entitlements/requirements.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { after, anyOf } from "../kernel/queries.js";
import { type Attempt, backOff, type Queue, Worker } from "../kernel/queue.js";
import { triedFor } from "./endpoint-changes.js";
import { disableEndpoint } from "./disabled-endpoints.js";
import { withAttendedMakers, unattendedOf } from "./endpoint-makers.js";
import { bodyOf, testBody } from "./event-bodies.js";
import { endpointsHint } from "./event-endpoints.js";
import { type StoredNotifiedEvent, storedNotifiedEvents } from "../notifications/notified-events.js";
import { isNotified, testType } from "./event-types.js";

const e = columnsOf("eventEndpoints", "e");
const d = columnsOf("eventDeliveries", "d");
const l = columnsOf("eventDeliveries", "l");

/** Maximum number of attempts of a server at a time, in addition to slow ones. Twenty endpoints that hang leave more than half of it. */
const concurrency = 400;

/** Maximum number of attempts at an endpoint at a time, of all servers together. */
const perEndpoint = 8;

/** After so many failures without a success, an endpoint has one attempt a second. */
const failingFrom = 5;

/** Milliseconds that an endpoint has to respond. */
const timeout = 10 * second;

/** Milliseconds after which an attempt is lost, with its server. */
const lease = 3 * timeout;

/** Milliseconds after which ended attempts make room for others, together: reading the queue for each would cost more than it. */
const roomDelay = 15;

/** Milliseconds between two notes that an endpoint delivers. */
const noteInterval = 5 * second;

/** Milliseconds after which the queue is read again without a hint. */
const interval = 2 * second;

const delays = { first: 5 * second, most: 6 * hour };

/** Maximum size of a response in bytes, of which the log has the beginning. */
const largestResponse = 64 * 1024;

/** Maximum number of attempts of a delivery that are kept. */
const mostLogged = 20;

/** The deliveries that are due, up to as many of each endpoint as it may have at a time. */
const due = (most: number) => {
  const free = sql<number>`
    case when ${e.failures} = 0 then ${sql.lit(perEndpoint)}
      when ${e.failures} >= ${sql.lit(failingFrom)} and ${e.failedAt} > now() - interval '1 second' then 0
      else 1 end - (
        select count(*) from event_deliveries l
        where ${l.endpointId} = e.id and l.state = 'leased' and ${l.nextAttemptAt} > now())`;
  return sql<string>`any(array(
    select due.id from event_endpoints e cross join lateral (
      select own.id, own.at, row_number() over (order by own.at, own.id) as turn from (
        select d.id, ${d.nextAttemptAt} as at from event_deliveries d
        where ${d.endpointId} = e.id and d.state in ('pending', 'leased') and ${d.nextAttemptAt} <= now()
        order by ${d.nextAttemptAt}, d.id
        limit greatest(${free}, 0)
        for no key update skip locked
      ) own
    ) due
    where e.state = 'active'
    order by due.turn, due.at, due.id
    limit ${sql.lit(most)}))`;
};

/** Leases deliveries, with what they need of their endpoints. */
const leasing = (db: Db, most: number) =>
  db
    .updateTable("eventDeliveries as d")
    .from("eventEndpoints as e")
    .whereRef("e.id", "=", "d.endpointId")
    .where("d.id", "=", due(most))
    .set((eb) => ({
      state: "leased",
      attempts: eb("d.attempts", "+", 1),
      leaseToken: newId(),
      nextAttemptAt: after(lease),
    }))
    .returning([
      "d.id",
      "d.leaseToken",
      "d.endpointId",
      "d.eventId",
      "d.number",
      "d.type",
      "d.attempts",
      "d.failures",
      "d.expiresAt",
      "e.failures as endpointFailures",
      "e.deliveredAt as endpointDeliveredAt",
      "e.url",
      "e.name",
      "e.isThin",
      "e.organizationId",
      "e.makerId",
    ]);

type Leased = InferResult<ReturnType<typeof leasing>>[number];

/** A delivery, with what is sent. */
interface Item extends Leased {
  /** Undefined if the event is no longer in the log. */
  body: string | undefined;
  secrets: string[];
  /** Whether nothing may be sent: its maker lost the right. */
  isHeld: boolean;
}

/** How an attempt ended. */
interface Result {
  outcome: "delivered" | "retryable" | "failed" | "gone" | "held";
  status: number | null;
  excerpt: string;
  failure: string | null;
  /** Milliseconds, if the receiver named a time. */
  retryAfter?: number;
}

const settledAs = { delivered: "delivered", failed: "failed", gone: "failed", held: "pending" } as const;

/** Whether the endpoint of an attempt has to be noted: a success after a success is noted seldom. */
function isNews({ item, result: { outcome } }: Attempt<Item, Result>): boolean {
  const { endpointFailures, endpointDeliveredAt } = item;
  if (outcome !== "delivered" || endpointFailures > 0 || endpointDeliveredAt === null) return true;
  return databaseTime() - instantOf(endpointDeliveredAt) > noteInterval;
}

class DeliveryQueue implements Queue<Item, Result> {
  #room: NodeJS.Timeout | undefined;
  /** The endpoints whose last attempts by this server failed. */
  readonly #failing = new Set<string>();

  constructor(
    private readonly services: Services,
    private readonly wake: () => void,
  ) {}

  async lease(most: number): Promise<Item[]> {
    const ctx = systemContext(this.services);
    const leased = await leasing(ctx.db, most).execute();
    if (leased.length === 0) return [];
    const endpoints = [
      ...new Map(leased.map((row) => [row.endpointId, { ...row, id: row.endpointId }] as const)).values(),
    ];
    const lost = await unattendedOf(ctx, endpoints);
    if (lost.size > 0) await ctx.transactional(() => withAttendedMakers(ctx, endpoints));
    const [bodies, secrets] = await Promise.all([this.#bodies(ctx, leased), this.#secrets(ctx, endpoints)]);
    return leased.map((row, index) => ({
      ...row,
      body: bodies[index],
      secrets: secrets.get(row.endpointId) ?? [],
      isHeld: lost.has(row.endpointId),
    }));
  }

  async #bodies(ctx: Context, leased: readonly Leased[]): Promise<Array<string | undefined>> {
    const [fromLog, fromNotifications] = [false, true].map((wanted) => [
      ...new Set(
        leased.flatMap(({ type, eventId }) => (type !== testType && isNotified(type) === wanted ? eventId : [])),
      ),
    ]) as [string[], string[]];
    const events = new Map<string, StoredEvent | StoredNotifiedEvent>([
      ...(fromLog.length > 0 ? await storedEvents(ctx.db, fromLog) : []),
      ...(fromNotifications.length > 0 ? await storedNotifiedEvents(ctx.db, fromNotifications) : []),
    ]);
    return leased.map(({ type, endpointId, eventId, number, isThin, organizationId, ...endpoint }) => {
      if (type === testType) return testBody({ ...endpoint, id: endpointId, organizationId });
      const event = events.get(eventId);
      return event && event.organizationId === organizationId ? bodyOf(event, { number, isThin }) : undefined;
    });
  }

  async #secrets(ctx: Context, endpoints: ReadonlyArray<{ id: string }>): Promise<Map<string, string[]>> {
    const rows = await ctx.db
      .selectFrom("eventEndpointSecrets")
      .select(["id", "endpointId", "keyId", "secretNonce as nonce", "secretCiphertext as ciphertext"])
      .where("endpointId", "=", anyOf(endpoints.map(({ id }) => id)))
      // The newest signs first.
      .orderBy("id", "desc")
      .execute();
    const opened = rows.flatMap(({ id, endpointId, ...sealed }) => {
      try {
        return {
          endpointId,
          text: ctx.services.vault.open(endpointSecrets.place({ id, ownerId: endpointId }), sealed),
        };
      } catch (error) {
        // Others go on.
        ctx.log.warn({ err: error, endpointId }, "A secret of an event endpoint cannot be decrypted.");
        return [];
      }
    });
    return new Map(
      Array.from(
        Map.groupBy(opened, ({ endpointId }) => endpointId),
        ([id, all]) => [id, all.map(({ text }) => text)],
      ),
    );
  }

  /** Stores results, the log of attempts, and how the endpoints are. */
  async settle(attempts: ReadonlyArray<Attempt<Item, Result>>): Promise<void> {
    const at = databaseTime();
    const rows = attempts.map(({ item, result, duration }) => {
      const { outcome, status, excerpt, failure } = result;
      const isLast = outcome === "retryable" && instantOf(item.expiresAt) <= at;
      const entry: StoredAttempt = {
        time: new Date(at - duration).toISOString(),
        duration: Math.round(duration),
        status,
        excerpt,
        failure,
      };
      return {
        id: item.id,
        token: item.leaseToken,
        state: outcome === "retryable" ? (isLast ? "failed" : "pending") : settledAs[outcome],
        delay: outcome === "retryable" ? delayAfter(item, result, at) / 1000 : 0,
        counted: outcome === "held" ? 0 : 1,
        failed: outcome === "retryable" || outcome === "gone" ? 1 : 0,
        entry: outcome === "held" ? null : entry,
      };
    });
    const results = sql<(typeof rows)[number]>`json_to_recordset(${JSON.stringify(rows)})`.as<"r">(
      sql`r (id uuid, token uuid, state text, delay float8, counted int, failed int, entry jsonb)`,
    );
    await this.services.database.db
      // In the order of their ids, as the deletion of an endpoint locks them.
      .with("r", (query) =>
        query
          .selectFrom("eventDeliveries as l")
          .innerJoin(results, (join) => join.onRef("l.id", "=", "r.id").onRef("l.leaseToken", "=", "r.token"))
          .select(["r.id", "r.state", "r.delay", "r.counted", "r.failed", "r.entry"])
          .orderBy("l.id")
          .forNoKeyUpdate("l"),
      )
      .updateTable("eventDeliveries as d")
      .from("r")
      .whereRef("d.id", "=", "r.id")
      .set((eb) => ({
        state: eb.ref("r.state") as never,
        attempts: sql<number>`d.attempts - 1 + r.counted`,
        failures: sql<number>`d.failures + r.failed`,
        leaseToken: null,
        nextAttemptAt: sql<string>`now() + make_interval(secs => r.delay)`,
        finishedAt: sql<string | null>`case when r.state <> 'pending' then now() end`,
        log: sql<never>`case when r.entry is null then d.log
          when jsonb_array_length(d.log) >= ${sql.lit(mostLogged)} then (d.log - 0) || r.entry
          else d.log || r.entry end`,
      }))
      .execute();
    await this.#noteEndpoints(attempts);
    if (this.#room) return;
    this.#room = setTimeout(() => {
      this.#room = undefined;
      this.wake();
    }, roomDelay).unref();
  }

  /** Notes how endpoints are, and disables those that only failed for long, or that are gone. */
  async #noteEndpoints(attempts: ReadonlyArray<Attempt<Item, Result>>): Promise<void> {
    const said = attempts.filter(({ result: { outcome } }) => outcome !== "held" && outcome !== "failed");
    const byEndpoint = Map.groupBy(said, ({ item }) => item.endpointId);
    const news = Array.from(byEndpoint).filter(([id, all]) => this.#failing.has(id) || all.some(isNews));
    const reports = news
      .map(([id, all]) => {
        const failures = all.filter(({ result }) => result.outcome !== "delivered");
        return {
          id,
          failed: failures.length === all.length ? failures.length : 0,
          failure: failures.at(-1)?.result.failure ?? "",
        };
      })
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    if (reports.length === 0) return;
    for (const { id, failed } of reports)
      if (failed > 0) this.#failing.add(id);
      else this.#failing.delete(id);
    const noted = sql<(typeof reports)[number]>`json_to_recordset(${JSON.stringify(reports)})`.as<"r">(
      sql`r (id uuid, failed int, failure text)`,
    );
    const isFailure = sql<SqlBool>`r.failed > 0`;
    const { db } = this.services.database;
    const updated = await db
      .with("locked", (query) =>
        query
          .selectFrom("eventEndpoints as e")
          .innerJoin(noted, "r.id", "e.id")
          .select(["e.id", "r.failed", "r.failure"])
          .orderBy("e.id")
          .forNoKeyUpdate("e"),
      )
      .updateTable("eventEndpoints as e")
      .from("locked as r")
      .whereRef("e.id", "=", "r.id")
      .set({
        failures: sql<number>`case when ${isFailure} then ${e.failures} + r.failed else 0 end`,
        failingSince: sql<string | null>`case when ${isFailure} then coalesce(${e.failingSince}, now()) end`,
        failedAt: sql<string | null>`case when ${isFailure} then now() else ${e.failedAt} end`,
        lastFailure: sql<string>`case when ${isFailure} then r.failure else '' end`,
        deliveredAt: sql<string | null>`case when ${isFailure} then ${e.deliveredAt} else now() end`,
      })
      .returning(["e.id", "e.failingSince"])
      .execute();
    const gone = new Set(attempts.flatMap(({ item, result }) => (result.outcome === "gone" ? item.endpointId : [])));
    const since = databaseTime() - triedFor;
    for (const { id, failingSince } of updated)
      if (gone.has(id) || (failingSince !== null && instantOf(failingSince) <= since))
        await disableEndpoint(this.services, id);
  }
}

/** The jitter spreads events that failed together. The last attempt is made when the event expires. */
function delayAfter({ failures, expiresAt }: Item, { retryAfter = 0 }: Result, at: number): number {
  const delay = Math.max(backOff(failures, delays) * (0.5 + Math.random() / 2), Math.min(retryAfter, delays.most));
  return Math.max(second, Math.min(delay, instantOf(expiresAt) - at));
}

/** Delivers events. One for each server, all of which share the work. */
export class EventDeliveries {
  readonly #worker: Worker<Item, Result>;
  readonly #fetch: Fetch;
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {
    const { config, log } = services;
    this.#fetch = outsideFetch({
      proxy: config.outboundProxy,
      allow: config.outboundAllow,
      timeout,
      bodyLimit: largestResponse,
      keepsConnections: 2 * second,
    });
    this.#worker = new Worker({
      queue: new DeliveryQueue(services, () => this.#worker.wake()),
      attempt: (item, signal) => this.#attempt(item, signal),
      isAble: () => hasFeature({ services }, "audit_log"),
      concurrency,
      interval,
      timeout: 2 * timeout,
      log,
    });
  }

  start(): void {
    const { topic, id } = endpointsHint;
    this.#hints = this.services.events.subscribe(topic, id, this.#worker.wake);
    this.#worker.start();
  }

  async close(): Promise<void> {
    this.#hints?.close();
    await this.#worker.close();
  }

  /** Never rejects. */
  async #attempt({ url, eventId, body, secrets, isHeld }: Item, signal: AbortSignal): Promise<Result> {
    const nothing = { status: null, excerpt: "", failure: null };
    if (isHeld) return { ...nothing, outcome: "held" };
    if (body === undefined) return { ...nothing, outcome: "failed", failure: "The event is kept no longer." };
    if (secrets.length === 0) return { ...nothing, outcome: "retryable", failure: "Its secrets cannot be decrypted." };
    try {
      const response = await this.#fetch(url, {
        method: "POST",
        redirect: "manual",
        signal,
        headers: {
          "Content-Type": "application/json",
          "User-Agent": "Steward",
          ...signatureOf(eventId, body, new Date(databaseTime()), secrets),
        },
        body,
      });
      const { status, ok, headers } = response;
      const excerpt = cleanLabel(await response.text(), endpointLengths.excerpt);
      if (ok) return { outcome: "delivered", status, excerpt, failure: null };
      const failure =
        status >= 300 && status < 400
          ? `It responded with a redirect, status ${status}, which is not followed.`
          : `It responded with status ${status}.`;
      const retryAfter = retryAfterIn(headers);
      return { outcome: status === 410 ? "gone" : "retryable", status, excerpt, failure, retryAfter };
    } catch (error) {
      // The process ends: another one attempts it.
      if (signal.aborted) return { ...nothing, outcome: "held" };
      return { ...nothing, outcome: "retryable", failure: failureOf(error) };
    }
  }
}

const nameErrors = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "ENODATA", "ESERVFAIL"]);
const tlsErrors = /TLS|SSL|CERT|SIGNATURE|^EPROTO$/;

/** Why there was no response, without addresses of the network of the server, which administrators need not know. */
function failureOf(error: unknown): string {
  if (!(error instanceof OutsideError)) return "The attempt failed.";
  switch (error.reason) {
    case "timeout":
      return `It did not respond within ${timeout / second} seconds.`;
    case "refused":
      return "Its address may not be called.";
    case "too_large":
      return `Its response is larger than ${largestResponse / 1024} KiB.`;
    default: {
      const { code = "" } = (error.cause ?? {}) as { code?: string };
      if (nameErrors.has(code)) return "Its name was not found.";
      return tlsErrors.test(code) ? "TLS failed." : "The connection failed.";
    }
  }
}
