import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { longestName } from "./lengths.js";

/** Events that have no number yet. A trigger on `audit_log` adds them, in the transaction of the action. */
export const AuditNumberQueueSchema = defineEntity({
  name: "AuditNumberQueueEntry",
  tableName: "audit_number_queue",
  properties: { eventId: p.uuid().primary() },
});
export class AuditNumberQueueEntry extends AuditNumberQueueSchema.class {}
AuditNumberQueueSchema.setClass(AuditNumberQueueEntry);

/** The numbers of audit events, given after their commit, one after the other. */
export const AuditNumberSchema = defineEntity({
  name: "AuditNumber",
  tableName: "audit_numbers",
  indexes: [{ name: "audit_numbers_time_index", properties: ["numberedAt"] }],
  properties: {
    number: p.bigint("number").primary().autoincrement(false),
    eventId: p.uuid(),
    /** Never earlier than that of a lower number. */
    numberedAt: moment(),
  },
});
export class AuditNumber extends AuditNumberSchema.class {}
AuditNumberSchema.setClass(AuditNumber);

/** The last number of audit events, and that of notified events, in a single row. */
export const AuditNumberCounterSchema = defineEntity({
  name: "AuditNumberCounter",
  tableName: "audit_number_counter",
  properties: {
    id: p.smallint().primary().autoincrement(false),
    lastNumber: p.bigint("number"),
    numberedAt: moment(),
    lastNotified: p.bigint("number").default(0),
  },
});
export class AuditNumberCounter extends AuditNumberCounterSchema.class {}
AuditNumberCounterSchema.setClass(AuditNumberCounter);

/** Who reads the stream of audit events, or did. Like the log itself, it outlives users. */
export const AuditReaderSchema = defineEntity({
  name: "AuditReader",
  tableName: "audit_readers",
  indexes: [
    { name: "audit_readers_time_index", properties: ["startedAt", "id"] },
    { name: "audit_readers_user_index", properties: ["userId", "startedAt", "id"] },
  ],
  properties: {
    id: p.uuid().primary(),
    userId: p.uuid(),
    username: p.string().length(longestName),
    apiKeyId: p.string().length(16).nullable(),
    /** The given filter. */
    filter: p.json<Record<string, unknown>>(),
    ip: p.string().length(45).nullable(),
    userAgent: p.string().length(512).nullable(),
    /** The number up to which all was sent. */
    position: p.bigint("number"),
    startedAt: moment(),
    /** When the position was noted last: a reader of long ago is gone, with its server. */
    seenAt: moment(),
    endedAt: moment().nullable(),
  },
});
export class AuditReader extends AuditReaderSchema.class {}
AuditReaderSchema.setClass(AuditReader);

/** How far the audit log has been delivered to a file or a collector. */
export const AuditSinkSchema = defineEntity({
  name: "AuditSink",
  tableName: "audit_sinks",
  properties: {
    name: p.string().length(300).primary(),
    /** The number up to which all was delivered. */
    position: p.bigint("number"),
    /** The server that delivers, while the lease lasts. */
    leaseToken: p.uuid().nullable(),
    leasedUntil: moment(),
    deliveredAt: moment().nullable(),
    /** Null unless the last attempt failed. */
    failingSince: moment().nullable(),
    lastFailure: p.string().length(512),
  },
});
export class AuditSink extends AuditSinkSchema.class {}
AuditSinkSchema.setClass(AuditSink);

/** The days of the audit log, by when events were numbered: each seals its events, and the day before. */
export const AuditDaySchema = defineEntity({
  name: "AuditDay",
  tableName: "audit_days",
  properties: {
    /** Such as `2026-01-31`, in UTC. */
    day: p.string().length(10).primary(),
    firstNumber: p.bigint("number"),
    lastNumber: p.bigint("number"),
    eventCount: p.integer(),
    /** SHA-256 in hexadecimal digits. */
    hash: p.string().length(64),
    sealedAt: moment(),
  },
});
export class AuditDay extends AuditDaySchema.class {}
AuditDaySchema.setClass(AuditDay);
