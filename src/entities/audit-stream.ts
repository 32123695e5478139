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

/** The last number, in a single row. */
export const AuditNumberCounterSchema = defineEntity({
  name: "AuditNumberCounter",
  tableName: "audit_number_counter",
  properties: {
    id: p.smallint().primary().autoincrement(false),
    lastNumber: p.bigint("number"),
    numberedAt: moment(),
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
