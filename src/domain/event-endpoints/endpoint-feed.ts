// Queues events for endpoints, after their commit: a transaction that acts does nothing for it. Each endpoint has a position in
// the numbers of the audit log, and one in those of notified events. What is queued and the positions are stored together.
import { sql } from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import type { Subscription } from "../../runtime/events.js";
import { minute, second } from "../../runtime/durations.js";
import { PacedRuns } from "../../runtime/paced-runs.js";
import { isAmong } from "../audit/audit-log.js";
import { lastNumbers, numbersAbove, numbersHint } from "../audit/numbering.js";
import { hasFeature } from "../entitlements/requirements.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { after, anyOf, now } from "../kernel/queries.js";
import { type NumberedEvent, numberedEvents } from "../notifications/notified-events.js";
import { triedFor } from "./endpoint-changes.js";
import { endpointsHint, mostQueued, queuedCounts } from "./event-endpoints.js";
import { selects, typeOfEvent } from "./event-types.js";
import { withAttendedMakers } from "./endpoint-makers.js";

/** Maximum number of events that an endpoint moves on by at a time, and of endpoints that move on together. */
const mostEvents = 500;
const mostFed = 100;

/** Milliseconds between two runs of a server. */
const pause = 250;

/** Milliseconds after which a server looks without a hint. */
const interval = 10 * second;

/** Milliseconds for which an endpoint waits that has as many open deliveries as it may have. */
const fullWait = minute / 6;

/** The active endpoints with events that are not queued. */
const waiting = ({ db }: Pick<Context, "db">) =>
  db
    .selectFrom("eventEndpoints as e")
    .select(["e.id", "e.organizationId", "e.position", "e.notifiedPosition", "e.eventTypes", "e.makerId", "e.name"])
    // event_endpoints_active_index
    .where(sql<boolean>`e.state = 'active'`)
    .where((eb) =>
      eb.or([
        eb("e.position", "<", eb.selectFrom("auditNumberCounter").select("lastNumber")),
        eb("e.notifiedPosition", "<", eb.selectFrom("auditNumberCounter").select("lastNotified")),
      ]),
    )
    .where("e.feedAt", "<=", now)
    .orderBy("e.feedAt")
    .orderBy("e.id")
    .limit(sql.lit(mostFed));

export interface Source {
  id: string;
  /** The sequence of the event. */
  number: number;
  type: string;
  organizationId: string | null;
}

/** Events after a position, and the number up to which they are all. */
interface EventPage {
  events: Source[];
  end: number;
}

async function eventsAfter(ctx: Context, position: number): Promise<EventPage> {
  const numbers = await numbersAbove(ctx, position, mostEvents);
  if (numbers.length === 0) return { events: [], end: position };
  const found = await eventSources(ctx, numbers);
  return { events: found, end: numbers.at(-1)!.number };
}

async function notifiedAfter(ctx: Context, position: number): Promise<EventPage> {
  const found = await numberedEvents(ctx.db)
    .where("n.number", ">", position)
    .orderBy("n.number")
    .limit(sql.lit(mostEvents))
    .execute();
  return { events: found.map(notifiedSource), end: found.at(-1)?.number ?? position };
}

/** A notified event as it is queued: by its sequence. */
export const notifiedSource = ({ sequence, ...event }: NumberedEvent): Source => ({ ...event, number: sequence });

/** Reads what decides which endpoints receive events, in the order of their numbers. */
export async function eventSources(
  ctx: Context,
  numbers: ReadonlyArray<{ number: number; eventId: string }>,
): Promise<Source[]> {
  const rows = await ctx.db
    .selectFrom("auditLog as e")
    .select(["e.id", "e.action", "e.resourceType", "e.organizationId"])
    .where(isAmong(numbers.map(({ eventId }) => eventId)))
    .modifyEnd(sql.raw(plannedForValues))
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return numbers.flatMap(({ number, eventId: id }) => {
    const row = byId.get(id);
    return row ? [{ id, number, type: typeOfEvent(row), organizationId: row.organizationId }] : [];
  });
}

/** A delivery of an event, as it is queued. */
export const newDelivery = (endpointId: string, { id, number, type }: Omit<Source, "organizationId">) => ({
  id: newId(),
  endpointId,
  eventId: id,
  number,
  type,
});

/** Moves some endpoints on. Returns how many there were, and whether anything was queued. */
async function feed(ctx: Context): Promise<{ fed: number; isQueued: boolean }> {
  const found = await waiting(ctx).forNoKeyUpdate("e").skipLocked().execute();
  const endpoints = await withAttendedMakers(ctx, found);
  if (endpoints.length === 0) return { fed: found.length, isQueued: false };
  const counts = await queuedCounts(
    ctx,
    endpoints.map(({ id }) => id),
  );
  const full = endpoints.filter((_, index) => counts[index]! >= mostQueued);
  const last = await lastNumbers(ctx);
  const pageOf = pagesBy((position) => (position < last.lastNumber ? eventsAfter(ctx, position) : undefined));
  const notifiedPageOf = pagesBy((position) =>
    position < last.lastNotified ? notifiedAfter(ctx, position) : undefined,
  );
  const moves: Move[] = [];
  const rows = [];
  for (const endpoint of endpoints) {
    if (full.includes(endpoint)) continue;
    const page = await pageOf(endpoint.position);
    const notified = await notifiedPageOf(endpoint.notifiedPosition);
    moves.push({ id: endpoint.id, position: page.end, notified: notified.end });
    for (const event of [...page.events, ...notified.events])
      if (event.organizationId === endpoint.organizationId && selects(endpoint.eventTypes, event.type))
        rows.push(newDelivery(endpoint.id, event));
  }
  if (rows.length > 0)
    await queue(ctx, rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  await moveOn(ctx, moves);
  if (full.length > 0)
    await ctx.db
      .updateTable("eventEndpoints")
      .set({ feedAt: after(fullWait) })
      .where("id", "=", anyOf(full.map(({ id }) => id)))
      .execute();
  return { fed: found.length, isQueued: rows.length > 0 };
}

/** Inserts deliveries that are due. */
export function queue({ db }: Pick<Context, "db">, rows: ReadonlyArray<ReturnType<typeof newDelivery>>) {
  const all = sql<{ id: string; endpoint: string; event: string; number: number; type: string }>`
    unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ endpointId }) => endpointId)}::uuid[],
      ${rows.map(({ eventId }) => eventId)}::uuid[], ${rows.map(({ number }) => number)}::bigint[],
      ${rows.map(({ type }) => type)}::text[])`.as<"r">(sql`r (id, endpoint, event, number, type)`);
  return db
    .insertInto("eventDeliveries")
    .columns(["id", "endpointId", "eventId", "number", "type", "createdAt", "nextAttemptAt", "expiresAt"])
    .expression((eb) =>
      eb
        .selectFrom(all)
        .select(["r.id", "r.endpoint", "r.event", "r.number", "r.type"])
        .select([now.as("createdAt"), now.as("nextAttemptAt"), after(triedFor).as("expiresAt")]),
    );
}

/** Where an endpoint moves on to. */
interface Move {
  id: string;
  position: number;
  notified: number;
}

/** Reads the page after each position once; none without anything to read. */
function pagesBy(read: (position: number) => Promise<EventPage> | undefined) {
  const pages = new Map<number, EventPage>();
  return async (position: number): Promise<EventPage> => {
    const page = pages.get(position) ?? (await read(position)) ?? { events: [], end: position };
    pages.set(position, page);
    return page;
  };
}

async function moveOn(ctx: Context, moves: readonly Move[]): Promise<void> {
  if (moves.length === 0) return;
  const to = sql<Move>`
    unnest(${moves.map(({ id }) => id)}::uuid[], ${moves.map(({ position }) => position)}::bigint[],
      ${moves.map(({ notified }) => notified)}::bigint[])`.as<"moved">(sql`moved (id, position, notified)`);
  await ctx.db
    .updateTable("eventEndpoints as e")
    .from(to)
    .whereRef("e.id", "=", "moved.id")
    .set((eb) => ({ position: eb.ref("moved.position"), notifiedPosition: eb.ref("moved.notified"), feedAt: now }))
    .execute();
}

/** Queues events for endpoints soon after they were numbered. All servers may do so: each takes other endpoints. */
export class EndpointFeed {
  readonly #runs = new PacedRuns({ run: () => this.#run(), pause, interval });
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {}

  start(): void {
    this.#hints = this.services.events.subscribe(numbersHint.topic, numbersHint.id, this.#runs.soon);
    this.#runs.start();
  }

  async close(): Promise<void> {
    this.#hints?.close();
    await this.#runs.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      while (this.#runs.isOpen && hasFeature({ services: this.services }, "audit_log") && (await this.#feedSome()));
    } catch (error) {
      this.services.log.warn({ err: error }, "Events could not be queued for endpoints. It is tried again.");
    }
  }

  /** Returns whether there may be more. */
  async #feedSome(): Promise<boolean> {
    const ctx = systemContext(this.services);
    if (!(await waiting(ctx).limit(1).executeTakeFirst())) return false;
    return ctx.transactional(async () => {
      const { fed, isQueued } = await feed(ctx);
      if (isQueued) ctx.publish(endpointsHint);
      // Others have taken the rest.
      return fed > 0;
    });
  }
}
