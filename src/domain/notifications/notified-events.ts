// Notifications as events for endpoints of organizations: those whose templates say so. They are stored by the statement that stores
// their messages, and numbered after the commit, apart from audit events: the numbers of those have no gaps.
import { type Insertable, type InferResult, sql } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { purge } from "../../infrastructure/database/purge.js";
import { day } from "../../runtime/durations.js";
import { recordedActor } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { anyOf, jsonOf } from "../kernel/queries.js";
import type { Subject } from "./rendering.js";
import type { TemplateEvent } from "./templates/template.js";

const counter = columnsOf("auditNumberCounter");

/** The object of a notification, its first target, as an event has it: its name, and the organization to which it belongs. */
export interface EventObject {
  organizationId: string;
  name: string;
}

export type NotifiedEventRow = Insertable<Schema["notifiedEvents"]>;

interface Notified extends Subject {
  event: TemplateEvent;
  object: EventObject;
  objectId: string;
}

/** The event of a notification. */
export function notifiedEvent(
  ctx: Context,
  { event: { type, details: names }, object, objectId, labels, data }: Notified,
  { id, createdAt, actorName }: { id: string; createdAt: string; actorName: string | null },
): NotifiedEventRow {
  const { kind: actorKind, id: actorId } = recordedActor(ctx);
  const values: Readonly<Record<string, unknown>> = { ...data, ...labels };
  return {
    id,
    createdAt,
    organizationId: object.organizationId,
    type,
    objectId,
    objectName: object.name,
    actorKind,
    actorId,
    actorName,
    details: Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))),
    requestId: ctx.request.id,
  };
}

/** Inserts those of some events of which `added`, a part of the same statement, has messages. */
export function insertTold(db: Pick<Db, "insertInto">, events: readonly NotifiedEventRow[]) {
  const columns = Object.keys(events[0]!) as Array<keyof NotifiedEventRow>;
  const selected = sql.join(columns.map((column) => sql.ref(column)));
  return db.insertInto("notifiedEvents").columns(columns).expression(sql`
    select ${selected} from json_populate_recordset(null::notified_events, ${jsonOf(events)}) r
    where r.id in (select ${sql.ref("eventId")} from added)`);
}

/** Maximum number of events that are numbered in one transaction. */
const batchSize = 500;

/** The first events without a number. */
export async function unnumberedEvents(db: Db): Promise<string[]> {
  const found = await db
    .selectFrom("notifiedEvents")
    .select("id")
    .where("number", "is", null)
    .orderBy("id")
    .limit(sql.lit(batchSize))
    .execute();
  return found.map(({ id }) => id);
}

/**
 * Numbers events, of which there is at least one, while the lock of the numbers is held. Audit events that were committed before
 * them have their numbers: the last one is their sequence.
 */
export const numberEvents = (db: Db, ids: readonly string[]): Promise<unknown> =>
  db
    .with("given", (query) =>
      query
        .updateTable("auditNumberCounter")
        .set({ lastNotified: sql<number>`${counter.lastNotified} + ${ids.length}` })
        .returning(["lastNumber", "lastNotified"]),
    )
    .updateTable("notifiedEvents as n")
    .from(sql<{ id: string; nr: number }>`unnest(${ids}::uuid[]) with ordinality`.as<"r">(sql`r (id, nr)`))
    .from("given as g")
    .whereRef("n.id", "=", "r.id")
    .set((eb) => ({
      number: sql<number>`${eb.ref("g.lastNotified")} - ${ids.length} + ${eb.ref("r.nr")}`,
      sequence: eb.ref("g.lastNumber"),
      numberedAt: sql<string>`clock_timestamp()`,
    }))
    .execute();

/** Events that have a number, with what decides which endpoints receive them. */
export const numberedEvents = (db: Db) =>
  db
    .selectFrom("notifiedEvents as n")
    .select(["n.id", "n.type", "n.organizationId"])
    .select((eb) => [eb.ref("n.number").$notNull().as("number"), eb.ref("n.sequence").$notNull().as("sequence")]);

export type NumberedEvent = InferResult<ReturnType<typeof numberedEvents>>[number];

const eventsIn = (db: Db) =>
  db
    .selectFrom("notifiedEvents as n")
    .select([
      "n.id",
      "n.createdAt",
      "n.organizationId",
      "n.type",
      "n.objectId",
      "n.objectName",
      "n.actorKind",
      "n.actorId",
      "n.actorName",
      "n.details",
      "n.requestId",
    ]);

/** An event as it is stored. */
export type StoredNotifiedEvent = InferResult<ReturnType<typeof eventsIn>>[number];

/** Reads events by their ids, for the server itself. */
export async function storedNotifiedEvents(db: Db, ids: readonly string[]): Promise<Map<string, StoredNotifiedEvent>> {
  const events = await eventsIn(db)
    .where("n.id", "=", anyOf([...ids]))
    .execute();
  return new Map(events.map((event) => [event.id, event]));
}

/** Deletes events once their deliveries are gone, which are tried for three days and kept for a week, with time to send them again. */
export const notifiedEventPurge = purge("notified_events", { by: "numbered_at", keptFor: 30 * day });
