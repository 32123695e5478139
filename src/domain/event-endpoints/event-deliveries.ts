// The log of deliveries, and how to send events again.
import { type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import type { StoredAttempt } from "../../entities/event-endpoints.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { purge } from "../../infrastructure/database/purge.js";
import type { Db } from "../../infrastructure/database/database.js";
import { day, hour } from "../../runtime/durations.js";
import { instantOf } from "../../runtime/clock.js";
import { isUuid } from "../../runtime/text.js";
import { type Permitted, selectPermitted, visible } from "../authorization/authorization.js";
import type { Context, Services } from "../kernel/context.js";
import { badInput, conflict, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { defineListOfEach, inOrganizations, time } from "../kernel/lists.js";
import { OrderDirection, type Page, PageArguments } from "../kernel/paging.js";
import { after, anyOf, now, rowById } from "../kernel/queries.js";
import {
  choice,
  dateTime,
  flag,
  type Input,
  inputOf,
  optional,
  otherwise,
  required,
  string,
  uuid,
} from "../kernel/values.js";
import { numberedEvents } from "../notifications/notified-events.js";
import { triedFor } from "./endpoint-changes.js";
import { eventSources, newDelivery, notifiedSource, queue, type Source } from "./endpoint-feed.js";
import {
  endpointsHint,
  type EventEndpointRow,
  findChangeable,
  lockEventEndpoint,
  mostQueued,
  queuedCounts,
  requireMaker,
} from "./event-endpoints.js";
import { selects, testType } from "./event-types.js";

const d = columnsOf("eventDeliveries", "d");

/** An attempt to deliver an event. */
export type EventAttempt = StoredAttempt;

/** How far a delivery is. One that is being attempted is pending. */
export const EventDeliveryState = { PENDING: "pending", DELIVERED: "delivered", FAILED: "failed" } as const;
export type EventDeliveryState = (typeof EventDeliveryState)[keyof typeof EventDeliveryState];

const state = sql<EventDeliveryState>`case when d.state = 'leased' then 'pending' else d.state end`;

const deliveriesIn = (db: Db) =>
  db
    .selectFrom("eventDeliveries as d")
    .select([
      "d.id",
      "d.endpointId",
      "d.eventId",
      "d.number",
      "d.type",
      "d.createdAt",
      "d.attempts",
      "d.finishedAt",
      "d.log",
    ])
    .select(state.as("state"))
    .select(sql<string | null>`case when d.state = 'pending' then ${d.nextAttemptAt} end`.as("nextAttemptAt"));

/** A delivery of an event to an endpoint, with its last attempts. */
export type EventDeliveryRow = InferResult<ReturnType<typeof deliveriesIn>>[number];

export const EventDeliveriesQuery = inputOf({
  ...PageArguments.shape,
  state: optional(choice(EventDeliveryState), "State of the deliveries."),
  type: optional(string, "Type of the events."),
});
export type EventDeliveriesQuery = Input<typeof EventDeliveriesQuery>;

/** The condition of each state, as the indexes have it. */
const inState: Record<EventDeliveryState, RawBuilder<SqlBool>> = {
  pending: sql`d.state in ('pending', 'leased')`,
  delivered: sql`d.state = 'delivered'`,
  failed: sql`d.state = 'failed'`,
};

const deliveryList = defineListOfEach(
  ({ db }: Context, endpoint) => deliveriesIn(db).where("d.endpointId", "=", endpoint),
  {
    id: { column: "d.id", of: ({ id }) => id },
    // event_deliveries_list_index, _type_index
    orders: { createdAt: { createdAt: time("d.createdAt") } },
    filters: {
      state: (_, wanted: EventDeliveryState) => inState[wanted],
      type: (eb, type: string) => eb("d.type", "=", type),
    },
    planned: ["state", "type"],
  },
);

/** Lists the deliveries of an endpoint that the caller may read, the latest first. */
export function deliveriesOf(
  ctx: Context,
  endpoint: Pick<EventEndpointRow, "id">,
  { state: wanted, type, ...page }: EventDeliveriesQuery,
): Promise<Page<EventDeliveryRow>> {
  const orderBy = { field: "createdAt", direction: OrderDirection.DESC } as const;
  return deliveryList.pageOf(ctx, endpoint.id, { filter: { state: wanted, type }, orderBy, page });
}

/** Batch read of deliveries by id, for `ctx.load`. Checks no permission: the mutation that leaves one behind does. */
export const deliveriesById = async (ctx: Context, ids: readonly string[]) =>
  rowById(await deliveriesIn(ctx.db).where("d.id", "=", anyOf(ids)).execute(), ids);

/** Finds a delivery of an endpoint that the caller may read. Throws NOT_FOUND for others. */
export const findEventDelivery = (ctx: Context, id: string): Promise<EventDeliveryRow> =>
  findAmong(ctx, id, selectPermitted(ctx.actor, "event_endpoint:read"));

async function findAmong(
  ctx: Context,
  id: string,
  { everywhere, organizations }: Pick<Permitted, "everywhere" | "organizations">,
): Promise<EventDeliveryRow> {
  const found = isUuid(id)
    ? await deliveriesIn(ctx.db)
        .where("d.id", "=", id)
        .$if(!everywhere, (all) =>
          all
            .innerJoin("eventEndpoints as e", "e.id", "d.endpointId")
            .where(inOrganizations("e.organizationId", organizations)),
        )
        .executeTakeFirst()
    : undefined;
  if (!found) throw notFound();
  return found;
}

/** Throws CONFLICT unless an endpoint delivers, since nothing would be sent. */
function requireActive({ state: is }: EventEndpointRow): void {
  if (is !== "active") throw conflict("The event endpoint does not deliver. Resume it first.");
}

export const TestEventEndpoint = inputOf({ id: required(uuid, "ID of the endpoint.") });
export type TestEventEndpoint = Input<typeof TestEventEndpoint>;

/** Sends a message without an event to an endpoint, once. Returns the id of its delivery. */
export async function testEventEndpoint(ctx: Context, { id }: TestEventEndpoint): Promise<string> {
  const endpoint = await lockEventEndpoint(ctx, id, "event_endpoint:update");
  requireActive(endpoint);
  await requireRoomFor(ctx, id, 1);
  const delivery = newId();
  await ctx.db
    .insertInto("eventDeliveries")
    .values({
      id: delivery,
      endpointId: id,
      eventId: newId(),
      type: testType,
      createdAt: now,
      nextAttemptAt: now,
      expiresAt: now,
    })
    .execute();
  ctx.publish(endpointsHint);
  return delivery;
}

async function requireRoomFor(ctx: Context, endpointId: string, more: number): Promise<void> {
  const [count = 0] = await queuedCounts(ctx, [endpointId]);
  if (count + more > mostQueued) throw tooMany();
}

const tooMany = () =>
  conflict(`At most ${mostQueued} events can wait for an event endpoint. Choose a shorter period, or wait.`);

const again = {
  state: "pending",
  failures: 0,
  nextAttemptAt: now,
  expiresAt: after(triedFor),
  finishedAt: null,
} as const;

export const RedeliverEvent = inputOf({ delivery: required(uuid, "ID of the delivery.") });
export type RedeliverEvent = Input<typeof RedeliverEvent>;

/** Sends an event again, with the same id. Returns the id of its delivery. */
export async function redeliverEvent(ctx: Context, { delivery: id }: RedeliverEvent): Promise<string> {
  // The scope that reads is not needed: the endpoint is authorized below.
  const found = await findAmong(ctx, id, visible(ctx.actor, "event_endpoint:read"));
  const endpoint = await lockEventEndpoint(ctx, found.endpointId, "event_endpoint:update");
  requireMaker(ctx, endpoint.organizationId);
  requireActive(endpoint);
  if (found.state !== "pending") await requireRoomFor(ctx, endpoint.id, 1);
  await ctx.db
    .updateTable("eventDeliveries")
    .set(again)
    .where("id", "=", id)
    // One that is being sent is sent anyway.
    .where("state", "<>", "leased")
    .execute();
  ctx.publish(endpointsHint);
  return id;
}

export const RedeliverEvents = inputOf({
  id: required(uuid, "ID of the endpoint."),
  after: required(dateTime, "The beginning of the period, by when events were recorded."),
  before: optional(dateTime, "Its end. Default: now."),
  onlyUndelivered: otherwise(flag, true, "Whether to leave out events that were delivered."),
});
export type RedeliverEvents = Input<typeof RedeliverEvents>;

/** Maximum number of events that a period may have, of all organizations together. */
const mostScanned = 100_000;

/** Events that are read or queued at a time. */
const pageSize = 1_000;

/**
 * Sends the events of a period again that an endpoint selects, with the same ids: those that failed, those that it never was
 * to receive, because it was paused or has another filter now, and with `onlyUndelivered: false` all others. Returns their
 * number.
 */
export async function redeliverEvents(
  ctx: Context,
  { id, ...period }: RedeliverEvents,
): Promise<{ id: string; count: number }> {
  const endpoint = await findChangeable(ctx, id, "event_endpoint:update");
  requireMaker(ctx, endpoint.organizationId);
  requireActive(endpoint);
  // Without a lock: results of all endpoints wait for the row of one.
  const sources = await sourcesOf(ctx, endpoint, period);
  requireActive(await lockEventEndpoint(ctx, id, "event_endpoint:update"));
  let count = 0;
  for (let start = 0; start < sources.length; start += pageSize)
    count += await queueAgain(ctx, id, sources.slice(start, start + pageSize), ended(period));
  // Counts those of before, too.
  await requireRoomFor(ctx, id, 0);
  if (count > 0) ctx.publish(endpointsHint);
  return { id, count };
}

type Period = Omit<RedeliverEvents, "id">;

/** The states of deliveries that are sent again. */
const ended = ({ onlyUndelivered }: Pick<Period, "onlyUndelivered">) =>
  onlyUndelivered ? (["failed"] as const) : (["failed", "delivered"] as const);

/** Reads the events of a period that are to be sent again. Throws if there are more than can be queued. */
async function sourcesOf(ctx: Context, endpoint: EventEndpointRow, period: Period): Promise<Source[]> {
  const { after: from, before: until } = period;
  if (until != null && instantOf(until) < instantOf(from))
    throw badInput([{ field: "before", detail: "Must not be earlier than the beginning." }]);
  const numbers = await ctx.db
    .selectFrom("auditNumbers")
    .select(["number", "eventId"])
    .where("numberedAt", ">=", from)
    .$if(until != null, (all) => all.where("numberedAt", "<=", until!))
    .where("number", "<=", endpoint.position)
    .orderBy("numberedAt")
    .orderBy("number")
    .limit(mostScanned + 1)
    .execute();
  const notified = await numberedEvents(ctx.db)
    .where("n.numberedAt", ">=", from)
    .$if(until != null, (all) => all.where("n.numberedAt", "<=", until!))
    .where("n.number", "<=", endpoint.notifiedPosition)
    .orderBy("n.numberedAt")
    .orderBy("n.number")
    .limit(mostScanned + 1)
    .execute();
  if (numbers.length + notified.length > mostScanned)
    throw badInput([
      { field: "after", detail: `There were more than ${mostScanned} events since then. Choose a shorter period.` },
    ]);
  const isSelected = ({ organizationId, type }: Source) =>
    organizationId === endpoint.organizationId && selects(endpoint.eventTypes, type);
  const found: Source[] = [];
  for (let start = 0; start < numbers.length; start += pageSize) {
    const page = (await eventSources(ctx, numbers.slice(start, start + pageSize))).filter(isSelected);
    found.push(...(await withoutOthers(ctx, endpoint.id, page, period)));
    if (found.length > mostQueued) throw tooMany();
  }
  const selected = notified.map(notifiedSource).filter(isSelected);
  found.push(...(await withoutOthers(ctx, endpoint.id, selected, period)));
  if (found.length > mostQueued) throw tooMany();
  return found;
}

/** Leaves out the events whose deliveries wait, or have arrived. */
async function withoutOthers(
  { db }: Context,
  endpointId: string,
  sources: readonly Source[],
  period: Period,
): Promise<Source[]> {
  const others = await db
    .selectFrom("eventDeliveries")
    .select("eventId")
    .where("endpointId", "=", endpointId)
    .where("eventId", "=", sql<string>`any(${sources.map(({ id }) => id)}::uuid[])`)
    .where("state", "<>", sql<"pending">`all(${ended(period)}::text[])`)
    .execute();
  const left = new Set(others.map(({ eventId }) => eventId));
  return sources.filter(({ id }) => !left.has(id));
}

/** Queues events of an endpoint that is locked. Waits for no result of an attempt: those that are leased are left alone. */
async function queueAgain(
  ctx: Context,
  id: string,
  sources: readonly Source[],
  states: ReadonlyArray<"failed" | "delivered">,
): Promise<number> {
  const { numUpdatedRows } = await ctx.db
    .updateTable("eventDeliveries")
    .set(again)
    .where("endpointId", "=", id)
    .where("eventId", "=", sql<string>`any(${sources.map((source) => source.id)}::uuid[])`)
    .where("state", "=", sql<"failed">`any(${states}::text[])`)
    .executeTakeFirstOrThrow();
  const { numInsertedOrUpdatedRows = 0n } = await queue(
    ctx,
    sources.map((source) => newDelivery(id, source)),
  )
    .onConflict((on) => on.doNothing())
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows + numInsertedOrUpdatedRows);
}

/** Deletes deliveries a week after their end. */
export const deliveryPurge = purge("event_deliveries", { by: "finished_at", keptFor: 7 * day });

/** Maximum number of deliveries of an endpoint that are kept. */
const mostKept = 50_000;

/** Deletes the oldest deliveries of endpoints that have more than are kept. */
export const deliveryLimit = {
  name: "limit the deliveries of event endpoints",
  every: hour / 4,
  async run({ database: { db } }: Pick<Services, "database">): Promise<void> {
    const endpoints = await db.selectFrom("eventEndpoints").select("id").execute();
    for (const { id } of endpoints) await limitDeliveries(db, id, mostKept);
  },
};

/** Deletes the oldest deliveries of an endpoint that have ended, but some. */
async function limitDeliveries(db: Db, endpointId: string, most: number): Promise<void> {
  const surplus = db
    .selectFrom("eventDeliveries")
    .select("id")
    .where("endpointId", "=", endpointId)
    .where("finishedAt", "is not", null)
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc")
    .offset(most)
    .limit(sql.lit(1_000))
    .forUpdate()
    .skipLocked();
  let deleted: bigint;
  do {
    const { numDeletedRows } = await db
      .deleteFrom("eventDeliveries")
      .where("id", "=", sql<string>`any(array(${surplus}))`)
      .executeTakeFirstOrThrow();
    deleted = numDeletedRows;
  } while (deleted > 0n);
}
