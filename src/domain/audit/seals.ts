// Seals of the days of the audit log. The events of a day are linked in the order of their numbers: each hash is that of the
// hash before it and of an event, and the first one follows the last hash of the day before. A change of a sealed day is found,
// unless all later seals are computed again.
import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { Logger } from "pino";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { day, hour, minute } from "../../runtime/durations.js";
import { now } from "../kernel/queries.js";
import { type StoredEvent, storedEvents } from "./audit-log.js";
import { numbersOfLife } from "./numbering.js";

const n = columnsOf("auditNumbers");

/** Milliseconds after the end of a day before it is sealed: a transaction that numbers events may have begun before. */
const delay = 10 * minute;

/** Events that are read at a time. */
const pageSize = 1_000;

/** The seal of a day. */
export interface Seal {
  /** Such as `2026-01-31`, in UTC. */
  day: string;
  firstNumber: number;
  lastNumber: number;
  eventCount: number;
  hash: string;
}

/** The hash before the first seal. */
const origin = "0".repeat(64);

const seals = (db: Db) =>
  db.selectFrom("auditDays").select(["day", "firstNumber", "lastNumber", "eventCount", "hash"]).orderBy("lastNumber");

/** A value with the keys of its objects in order: the same text for the same value. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, ordered(each)] as const);
  return { entries: entries.toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}

/** The text of an event that is hashed. An event that is gone has none. */
const textOf = (number: number, id: string, event: StoredEvent | undefined): string =>
  JSON.stringify([
    number,
    id,
    event && [
      event.time,
      event.actorKind,
      event.actorId,
      event.actorUsername,
      event.actorEmail,
      event.apiKeyId,
      event.action,
      event.resourceType,
      event.resourceId,
      event.resourceLabel,
      event.organizationId,
      ordered(event.diff),
      event.requestId,
      event.ip,
      event.userAgent,
    ],
  ]);

/** A day as its events are now. */
interface Computed extends Seal {
  /** How many events of its numbers are gone. */
  missing: number;
}

/** Computes the seal of the events of a day that were numbered after the day before. */
async function sealOf(db: Db, date: string, before: Pick<Seal, "lastNumber" | "hash">): Promise<Computed> {
  const end = new Date(instantOf(date) + day).toISOString();
  const computed = {
    day: date,
    firstNumber: 0,
    lastNumber: before.lastNumber,
    eventCount: 0,
    hash: before.hash,
    missing: 0,
  };
  for (;;) {
    const numbers = await db
      .selectFrom("auditNumbers")
      .select(["number", "eventId"])
      .where("number", ">", computed.lastNumber)
      .where("numberedAt", "<", end)
      .orderBy("number")
      .limit(sql.lit(pageSize))
      .execute();
    if (numbers.length === 0) return computed;
    const events = await storedEvents(
      db,
      numbers.map(({ eventId }) => eventId),
    );
    for (const { number, eventId } of numbers) {
      const event = events.get(eventId);
      if (!event) computed.missing++;
      const text = textOf(number, eventId, event);
      computed.hash = createHash("sha256").update(`${computed.hash}\n${text}`).digest("hex");
    }
    if (computed.firstNumber === 0) computed.firstNumber = numbers[0]!.number;
    computed.lastNumber = numbers.at(-1)!.number;
    computed.eventCount += numbers.length;
  }
}

/** Seals the days that have ended. Replicas may do so at the same time: they compute the same. */
export const sealDays = {
  name: "seal days of the audit log",
  every: hour,
  first: minute,
  async run({ database: { db }, log }: { database: Pick<Database, "db">; log: Pick<Logger, "info"> }): Promise<void> {
    let last: Pick<Seal, "lastNumber" | "hash"> | undefined = (await seals(db).execute()).at(-1);
    for (;;) {
      const before = last ?? { lastNumber: 0, hash: origin };
      const next = await db
        .selectFrom("auditNumbers")
        .select(sql<string>`to_char(${n.numberedAt} at time zone 'UTC', 'YYYY-MM-DD')`.as("day"))
        .where("number", ">", before.lastNumber)
        .orderBy("number")
        .limit(1)
        .executeTakeFirst();
      if (!next || databaseTime() < instantOf(next.day) + day + delay) return;
      const { missing: _missing, ...seal } = await sealOf(db, next.day, before);
      await db
        .insertInto("auditDays")
        .values({ ...seal, sealedAt: now })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      log.info({ day: seal.day, lastNumber: seal.lastNumber, hash: seal.hash }, "A day of the audit log was sealed.");
      last = seal;
    }
  },
};

/** The result of verifying a day. */
export interface VerifiedDay {
  seal: Seal;
  /** Why it does not hold; null if it does. */
  fault: string | null;
  /** Whether its events are kept no longer, so that nothing can be said of it. */
  isExpired: boolean;
}

export interface Verification {
  days: VerifiedDay[];
  /** Events that have a number and no seal yet. */
  unsealed: number;
}

export interface VerifyOptions {
  /** The first and the last day; default: all. */
  from?: string | undefined;
  to?: string | undefined;
  /** Hashes of days that were noted elsewhere. */
  known: ReadonlyMap<string, string>;
  /** Milliseconds for which events are kept; 0 means indefinitely. */
  retention: number;
}

/** Computes the seals of days again, and compares them with those that are stored, and with those that are known. */
export async function verifyDays(db: Db, { from, to, known, retention }: VerifyOptions): Promise<Verification> {
  const all = await seals(db).execute();
  const verified: VerifiedDay[] = [];
  for (const [nr, seal] of all.entries()) {
    if ((from !== undefined && seal.day < from) || (to !== undefined && seal.day > to)) continue;
    const before = all[nr - 1] ?? { lastNumber: 0, hash: origin };
    const computed = await sealOf(db, seal.day, before);
    const gone = computed.missing + seal.eventCount - computed.eventCount;
    const mayBeGone = retention > 0 && instantOf(seal.day) + retention < databaseTime();
    const isExpired = gone > 0 && mayBeGone;
    verified.push({ seal, isExpired, fault: isExpired ? null : faultOf(seal, computed, before, known.get(seal.day)) });
  }
  for (const name of known.keys())
    if (!all.some((seal) => seal.day === name))
      verified.push({
        seal: { day: name, firstNumber: 0, lastNumber: 0, eventCount: 0, hash: "" },
        isExpired: false,
        fault: "It has no seal.",
      });
  const { count } = await db
    .selectFrom("auditNumbers")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("number", ">", all.at(-1)?.lastNumber ?? 0)
    .executeTakeFirstOrThrow();
  return { days: verified, unsealed: count };
}

function faultOf(seal: Seal, computed: Computed, before: Pick<Seal, "lastNumber">, known?: string): string | null {
  if (known !== undefined && known !== seal.hash) return "Its seal is not the one that was noted elsewhere.";
  if (computed.missing > 0) return `${computed.missing} of its events are gone.`;
  const isNext = seal.firstNumber === before.lastNumber + 1;
  // A restore continues after a multiple.
  const isOtherLife = seal.firstNumber % numbersOfLife === 1 && seal.firstNumber > before.lastNumber;
  if (!isNext && !isOtherLife) return "Numbers between it and the day before are gone.";
  const isSame = computed.hash === seal.hash && computed.lastNumber === seal.lastNumber;
  return isSame ? null : "Its events are not those that were sealed.";
}
