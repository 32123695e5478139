import { InboxNotification as Stored } from "../../entities/notifications.js";
import { requireUser } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, notFound, Problems } from "../kernel/errors.js";
import { jsonOf, type JsonRows, rowsOf } from "../kernel/json.js";
import { countIn, countMatches, matchesIn, type Order, rowsIn, type Search } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";

const fields = [
  "id",
  "userId",
  "seq",
  "templateId",
  "targets",
  "title",
  "content",
  "icon",
  "actions",
  "createdAt",
] as const;
const columns = columnsOf(Stored, "item", fields);

/** A notification in the inbox of its user. Titles and contents are Markdown. */
export interface InboxNotification extends RowOf<typeof columns> {
  actions: InboxAction[];
  readAt: string | null;
}

/** A link of a notification. */
export interface InboxAction {
  label: string;
  url: string;
}

export enum ReadStatus {
  ALL = "all",
  READ = "read",
  UNREAD = "unread",
}

/** Filters of notifications. An absent filter does not narrow. */
export interface InboxFilter {
  /** Ids that must all be targets of the notification. */
  targets?: string[] | null;
  /** Ids of templates, one of which must be that of the notification. */
  templates?: string[] | null;
  readStatus?: ReadStatus | null;
}

// Marking all notifications as read ends the epoch of the inbox. Notifications of an ended epoch are read since its end.
const readAt = `coalesce(
  item.read_at, (select ended_at from inbox_epochs ended where ended.user_id = item.user_id and ended.epoch = item.epoch))`;

const selected = `${columns}, ${readAt} as "readAt"`;

/** The columns of a notification `item`. */
export const inboxColumns = raw(selected);

/** The same with the names of the table, for a page that is read as JSON. */
const pageColumns = raw(`${columns.replace(/ as "\w+"/g, "")}, ${readAt} as read_at`);
const pageAsJson = raw(jsonOf(columnsOf(Stored, "item", [...fields, "readAt"])));

const currentEpoch = (userId: string | Sql): Sql => sql`(select epoch from inbox_cursors where user_id = ${userId})`;

/** The condition under which a notification `item` of the user is unread. */
export const isUnread = (userId: string | Sql): Sql =>
  sql`(item.read_at is null and item.epoch = ${currentEpoch(userId)})`;

const isRead = (userId: string | Sql): Sql => sql`(item.read_at is not null or item.epoch < ${currentEpoch(userId)})`;

/** The conditions under which a notification `item` is in the inbox of a user, given by id or in SQL, and matches a filter. */
export const matching = (userId: string | Sql, { targets, templates, readStatus }: InboxFilter): Sql =>
  allOf(
    sql`item.user_id = ${userId}`,
    given(targets, (ids) => sql`item.targets @> ${ids}::uuid[]`),
    given(templates, (ids) => sql`item.template_id = any(${ids}::uuid[])`),
    readStatus === ReadStatus.READ ? isRead(userId) : undefined,
    readStatus === ReadStatus.UNREAD ? isUnread(userId) : undefined,
  );

const mostIds = 100;

/** Adds the faults of a filter to `problems`. */
export function checkFilter({ targets, templates }: InboxFilter, problems: Problems): void {
  const rule = `Must contain at most ${mostIds} ids.`;
  if (targets && targets.length > mostIds) problems.add("filter.targets", rule);
  if (templates && templates.length > mostIds) problems.add("filter.templates", rule);
}

/** Returns the id of the caller, who may read its own inbox. Throws FORBIDDEN for machines, which have no inbox. */
export const inboxOwner = (ctx: Context): string => requireUser(ctx.actor).userId;

const selectNotification = statement<InboxNotification>(
  `select ${selected} from inbox_notifications item where item.id = $1 and item.user_id = $2`,
);

/** Reads a notification of the caller. Throws NOT_FOUND. */
export async function readInboxNotification(ctx: Context, id: string): Promise<InboxNotification> {
  const found = await ctx.row(selectNotification, id, inboxOwner(ctx));
  if (!found) throw notFound();
  return found;
}

const selectUnreadCount = statement<{ unreadCount: number }>(
  `select unread_count as "unreadCount" from inbox_cursors where user_id = $1`,
);

/** Returns the exact number of the caller's unread notifications. */
export async function countUnread(ctx: Context): Promise<number> {
  return (await ctx.row(selectUnreadCount, inboxOwner(ctx)))?.unreadCount ?? 0;
}

const newestFirst = (userId: string): Order => ({
  keys: [
    {
      column: sql`item.created_at`,
      ofPlace: (id) => sql`(select created_at from inbox_notifications where id = ${id} and user_id = ${userId})`,
    },
  ],
  id: sql`item.id`,
  isDescending: true,
});

/** The search for targets, by the index that has the user and the targets. */
const targeted = (userId: string, targets: readonly string[], filter: InboxFilter): Search => ({
  columns: pageColumns,
  from: (more) => sql`from inbox_notifications item where item.user_id = ${userId} and ${allOf(more)}`,
  lookup: (more) => sql`from inbox_notifications item where ${allOf(more)}`,
  matches: matching(userId, filter),
  candidates: sql`select id from inbox_notifications where (targets || user_id) @> (${targets}::uuid[] || ${userId}::uuid)`,
});

/** Lists the inbox of the caller, newest first. Counts up to `mostCounted`. */
export async function listInboxNotifications(
  ctx: Context,
  filter: InboxFilter,
  wanted: PageArguments,
): Promise<Page<InboxNotification>> {
  const userId = inboxOwner(ctx);
  const problems = new Problems();
  checkFilter(filter, problems);
  const range = readRange(wanted, { createdAt: "time" }, problems);
  problems.throwIfAny(invalidQuery);

  const order = newestFirst(userId);
  const search = given(filter.targets, (targets) => targeted(userId, targets, filter));
  const select = (selection: Sql) => (beyond?: Sql) =>
    sql`select ${selection} from inbox_notifications item where ${allOf(matching(userId, filter), beyond)}`;
  const rows = search ? matchesIn(range, order, search) : rowsIn(range, order, select(pageColumns));
  const [[page]] = await Promise.all([
    ctx.select<{ items: JsonRows }>(sql`select ${pageAsJson} as items from (${rows}) item`),
    requirePlace(ctx, range),
  ]);
  return pageOf(range, rowsOf<InboxNotification>(page!.items), {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    count: () => ctx.count(search ? countMatches(order, search) : countIn(order, select(sql``))),
  });
}

/** Throws BAD_USER_INPUT if the range begins at an id that is not in the inbox of the caller. */
async function requirePlace(ctx: Context, { place, backward }: Range): Promise<void> {
  if (!place || place.keys || (await ctx.row(selectNotification, place.id, inboxOwner(ctx)))) return;
  const detail = "Must be a notification in your inbox.";
  throw badInput([{ field: backward ? "before" : "after", detail }], invalidQuery);
}
