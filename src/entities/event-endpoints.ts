import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { longestEmail, longestLabel, longestName, longestUrl } from "./lengths.js";
import { Organization } from "./organizations.js";

/** Maximum lengths of texts of endpoints and of the log of their attempts, in characters. */
export const endpointLengths = { type: 64, failure: 512, excerpt: 512 } as const;

/** HTTPS endpoints that receive the events of an organization. */
export const EventEndpointSchema = defineEntity({
  name: "EventEndpoint",
  tableName: "event_endpoints",
  extends: BaseSchema,
  uniques: [
    {
      name: "event_endpoints_name_unique",
      expression:
        'create unique index event_endpoints_name_unique on event_endpoints (organization_id, lower(name collate "C"))',
    },
  ],
  indexes: [
    {
      name: "event_endpoints_list_index",
      expression: 'create index event_endpoints_list_index on event_endpoints (lower(name collate "C"), id)',
    },
    {
      name: "event_endpoints_active_index",
      expression: "create index event_endpoints_active_index on event_endpoints (position) where state = 'active'",
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().deleteRule("cascade").index(false),
    name: p.string().length(longestLabel),
    url: p.string().length(longestUrl),
    /** Types of events and patterns of them, such as `group.*`; empty for all. */
    eventTypes: p.array().default([]),
    isThin: p.boolean().default(false),
    /** `disabled` after failures, `unattended` since its maker lost the right. */
    state: p.enum(["active", "paused", "disabled", "unattended"]).default("active"),
    /** The user whose rights it has. */
    makerId: p.uuid(),
    /** The number of the audit log up to which its events are queued. */
    position: p.bigint("number"),
    /** The same for the numbers of notified events. */
    notifiedPosition: p.bigint("number").default(0),
    /** When its next events may be queued: it waits while too many are. */
    feedAt: moment().defaultRaw("now()"),
    /** Attempts that failed since the last one that did not. */
    failures: p.integer().default(0),
    failingSince: moment().nullable(),
    failedAt: moment().nullable(),
    lastFailure: p.string().length(endpointLengths.failure).default(""),
    deliveredAt: moment().nullable(),
  },
});
export class EventEndpoint extends EventEndpointSchema.class {}
EventEndpointSchema.setClass(EventEndpoint);

/** The secrets of an endpoint, all of which sign what is sent. */
export const EventEndpointSecretSchema = defineEntity({
  name: "EventEndpointSecret",
  tableName: "event_endpoint_secrets",
  indexes: [
    { name: "event_endpoint_secrets_endpoint_index", properties: ["endpoint", "id"] },
    { name: "event_endpoint_secrets_key_index", properties: ["key", "id"] },
  ],
  properties: {
    id: p.uuid().primary(),
    endpoint: () => p.manyToOne(EventEndpoint).ref().deleteRule("cascade").index(false),
    createdAt: moment(),
    /** Its last characters, by which people recognize it. */
    suffix: p.string().length(4),
    secretCiphertext: p.type("bytea").$type<Buffer>(),
    secretNonce: p.type("bytea").$type<Buffer>(),
    key: () => p.manyToOne(EncryptionKey).ref().index(false),
  },
});
export class EventEndpointSecret extends EventEndpointSecretSchema.class {}
EventEndpointSecretSchema.setClass(EventEndpointSecret);

/** An attempt to deliver an event. */
export interface StoredAttempt {
  /** RFC 3339. */
  time: string;
  /** Milliseconds. */
  duration: number;
  /** The status of the response; null if there was none. */
  status: number | null;
  /** The beginning of the response. */
  excerpt: string;
  /** Why it failed; null if it did not. */
  failure: string | null;
}

/**
 * Events for endpoints, a queue (`kernel/queue`). What is sent is made from the audit log. Those that have ended are kept for
 * a while, as the log of attempts.
 */
export const EventDeliverySchema = defineEntity({
  name: "EventDelivery",
  tableName: "event_deliveries",
  uniques: [{ name: "event_deliveries_event_unique", properties: ["endpoint", "eventId"] }],
  indexes: [
    { name: "event_deliveries_list_index", properties: ["endpoint", "createdAt", "id"] },
    { name: "event_deliveries_type_index", properties: ["endpoint", "type", "createdAt", "id"] },
    {
      name: "event_deliveries_due_index",
      expression: `create index event_deliveries_due_index on event_deliveries (endpoint_id, next_attempt_at, id)
        where state in ('pending', 'leased')`,
    },
    {
      name: "event_deliveries_leased_index",
      expression: "create index event_deliveries_leased_index on event_deliveries (endpoint_id) where state = 'leased'",
    },
    {
      name: "event_deliveries_failed_index",
      expression:
        "create index event_deliveries_failed_index on event_deliveries (endpoint_id, created_at, id) where state = 'failed'",
    },
    {
      name: "event_deliveries_finished_index",
      expression:
        "create index event_deliveries_finished_index on event_deliveries (finished_at) where finished_at is not null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    endpoint: () => p.manyToOne(EventEndpoint).ref().deleteRule("cascade").index(false),
    /** The id of the audit event, or an id of its own for a test. It is the id of the message. */
    eventId: p.uuid(),
    /** The number of the audit event; null for a test. */
    number: p.bigint("number").nullable(),
    type: p.string().length(endpointLengths.type),
    createdAt: moment(),
    state: p.enum(["pending", "leased", "delivered", "failed"]).default("pending"),
    /** All attempts, and those that failed since it was queued or sent again, by which delays grow. */
    attempts: p.integer().default(0),
    failures: p.integer().default(0),
    nextAttemptAt: moment(),
    /** After it, a failed attempt is the last one. */
    expiresAt: moment(),
    leaseToken: p.uuid().nullable(),
    finishedAt: moment().nullable(),
    /** The last attempts, oldest first. */
    log: p.json<StoredAttempt[]>().default([]),
  },
});
export class EventDelivery extends EventDeliverySchema.class {}
EventDeliverySchema.setClass(EventDelivery);

/** Notifications that are events for endpoints, kept as long as they may be sent again. */
export const NotifiedEventSchema = defineEntity({
  name: "NotifiedEvent",
  tableName: "notified_events",
  indexes: [
    {
      name: "notified_events_waiting_index",
      expression: "create index notified_events_waiting_index on notified_events (id) where number is null",
    },
    {
      name: "notified_events_number_unique",
      expression:
        "create unique index notified_events_number_unique on notified_events (number) where number is not null",
    },
    { name: "notified_events_time_index", properties: ["numberedAt"] },
  ],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    organizationId: p.uuid(),
    type: p.string().length(endpointLengths.type),
    objectId: p.uuid(),
    objectName: p.string().length(longestEmail),
    actorKind: p.string().length(16),
    actorId: p.uuid().nullable(),
    actorName: p.string().length(longestName).nullable(),
    details: p.json<Readonly<Record<string, unknown>>>(),
    requestId: p.string().length(128),
    /** Given after the commit, one after the other, as those of audit events. */
    number: p.bigint("number").nullable(),
    /** The number of the last audit event before it. */
    sequence: p.bigint("number").nullable(),
    numberedAt: moment().nullable(),
  },
});
export class NotifiedEvent extends NotifiedEventSchema.class {}
NotifiedEventSchema.setClass(NotifiedEvent);
