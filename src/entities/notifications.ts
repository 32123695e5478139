import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** One row per user: the place of the latest notification, which orders the inbox by commits, and the unread count. */
const InboxCursorSchema = defineEntity({
  name: "InboxCursor",
  tableName: "inbox_cursors",
  properties: {
    user: () => p.oneToOne(User).ref().primary().owner().deleteRule("cascade"),
    lastSeq: p.bigint("number"),
    unreadCount: p.integer().default(0),
    /** When the user sent custom notifications: the last 20, newest first. */
    customSentAt: p.array().columnType("timestamptz[]").default([]),
  },
});
export class InboxCursor extends InboxCursorSchema.class {}
InboxCursorSchema.setClass(InboxCursor);

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
        "create index inbox_notifications_unread_index on inbox_notifications (user_id, created_at desc, id desc) where read_at is null",
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
    readAt: moment().nullable(),
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
    /** SHA-256 of what was asked. */
    requestHash: p.type("bytea").$type<Buffer>(),
    createdAt: moment().index("idempotency_keys_age_index"),
  },
});
export class IdempotencyKey extends IdempotencyKeySchema.class {}
IdempotencyKeySchema.setClass(IdempotencyKey);
