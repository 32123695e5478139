import { type InferResult, sql } from "kysely";
import { authorize } from "../authorization/authorization.js";
import { anyOf, now, rowsByKey } from "../kernel/queries.js";
import { purge } from "../../infrastructure/database/purge.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { defineList, time } from "../kernel/lists.js";
import { OrderDirection, type Page, type PageArguments } from "../kernel/paging.js";
import { byKeptNames, type KeptNames, keptNames } from "../users/kept-names.js";
import { DeliveryMethod } from "./methods.js";
import { dispatchHint } from "./notify.js";
import { accountNotifications } from "./templates/account-notifications.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import {
  check,
  choice,
  dateTime,
  idList,
  inputOf,
  type Input,
  optional,
  pasted,
  reference,
  uuid,
} from "../kernel/values.js";

const notificationMessages = columnsOf("notificationMessages");

export const MessageState = {
  PENDING: "pending",
  LEASED: "leased",
  TEMPORARY_FAILURE: "temporary_failure",
  SENT: "sent",
  PERMANENT_FAILURE: "permanent_failure",
  INHIBITED: "inhibited",
  DISCARDED: "discarded",
} as const;
export type MessageState = (typeof MessageState)[keyof typeof MessageState];

/** The state of messages that could not be delivered. */
const deadState = MessageState.PERMANENT_FAILURE;

const messages = ({ db }: Context) =>
  db
    .selectFrom("notificationMessages as m")
    .select([
      "m.id",
      "m.eventId",
      "m.templateId",
      "m.userId",
      "m.method",
      "m.state",
      "m.reason",
      "m.nextAttemptAt",
      "m.expiresAt",
      "m.createdAt",
      "m.finishedAt",
    ]);

/** A message in the delivery log, without its texts. */
export type MessageRow = InferResult<ReturnType<typeof messages>>[number];

/** Filters of messages. An absent filter does not narrow. */
export const MessageFilter = inputOf({
  state: optional(choice(MessageState), "State."),
  template: optional(uuid, "ID of the template."),
  user: optional(pasted(reference), "The user: ID, username or email address then, or `me`."),
  method: optional(choice(DeliveryMethod), "Method."),
  after: optional(dateTime, "Messages of events at or after this time."),
  before: optional(dateTime, "Messages of events at or before this time."),
});
export type MessageFilter = Input<typeof MessageFilter>;

const isTo = byKeptNames({ id: "m.userId", username: "m.username", email: "m.userEmail" });

const messageList = defineList(messages, {
  id: { column: "m.id", of: ({ id }) => id },
  // notification_messages_page_index, _user_index, _username_index, _user_email_index, _state_index, _method_index
  orders: { creation: { createdAt: time<MessageRow>("m.createdAt") } },
  filters: {
    state: (eb, state: MessageState) => eb("m.state", "=", state),
    template: (eb, template: string) => eb("m.templateId", "=", template),
    user: isTo,
    method: (eb, method: DeliveryMethod) => eb("m.method", "=", method),
    after: (eb, start: string) => eb("m.createdAt", ">=", start),
    before: (eb, end: string) => eb("m.createdAt", "<=", end),
  },
  planned: ["state", "method"],
  mayUseStandby: true,
});

/** Lists messages, newest first. For owners and auditors. */
export async function listNotificationMessages(
  ctx: Context,
  filter: MessageFilter,
  page: PageArguments,
): Promise<Page<MessageRow>> {
  authorize(ctx.actor, "notification_message:read");
  const user = recipientIn(ctx, filter);
  const orderBy = { field: "creation", direction: OrderDirection.DESC } as const;
  return messageList.page(ctx, { filter: { ...filter, user }, orderBy, page });
}

const recipientIn = (ctx: Context, { user }: MessageFilter): KeptNames | undefined =>
  user ? keptNames(ctx, [user]) : undefined;

/** Reads a message. Throws NOT_FOUND. */
export async function readNotificationMessage(ctx: Context, id: string): Promise<MessageRow> {
  authorize(ctx.actor, "notification_message:read");
  const found = await messages(ctx).where("m.id", "=", id).executeTakeFirst();
  if (!found) throw notFound();
  return found;
}

const attempts = ({ db }: Context) =>
  db
    .selectFrom("notificationAttempts")
    .select(["messageId", "number", "time", "duration", "outcome", "detail", "replica"])
    .orderBy("messageId")
    .orderBy("number");

/** An attempt to deliver a message. */
export type AttemptRow = InferResult<ReturnType<typeof attempts>>[number];

/** Batch read of the attempts of messages, oldest first, for `ctx.load`. Checks no permission: the message does. */
export async function attemptsByMessage(ctx: Context, ids: readonly string[]): Promise<AttemptRow[][]> {
  const found = await attempts(ctx).where("messageId", "=", anyOf(ids)).execute();
  return rowsByKey(found, ids, ({ messageId }) => messageId);
}

/** Maximum number of messages that one repair changes. */
const mostRepaired = 10_000;

export const UndeliveredFilter = inputOf({
  template: optional(uuid, "ID of the template."),
  user: optional(pasted(reference), "The user: ID, username or email address then, or `me`."),
  method: optional(choice(DeliveryMethod), "Method."),
});
export type UndeliveredFilter = Input<typeof UndeliveredFilter>;

/** Which dead messages to repair: some, by id, or those that match a filter. */
export const RepairMessages = inputOf({
  ids: optional(idList(mostRepaired), "IDs of messages, {limits}."),
  filter: optional(UndeliveredFilter, "Selects messages; the oldest 10000."),
});
export type RepairMessages = Input<typeof RepairMessages>;

/**
 * Sends messages again that could not be delivered, with as many attempts as new ones. Passcodes are excluded: their
 * content is erased. Returns the number of messages.
 */
export async function retryNotificationMessages(ctx: Context, which: RepairMessages): Promise<number> {
  const ids = await lockDead(ctx, which, { isRepeatable: true });
  await ctx.db
    .updateTable("notificationMessages")
    .set({
      state: MessageState.PENDING,
      reason: null,
      attemptsLeft: ctx.config.maxAttempts,
      nextAttemptAt: now,
      expiresAt: sql<string>`now() + (${notificationMessages.expiresAt} - ${notificationMessages.createdAt})`,
      finishedAt: null,
    })
    .where("id", "=", anyOf(ids))
    .execute();
  if (ids.length > 0) ctx.publish(dispatchHint);
  return ids.length;
}

/** Gives up messages that could not be delivered. Returns their number. */
export async function discardNotificationMessages(ctx: Context, which: RepairMessages): Promise<number> {
  const ids = await lockDead(ctx, which);
  await ctx.db
    .updateTable("notificationMessages")
    .set({ state: MessageState.DISCARDED, payload: null, finishedAt: now })
    .where("id", "=", anyOf(ids))
    .execute();
  return ids.length;
}

/** Locks the messages to repair, and records the repair. Returns their ids. */
async function lockDead(
  ctx: Context,
  { ids, filter }: RepairMessages,
  { isRepeatable = false }: { isRepeatable?: boolean } = {},
): Promise<string[]> {
  authorize(ctx.actor, "notification_message:update");
  const problems = new Problems();
  if ((ids == null) === (filter == null)) problems.add("ids", "Give either ids or a filter.");
  check(RepairMessages, { ids }, problems);
  problems.throwIfAny();
  const { template, method } = filter ?? {};
  const user = recipientIn(ctx, filter ?? {});
  const found = await ctx.db
    .selectFrom("notificationMessages as m")
    .select("id")
    .where("state", "=", deadState)
    .$if(isRepeatable, (query) =>
      query.where("templateId", "<>", accountNotifications.passcode.id).where("payload", "is not", null),
    )
    .$if(ids != null, (query) => query.where("id", "=", anyOf(ids!)))
    .$if(template != null, (query) => query.where("templateId", "=", template!))
    .$if(user != null, (query) => query.where((eb) => isTo(eb, user!, ctx)))
    .$if(method != null, (query) => query.where("method", "=", method!))
    .orderBy("createdAt")
    .orderBy("id")
    .limit(sql.lit(mostRepaired))
    .forNoKeyUpdate()
    .execute();
  const diff = { messages: { new: found.length } };
  if (found.length > 0) ctx.audit({ action: "update", resourceType: "notification_message", diff });
  return found.map(({ id }) => id);
}

/** Delete finished messages with their attempts. Those that could not be delivered are kept longer. */
export const messagePurges = [
  purge("notification_messages", {
    name: "purge delivered notifications",
    by: "finished_at",
    where: `state <> '${deadState}'`,
    keptFor: ({ notificationLogRetention }) => notificationLogRetention,
  }),
  purge("notification_messages", {
    name: "purge undelivered notifications",
    by: "finished_at",
    where: `state = '${deadState}'`,
    keptFor: ({ notificationDeadRetention }) => notificationDeadRetention,
  }),
];
