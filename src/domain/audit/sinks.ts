// Where the server itself delivers the audit log: a file, and a collector of logs. Each has a position in the table, which
// moves once what is before it was accepted. One server at a time delivers to each, while its lease lasts.
import { hostname } from "node:os";
import { sql } from "kysely";
import { appendLines } from "../../infrastructure/lines-file.js";
import { type LogRecord, otlpLogs } from "../../infrastructure/otlp-logs.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { cleanLabel } from "../../runtime/text.js";
import { instantOf } from "../../runtime/clock.js";
import { minute } from "../../runtime/durations.js";
import type { Subscription } from "../../runtime/events.js";
import { PacedRuns } from "../../runtime/paced-runs.js";
import { authorize } from "../authorization/authorization.js";
import type { Context, Services } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { backOff } from "../kernel/queue.js";
import { after, now } from "../kernel/queries.js";
import { type StoredEvent, storedEvents } from "./audit-log.js";
import { numbersAbove, numbersHint } from "./numbering.js";

const s = columnsOf("auditSinks");

/** An event that is delivered. */
interface Delivered {
  number: number;
  event: StoredEvent;
}

/** A place that the audit log is delivered to. */
interface Sink {
  /** Unique among all that servers of the deployment deliver to. */
  name: string;
  /** Throws unless the events were accepted. To be given the same events again does no harm. */
  deliver(events: readonly Delivered[], signal: AbortSignal): Promise<void>;
}

/** Maximum number of events that are delivered at a time. */
const batchSize = 200;

/** Milliseconds for which a server keeps a sink: longer than a delivery takes. */
const lease = minute;

/** Milliseconds after which a server looks for events without a hint, and whether another one has given up a sink. */
const interval = 10_000;

const delays = { first: 1_000, most: minute };

/** The names of fields in lines, as the REST interface has them. */
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** An event as a line of JSON: what the stream of the REST interface has. */
function lineOf({ number, event: { actorEmail: _email, ...event } }: Delivered): string {
  const fields = Object.entries(event).filter(([, value]) => value != null);
  return JSON.stringify({ number, event: Object.fromEntries(fields.map(([name, value]) => [snakeCase(name), value])) });
}

const fileSink = (path: string): Sink => ({
  name: `file ${path} on ${hostname()}`.slice(0, 300),
  deliver: (events) => appendLines(path, events.map(lineOf)),
});

/** Actions that the operator of a collector may want to see at a glance. */
const warnings = new Set(["login_failed", "deny"]);

const recordOf = (delivered: Delivered): LogRecord => {
  const { number, event } = delivered;
  return {
    time: instantOf(event.time),
    severity: warnings.has(event.action) ? "WARN" : "INFO",
    eventName: `steward.${event.resourceType}.${event.action}`,
    body: lineOf(delivered),
    attributes: {
      "steward.audit.number": number,
      "steward.audit.id": event.id,
      "steward.actor.kind": event.actorKind,
      "steward.resource.type": event.resourceType,
      "steward.resource.id": event.resourceId,
      "steward.organization.id": event.organizationId,
      "steward.request.id": event.requestId,
      "enduser.id": event.actorId,
      "client.address": event.ip,
    },
  };
};

function otlpSink(url: string, { config }: Pick<Services, "config">): Sink {
  const send = otlpLogs(url, { headers: config.auditOtlpHeaders ?? {}, proxy: config.outboundProxy });
  return {
    name: `otlp ${url}`.slice(0, 300),
    deliver: (events, signal) => send(events.map(recordOf), signal),
  };
}

/** Delivers the audit log to what the settings name. */
export class AuditSinks {
  readonly #deliveries: Delivery[];

  constructor(services: Services) {
    const { auditFile, auditOtlpUrl } = services.config;
    this.#deliveries = [
      ...(auditFile === undefined ? [] : [fileSink(auditFile)]),
      ...(auditOtlpUrl === undefined ? [] : [otlpSink(auditOtlpUrl, services)]),
    ].map((sink) => new Delivery(services, sink));
  }

  start(): void {
    for (const delivery of this.#deliveries) delivery.start();
  }

  async close(): Promise<void> {
    await Promise.all(this.#deliveries.map((delivery) => delivery.close()));
  }
}

/** The deliveries of this server to a sink. */
class Delivery {
  readonly #runs = new PacedRuns({ run: () => this.#run(), pause: 0, interval });
  readonly #token = newId();
  readonly #stopping = new AbortController();
  #hints: Subscription | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(
    private readonly services: Services,
    private readonly sink: Sink,
  ) {}

  start(): void {
    this.#hints = this.services.events.subscribe(numbersHint.topic, numbersHint.id, this.#runs.soon);
    this.#runs.start();
  }

  /** Ends the delivery in progress, and lets another server go on. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#hints?.close();
    clearTimeout(this.#retry);
    await this.#runs.close();
    const { db } = this.services.database;
    const giveUp = db.updateTable("auditSinks").set({ leaseToken: null, leasedUntil: now });
    await giveUp
      .where("leaseToken", "=", this.#token)
      .execute()
      .catch(() => {});
  }

  /** Delivers what there is, unless it waits after a failure. Never rejects. */
  async #run(): Promise<void> {
    if (this.#retry) return;
    await this.#deliver();
    if (this.#failures === 0) return;
    const wait = backOff(this.#failures - 1, delays) * (0.5 + Math.random() / 2);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#runs.soon();
    }, wait).unref();
  }

  /** Delivers all that has a number. Never rejects. */
  async #deliver(): Promise<void> {
    const { database, log } = this.services;
    const { signal } = this.#stopping;
    try {
      let position = await this.#takeLease(database.db);
      while (position !== undefined && !signal.aborted) {
        const numbers = await numbersAbove(database, position, batchSize);
        if (numbers.length === 0) break;
        const events = await storedEvents(
          database.db,
          numbers.map(({ eventId }) => eventId),
        );
        const found = numbers.flatMap(({ number, eventId }) => {
          const event = events.get(eventId);
          return event ? [{ number, event }] : [];
        });
        if (found.length > 0) await this.sink.deliver(found, signal);
        position = await this.#advance(database.db, numbers.at(-1)!.number);
      }
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      this.#failures++;
      if (this.#failures === 1)
        log.warn({ err: error, sink: this.sink.name }, "Audit events could not be delivered. It is tried again.");
      await this.#noteFailure(database.db, error as Error).catch(() => {});
    }
  }

  /** Takes or keeps the lease. Returns the position; `undefined` if another server has it. */
  async #takeLease(db: Db): Promise<number | undefined> {
    const row = { name: this.sink.name, position: 0, leasedUntil: now, lastFailure: "" };
    await db
      .insertInto("auditSinks")
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const taken = await db
      .updateTable("auditSinks")
      .set({ leaseToken: this.#token, leasedUntil: after(lease) })
      .where("name", "=", this.sink.name)
      .where((eb) => eb.or([eb("leasedUntil", "<=", now), eb("leaseToken", "=", this.#token)]))
      .returning("position")
      .executeTakeFirst();
    return taken?.position;
  }

  /** Notes what was accepted. Returns the position; `undefined` if another server has the lease by now. */
  async #advance(db: Db, position: number): Promise<number | undefined> {
    const moved = await db
      .updateTable("auditSinks")
      .set({ position, leasedUntil: after(lease), deliveredAt: now, failingSince: null, lastFailure: "" })
      .where("name", "=", this.sink.name)
      .where("leaseToken", "=", this.#token)
      .returning("position")
      .executeTakeFirst();
    return moved?.position;
  }

  async #noteFailure(db: Db, { message }: Error): Promise<void> {
    await db
      .updateTable("auditSinks")
      .set({ failingSince: sql<string>`coalesce(${s.failingSince}, now())`, lastFailure: cleanLabel(message, 512) })
      .where("name", "=", this.sink.name)
      .where("leaseToken", "=", this.#token)
      .execute();
  }
}

const allSinks = ({ db }: Context) =>
  db
    .selectFrom("auditSinks as s")
    .select(["s.name", "s.position", "s.deliveredAt", "s.failingSince", "s.lastFailure"])
    .select((eb) =>
      sql<number>`greatest(${eb.selectFrom("auditNumberCounter").select("lastNumber")} - ${eb.ref("s.position")}, 0)`.as(
        "behind",
      ),
    )
    .orderBy("s.name")
    .limit(100);

/** A place that the audit log is delivered to. */
export type AuditSinkRow = Awaited<ReturnType<typeof listAuditSinks>>[number];

/** Lists where the servers deliver the audit log, or did. */
export async function listAuditSinks(ctx: Context) {
  authorize(ctx.actor, "deployment_config:read");
  return allSinks(ctx).execute();
}
