import { sql, type SqlBool } from "kysely";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { Problems, rateLimited } from "../kernel/errors.js";
import {
  check,
  faultOf,
  inputOf,
  type Input,
  label,
  meant,
  optional,
  prose,
  required,
  textBy,
} from "../kernel/values.js";
import { isRepeat } from "./idempotency-keys.js";
import { type Cursor, lowestSeq, movedCursor, type Notification, notify, notifyNow } from "./notify.js";
import { customTemplate, testTemplate } from "./templates/custom-templates.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const inboxCursorColumns = columnsOf("inboxCursors");

const inboxCursors = columnsOf("inboxCursors", "inboxCursors");

/** Sends the caller, an owner, a notification by every configured method. Returns the ids of its messages. */
export async function sendTestNotification(ctx: Context): Promise<string[]> {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "notification_message:create", { ownerId: null });
  await ctx.services.limits.testNotifications.take(userId, ctx.request);
  const sent = await notify(ctx, { template: testTemplate, recipients: [userId], targets: [], labels: {}, data: {} });
  ctx.audit({ action: "create", resourceType: "notification_message", diff: { template: { new: testTemplate.name } } });
  return sent.map(({ id }) => id);
}

/** The texts of a custom notification; one of the two is required. Around the title, white space does not count. */
export const CustomContent = inputOf({
  title: optional(
    meant(
      textBy((text) => faultOf(label(120), text.trim()), { maxLength: 120 }),
      { limits: "at most 120 characters" },
    ),
    "Markdown, {limits}.",
  ),
  message: optional(prose(2000), "Markdown, {limits}."),
});
export type CustomContent = Input<typeof CustomContent>;

export const SendCustomNotification = inputOf({
  content: required(CustomContent, "The texts."),
  idempotencyKey: optional(
    prose(255),
    "A key that identifies the request. A repeated request with the same key and content has no effect for 24 hours; one with other content fails with CONFLICT. At most 255 characters.",
  ),
});
export type SendCustomNotification = Input<typeof SendCustomNotification>;

/**
 * Sends a notification with custom text to the caller. Returns its id in the inbox; `undefined` if the caller has
 * disabled such notifications there, and for a repeated request: within 24 hours, only one request with the same
 * idempotency key and content takes effect. Throws CONFLICT if the key was used for other content, RATE_LIMITED above 20
 * per minute.
 */
export async function sendCustomNotification(
  ctx: Context,
  content: CustomContent,
  idempotencyKey?: string | null,
): Promise<string | undefined> {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "notification_message:create", { ownerId: userId });
  const { title, message } = checkContent(content, idempotencyKey);

  if (idempotencyKey && (await isRepeat(ctx, userId, idempotencyKey, [title, message]))) return undefined;
  const notification: Notification = {
    template: customTemplate,
    recipients: [userId],
    targets: [],
    labels: { custom_title: title.trim(), custom_message: message },
    data: {},
  };
  const sent = await notifyNow(ctx, notification, (number) => countCustom(ctx, userId, number));
  const id = sent.find(({ method }) => method === "inbox")?.id;
  ctx.audit({ action: "create", resourceType: "inbox_notification", resourceId: id });
  return id;
}

type Texts = { title: string; message: string };

function checkContent(content: CustomContent, key: string | null | undefined): Texts {
  const problems = new Problems();
  const title = content.title ?? "";
  const message = content.message ?? "";
  if (title.trim() === "" && message.trim() === "") {
    const rule = "A title or a message is required.";
    problems.add("content.title", rule);
    problems.add("content.message", rule);
  } else {
    check(CustomContent, content, problems, "content");
  }
  check(SendCustomNotification, { idempotencyKey: key }, problems);
  problems.throwIfAny();
  return { title, message };
}

/**
 * Stores the times of the last 20 custom notifications, newest first: another is allowed once the oldest is a minute old.
 * Throws RATE_LIMITED before. Uses the time of the statement, because the transaction may have waited for others that began
 * later. Moves the cursor of the inbox by the number of messages, in the same statement.
 */
async function countCustom({ db }: Context, userId: string, number: number): Promise<Cursor> {
  const counted = await db
    .insertInto("inboxCursors")
    .values({
      userId,
      lastSeq: number > 0 ? lowestSeq : 0,
      unreadCount: number,
      customSentAt: sql`array[clock_timestamp()]`,
    })
    .onConflict((known) =>
      known
        .column("userId")
        .doUpdateSet({
          ...movedCursor,
          customSentAt: sql`(clock_timestamp() || ${inboxCursors.customSentAt})[1:20]`,
        })
        .where(sql<SqlBool>`(${inboxCursors.customSentAt}[20] > clock_timestamp() - interval '1 minute') is not true`),
    )
    .returning(["userId", "lastSeq", "epoch"])
    .executeTakeFirst();
  if (counted) return counted;
  const { seconds } = await db
    .selectFrom("inboxCursors")
    .select(
      sql<number>`extract(epoch from ${inboxCursorColumns.customSentAt}[20] + interval '1 minute' - clock_timestamp())::float8`.as(
        "seconds",
      ),
    )
    .where("userId", "=", userId)
    .executeTakeFirstOrThrow();
  throw rateLimited(seconds, "At most 20 custom notifications may be sent in a minute.");
}
