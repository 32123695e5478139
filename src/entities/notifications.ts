import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** One row per user: the `seq` of the latest notification, which follows the order of commits, and the unread count. */
const InboxCursorSchema = defineEntity({
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
const InboxEpochSchema = defineEntity({
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

const InboxNotificationSchema = defineEntity({
  name: "InboxNotification",
  tableName: "inbox_notifications",
  uniques: [{ name: "inbox_notifications_seq_unique", properties: ["user", "seq"] }],
  indexes: [
    {
      name: "inbox_notifications_page_index",
      expression:
        "create index inbox_notifications_page_index on inbox_notifications (user_id, created_at desc, id desc)",
    },
    {
      name: "inbox_notifications_unread_index",
      expression:
        "create index inbox_notifications_unread_index on inbox_notifications (user_id, epoch, created_at desc, id desc) where read_at is null",
    },
    {
      // One index on two columns, without the extension that would allow a uuid in a GIN index beside an array.
      name: "inbox_notifications_targets_index",
      expression:
        "create index inbox_notifications_targets_index on inbox_notifications using gin ((targets || user_id)) with (fastupdate = off)",
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
    /** The epoch of the inbox in which it arrived or was last marked. It counts as read from the end of that epoch on. */
    epoch: p.integer().default(0),
  },
});
export class InboxNotification extends InboxNotificationSchema.class {}
InboxNotificationSchema.setClass(InboxNotification);

/** Requests that carried an `Idempotency-Key`, kept for 24 hours. */
const IdempotencyKeySchema = defineEntity({
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
