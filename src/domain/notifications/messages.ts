import { rowsByKey } from "../kernel/batches.js";
import { NotificationAttempt, NotificationMessage } from "../../entities/notifications.js";
import { authorize } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound, Problems } from "../kernel/errors.js";
import { countIn, type Fixed, type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { purge } from "../kernel/purge.js";
import { deadState } from "../kernel/queue.js";
import { idNamed } from "../kernel/references.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findUser } from "../users/users.js";
import type { DeliveryMethod } from "./methods.js";
import { dispatchHint } from "./notify.js";
import { accountNotifications } from "./templates/accounts.js";

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

const columns = columnsOf(NotificationMessage, "m", [
  "id",
  "eventId",
  "templateId",
  "userId",
  "method",
  "state",
  "reason",
  "nextAttemptAt",
  "expiresAt",
  "createdAt",
  "finishedAt",
]);

/** A message in the delivery log, without its texts. */
export interface MessageRow extends RowOf<typeof columns> {
  method: DeliveryMethod;
  state: MessageState;
}

/** Filters of messages. An absent filter does not narrow. */
export interface MessageFilter {
  state?: MessageState | null;
  template?: string | null;
  /** Id of a user, which may be deleted; username; or `me`. */
  user?: string | null;
  method?: DeliveryMethod | null;
  after?: string | null;
  before?: string | null;
}

const newestFirst = (fixed: readonly Fixed[]): Order => ({
  fixed,
  keys: [
    {
      column: sql`m.created_at`,
      ofPlace: (id) => sql`(select created_at from notification_messages where id = ${id})`,
    },
  ],
  id: sql`m.id`,
  isDescending: true,
});

/** Lists messages, newest first. For owners and auditors. */
export async function listNotificationMessages(
  ctx: Context,
  filter: MessageFilter,
  page: PageArguments,
): Promise<Page<MessageRow>> {
  authorize(ctx.actor, "notification_message:read");
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems);
  problems.throwIfAny();
  const { fixed, matches } = await conditionsOf(ctx, filter);
  const order = newestFirst(fixed);
  const from = (beyond?: Sql) => sql`from notification_messages m where ${allOf(matches, beyond)}`;
  const select = (beyond?: Sql) => sql`select ${raw(columns)} ${from(beyond)}`;
  return pageOf(range, await ctx.select<MessageRow>(rowsIn(range, order, select)), {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    count: () => ctx.count(countIn(order, (more) => sql`select ${from(more)}`)),
  });
}

/** The leading column of the index that serves a filter, and the other conditions. */
async function conditionsOf(
  ctx: Context,
  filter: MessageFilter,
): Promise<{ fixed: Fixed[]; matches: Sql | undefined }> {
  const userId = filter.user ? await idNamed(ctx, filter.user, findUser) : undefined;
  const [byUser, byState] = [sql`m.user_id`, sql`m.state`];
  const fixed = userId
    ? [{ column: byUser, value: userId }]
    : filter.state
      ? [{ column: byState, value: filter.state }]
      : [];
  const matches = allOf(
    userId ? given(filter.state, (state) => sql`m.state = ${state}`) : undefined,
    given(filter.template, (template) => sql`m.template_id = ${template}`),
    given(filter.method, (method) => sql`m.method = ${method}`),
    given(filter.after, (time) => sql`m.created_at >= ${time}`),
    given(filter.before, (time) => sql`m.created_at <= ${time}`),
  );
  return { fixed, matches };
}

const messageById = statement<MessageRow>(`select ${columns} from notification_messages m where id = $1`);

/** Reads a message. Throws NOT_FOUND. */
export async function readNotificationMessage(ctx: Context, id: string): Promise<MessageRow> {
  authorize(ctx.actor, "notification_message:read");
  const found = await ctx.row(messageById, id);
  if (!found) throw notFound();
  return found;
}

const attemptColumns = columnsOf(NotificationAttempt, "a", [
  "messageId",
  "number",
  "time",
  "duration",
  "outcome",
  "detail",
  "replica",
]);

/** An attempt to deliver a message. */
export type AttemptRow = RowOf<typeof attemptColumns>;

const attemptsOf = statement<AttemptRow>(`
  select ${attemptColumns} from notification_attempts a where message_id = any($1::uuid[]) order by message_id, number`);

/** Batch read of the attempts of messages, oldest first, for `ctx.load`. Checks no permission: the message does. */
export async function attemptsByMessage(ctx: Context, ids: readonly string[]): Promise<AttemptRow[][]> {
  return rowsByKey(await ctx.rows(attemptsOf, ids), ids, ({ messageId }) => messageId);
}

/** Which dead messages to repair: some, by id, or those that match a filter. */
export interface RepairMessages {
  ids?: readonly string[] | null;
  filter?: Pick<MessageFilter, "template" | "user" | "method"> | null;
}

/** Maximum number of messages that one repair changes. */
const mostRepaired = 10_000;

/**
 * Sends messages again that could not be delivered, with as many attempts as new ones. Passcodes are excluded: their
 * content is erased. Returns the number of messages.
 */
export async function retryNotificationMessages(ctx: Context, which: RepairMessages): Promise<number> {
  const retried = await repair(
    ctx,
    which,
    sql`m.template_id <> ${accountNotifications.passcode.id} and m.payload is not null`,
    sql`
    state = 'pending', reason = null, attempts_left = ${ctx.config.maxAttempts}, next_attempt_at = now(),
    expires_at = now() + (expires_at - created_at), finished_at = null`,
  );
  if (retried > 0) ctx.publish(dispatchHint);
  return retried;
}

/** Gives up messages that could not be delivered. Returns their number. */
export const discardNotificationMessages = (ctx: Context, which: RepairMessages): Promise<number> =>
  repair(ctx, which, undefined, sql`state = 'discarded', payload = null, finished_at = now()`);

async function repair(
  ctx: Context,
  { ids, filter }: RepairMessages,
  limits: Sql | undefined,
  change: Sql,
): Promise<number> {
  authorize(ctx.actor, "notification_message:update");
  const problems = new Problems();
  if ((ids == null) === (filter == null)) problems.add("ids", "Give either ids or a filter.");
  if (ids && ids.length > mostRepaired) problems.add("ids", `Must be at most ${mostRepaired} ids.`);
  problems.throwIfAny();
  const { fixed, matches } = await conditionsOf(ctx, filter ?? {});
  const conditions = allOf(
    given(ids, (some) => sql`m.id = any(${some}::uuid[])`),
    ...fixed.map(({ column, value }) => sql`${column} = ${value}`),
    matches,
    limits,
  );
  const changed = await ctx.select<{ id: string }>(sql`
    with chosen as (
      select m.id from notification_messages m where m.state = ${deadState} and ${conditions}
      order by m.created_at, m.id limit ${raw(String(mostRepaired))} for update
    )
    update notification_messages m set ${change} from chosen where m.id = chosen.id returning m.id`);
  if (changed.length > 0) {
    const diff = { messages: { new: changed.length } };
    ctx.audit({ action: "update", resourceType: "notification_message", diff });
  }
  return changed.length;
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
