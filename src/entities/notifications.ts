import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { User } from "./users.js";
import { longestEmail, longestName } from "./lengths.js";

/** One row per user: the `seq` of the latest notification, which follows the order of commits, and the unread count. */
export const InboxCursorSchema = defineEntity({
  name: "InboxCursor",
  tableName: "inbox_cursors",
  properties: {
    user: () => p.oneToOne(User).ref().primary().owner().deleteRule("cascade"),
    lastSeq: p.bigint("number"),
    unreadCount: p.integer().default(0),
    /** How often everything was marked as read. */
    epoch: p.integer().default(0),
    /** When the user sent custom notifications: the last 20, newest first. */
    customSentAt: p.array().columnType("timestamptz[]").default([]),
  },
});
export class InboxCursor extends InboxCursorSchema.class {}
InboxCursorSchema.setClass(InboxCursor);

/** The ends of an inbox's epochs: when everything was marked as read, once for each time. */
export const InboxEpochSchema = defineEntity({
  name: "InboxEpoch",
  tableName: "inbox_epochs",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    epoch: p.integer().primary(),
    endedAt: moment(),
  },
});
export class InboxEpoch extends InboxEpochSchema.class {}
InboxEpochSchema.setClass(InboxEpoch);

/**
 * Partitioned by month (`infrastructure/database/months.ts`). Users and `seq` are unique: the lock of the cursor's row sees to it,
 * and in each partition an index.
 */
export const InboxNotificationSchema = defineEntity({
  name: "InboxNotification",
  tableName: "inbox",
  indexes: [
    {
      name: "inbox_page_index",
      expression: "create index inbox_page_index on inbox (user_id, created_at desc, id desc)",
    },
    {
      name: "inbox_unread_index",
      expression:
        "create index inbox_unread_index on inbox (user_id, epoch, created_at desc, id desc) where read_at is null",
    },
    {
      // One index on two columns, without the extension that would allow a uuid in a GIN index beside an array.
      name: "inbox_targets_index",
      expression: "create index inbox_targets_index on inbox using gin ((targets || user_id)) with (fastupdate = off)",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade"),
    seq: p.bigint("number"),
    templateId: p.uuid(),
    /** Ids of what the notification is about. */
    targets: p.array().columnType("uuid[]"),
    /** Markdown, one line. */
    title: p.text(),
    /** Markdown. */
    content: p.text(),
    icon: p.text(),
    actions: p.json<Array<{ label: string; url: string }>>(),
    createdAt: moment(),
    /** When it was marked as read by itself. */
    readAt: moment().nullable(),
    /**
     * The epoch of the inbox in which it arrived or was last marked. It counts as read from the end of that epoch on.
     */
    epoch: p.integer().default(0),
  },
});
export class InboxNotification extends InboxNotificationSchema.class {}
InboxNotificationSchema.setClass(InboxNotification);

/** Requests that carried an `Idempotency-Key`, kept for 24 hours. */
export const IdempotencyKeySchema = defineEntity({
  name: "IdempotencyKey",
  tableName: "idempotency_keys",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    key: p.string().length(255).primary(),
    /** SHA-256 of the content of the request. */
    requestHash: p.type("bytea").$type<Buffer>(),
    createdAt: moment().index("idempotency_keys_age_index"),
  },
});
export class IdempotencyKey extends IdempotencyKeySchema.class {}
IdempotencyKeySchema.setClass(IdempotencyKey);

/** A message as Markdown, and the values from which it was rendered. */
export interface NotificationPayload {
  title: string;
  body: string;
  actions: Array<{ label: string; url: string }>;
  labels: Readonly<Record<string, string>>;
  data: Readonly<Record<string, unknown>>;
  targets: readonly string[];
}

/** Messages to users, one for each event, recipient and method. A queue (`kernel/queue`) while they are open. */
export const NotificationMessageSchema = defineEntity({
  name: "NotificationMessage",
  tableName: "notification_messages",
  uniques: [
    {
      name: "notification_messages_dedupe_unique",
      expression:
        "create unique index notification_messages_dedupe_unique on notification_messages (template_id, user_id, method, dedupe_key) where dedupe_key is not null",
    },
  ],
  indexes: [
    {
      name: "notification_messages_due_index",
      expression:
        "create index notification_messages_due_index on notification_messages (next_attempt_at, id) where state in ('pending', 'temporary_failure', 'leased')",
    },
    {
      name: "notification_messages_finished_index",
      expression:
        "create index notification_messages_finished_index on notification_messages (finished_at) where finished_at is not null",
    },
    {
      name: "notification_messages_key_index",
      expression:
        "create index notification_messages_key_index on notification_messages (key_id, id) where key_id is not null",
    },
    {
      // The mails that wait for others of their template.
      name: "notification_messages_waiting_index",
      expression:
        "create index notification_messages_waiting_index on notification_messages (user_id, template_id, created_at, id) where state in ('pending', 'temporary_failure') and method = 'smtp'",
    },
    { name: "notification_messages_user_index", properties: ["user", "createdAt", "id"] },
    {
      name: "notification_messages_username_index",
      expression:
        'create index notification_messages_username_index on notification_messages (lower(username collate "C"), created_at, id)',
    },
    {
      name: "notification_messages_user_email_index",
      expression:
        'create index notification_messages_user_email_index on notification_messages (lower(user_email collate "C"), created_at, id)',
    },
    {
      // Most are mails, and are found by the other orders.
      name: "notification_messages_method_index",
      expression:
        "create index notification_messages_method_index on notification_messages (method, created_at, id) where method <> 'smtp'",
    },
    { name: "notification_messages_state_index", properties: ["state", "createdAt", "id"] },
    { name: "notification_messages_page_index", properties: ["createdAt", "id"] },
  ],
  properties: {
    /** Sent with each attempt, so that receivers recognize repeated ones. */
    id: p.uuid().primary(),
    /** Common to the messages that one event caused. */
    eventId: p.uuid(),
    templateId: p.uuid(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    /** The names of the user when the message was made. A trigger sets them if they are missing. */
    username: p.string().length(longestName).nullable(),
    userEmail: p.string().length(longestEmail).nullable(),
    method: p.enum(["smtp", "webhook", "inbox"]),
    state: p.enum(["pending", "leased", "temporary_failure", "sent", "permanent_failure", "inhibited", "discarded"]),
    /** Why it is in this state, for administrators. */
    reason: p.string().length(512).nullable(),
    /** Null for messages that carry a secret, and once it is delivered. */
    payload: p.json<NotificationPayload>().nullable(),
    /** The payload of messages that carry a secret, encrypted; erased when they end. */
    secretCiphertext: p.type("bytea").$type<Buffer>().nullable(),
    secretNonce: p.type("bytea").$type<Buffer>().nullable(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().index(false),
    attempts: p.integer().default(0),
    /** How many more attempts are made. */
    attemptsLeft: p.integer(),
    /** While it is leased: when the lease expires. */
    nextAttemptAt: moment(),
    leaseToken: p.uuid().nullable(),
    /** Repeated events with the same key add no message. */
    dedupeKey: p.string().length(128).nullable(),
    expiresAt: moment(),
    createdAt: moment(),
    finishedAt: moment().nullable(),
  },
});
export class NotificationMessage extends NotificationMessageSchema.class {}
NotificationMessageSchema.setClass(NotificationMessage);

/** Attempts to deliver a message, by number. */
export const NotificationAttemptSchema = defineEntity({
  name: "NotificationAttempt",
  tableName: "notification_attempts",
  properties: {
    message: () => p.manyToOne(NotificationMessage).ref().primary().deleteRule("cascade"),
    number: p.integer().primary(),
    time: moment(),
    /** Milliseconds. */
    duration: p.integer(),
    outcome: p.enum(["done", "retryable", "fatal", "skipped", "lost"]),
    detail: p.string().length(512).nullable(),
    /** The server process that made it. */
    replica: p.uuid(),
  },
});
export class NotificationAttempt extends NotificationAttemptSchema.class {}
NotificationAttemptSchema.setClass(NotificationAttempt);

/** The choices of users about a template and method. */
export const NotificationPreferenceSchema = defineEntity({
  name: "NotificationPreference",
  tableName: "notification_preferences",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    templateId: p.uuid().primary(),
    method: p.enum(["smtp", "webhook", "inbox"]).primary(),
    isDisabled: p.boolean(),
    updatedAt: moment(),
  },
});
export class NotificationPreference extends NotificationPreferenceSchema.class {}
NotificationPreferenceSchema.setClass(NotificationPreference);

/** The methods that owners chose for templates instead of the default. */
export const NotificationTemplateMethodSchema = defineEntity({
  name: "NotificationTemplateMethod",
  tableName: "notification_template_methods",
  properties: {
    templateId: p.uuid().primary(),
    method: p.enum(["smtp", "webhook", "inbox"]),
    /** The value before the last change. */
    former: p.string().length(16).nullable(),
  },
});
export class NotificationTemplateMethod extends NotificationTemplateMethodSchema.class {}
NotificationTemplateMethodSchema.setClass(NotificationTemplateMethod);

/** How owners configured what delivers messages, in place of environment variables. */
export const NotificationTransportSchema = defineEntity({
  name: "NotificationTransport",
  tableName: "notification_transports",
  properties: {
    id: p.uuid().primary(),
    method: p.enum(["smtp", "webhook"]).unique("notification_transports_method_unique"),
    settings: p.json<Record<string, unknown>>(),
    /** The fields that are secret, encrypted as JSON. */
    secretCiphertext: p.type("bytea").$type<Buffer>().nullable(),
    secretNonce: p.type("bytea").$type<Buffer>().nullable(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().index(false),
    /** When a message last arrived; and since when none does although some are sent, with the reason. */
    deliveredAt: moment().nullable(),
    failingSince: moment().nullable(),
    lastFailure: p.string().length(512).default(""),
  },
});
export class NotificationTransport extends NotificationTransportSchema.class {}
NotificationTransportSchema.setClass(NotificationTransport);
