import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { statement } from "../kernel/database.js";
import { badInput, forbidden, notFound, Problems } from "../kernel/errors.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";

/** A notification as its owner finds it in the inbox. */
export interface InboxNotification {
  id: string;
  userId: string;
  /** Its place in the owner's inbox, in the order of commits; above every place given before a restore, too. */
  seq: number;
  templateId: string;
  /** Ids of what it is about. */
  targets: string[];
  /** Markdown, one line. */
  title: string;
  /** Markdown. */
  content: string;
  icon: string;
  actions: InboxAction[];
  createdAt: string;
  readAt: string | null;
}

/** A link that the notification offers. */
export interface InboxAction {
  label: string;
  url: string;
}

export enum ReadStatus {
  ALL = "all",
  READ = "read",
  UNREAD = "unread",
}

/** Which notifications of an inbox are meant. What is absent does not narrow. */
export interface InboxFilter {
  /** Has all of these targets. */
  targets?: string[] | null;
  /** Is of one of these templates. */
  templates?: string[] | null;
  readStatus?: ReadStatus | null;
}

export const inboxColumns = `id, user_id as "userId", seq, template_id as "templateId", targets, title, content, icon, actions,
  created_at as "createdAt", read_at as "readAt"`;

/** The condition of a filter whose values (`filterValues`) are the parameters from `first` on. */
export const filterCondition = (first: number) => `
  ($${first}::uuid[] is null or targets @> $${first})
  and ($${first + 1}::uuid[] is null or template_id = any($${first + 1}))
  and ($${first + 2}::boolean is null or (read_at is not null) = $${first + 2})`;

const idsAtMost = 100;

/** The values of a filter's condition. */
export function filterValues({ targets, templates, readStatus }: InboxFilter, problems: Problems): unknown[] {
  const rule = `Must hold at most ${idsAtMost} ids.`;
  if (targets && targets.length > idsAtMost) problems.add("filter.targets", rule);
  if (templates && templates.length > idsAtMost) problems.add("filter.templates", rule);
  const isRead = readStatus == null || readStatus === ReadStatus.ALL ? null : readStatus === ReadStatus.READ;
  return [targets ?? null, templates ?? null, isRead];
}

/** The user whose inbox it is: the caller. No role opens another's, and credentials without a user have none. */
export function inboxOwner(ctx: Context): string {
  if (!ctx.actor.userId) throw forbidden();
  return ctx.actor.userId;
}

// The owner's cursor row is the lock of the inbox: each change of the inbox takes it first, so that none deadlock.
// `seq` follows the clock (milliseconds): after a restore of an older backup no value is given a second time, so a
// client that resumes after a value of before the restore misses nothing.
const insertNotification = statement(`
  with clock as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now),
  place as (
    insert into inbox_cursors as mine (user_id, last_seq, unread_count) select $2, now, 1 from clock
    on conflict (user_id) do update
      set last_seq = greatest(mine.last_seq + 1, excluded.last_seq), unread_count = mine.unread_count + 1
    returning last_seq
  )
  insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
  select $1, $2, last_seq, $3, $4, $5, $6, $7, $8, now() from place`);

/** What a new notification says. */
export type NewInboxNotification = Pick<
  InboxNotification,
  "userId" | "templateId" | "targets" | "title" | "content" | "icon" | "actions"
>;

/**
 * Puts a notification into an inbox and gives its id. The inbox stays locked until the commit, so that `seq` follows
 * the order of commits: call it last in a transaction, and for several users in ascending order of their ids.
 */
export async function addToInbox(ctx: Context, item: NewInboxNotification): Promise<string> {
  const id = newId();
  const { userId, templateId, targets, title, content, icon, actions } = item;
  ctx.publish({ topic: "inbox", id: `n:${userId}` });
  await ctx.rows(insertNotification, id, userId, templateId, targets, title, content, icon, JSON.stringify(actions));
  return id;
}

const selectNotification = statement<InboxNotification>(
  `select ${inboxColumns} from inbox_notifications where id = $1 and user_id = $2`,
);

/** One notification of the caller. */
export async function readInboxNotification(ctx: Context, id: string): Promise<InboxNotification> {
  const found = await ctx.row(selectNotification, id, inboxOwner(ctx));
  if (!found) throw notFound();
  return found;
}

const selectUnreadCount = statement<{ unreadCount: number }>(
  `select unread_count as "unreadCount" from inbox_cursors where user_id = $1`,
);

/** How many notifications the caller has not read, whatever the filter. */
export async function countUnread(ctx: Context): Promise<number> {
  return (await ctx.row(selectUnreadCount, inboxOwner(ctx)))?.unreadCount ?? 0;
}

const pageStatement = (direction: "<" | ">", order: "desc" | "asc") =>
  statement<InboxNotification>(`
    select ${inboxColumns} from inbox_notifications
    where user_id = $1 and (created_at, id) ${direction} ($2, $3) and ${filterCondition(6)}
    order by created_at ${order}, id ${order} limit $4 offset $5`);

const selectOlder = pageStatement("<", "desc");
const selectNewer = pageStatement(">", "asc");

const countMatching = statement<{ count: number }>(
  `select count(*) as count from inbox_notifications where user_id = $1 and ${filterCondition(2)}`,
);

/** A page of the caller's inbox, newest first. */
export async function listInboxNotifications(
  ctx: Context,
  filter: InboxFilter,
  wanted: PageArguments,
): Promise<Page<InboxNotification>> {
  const userId = inboxOwner(ctx);
  const problems = new Problems();
  const values = filterValues(filter, problems);
  const range = readRange(wanted, ["time"], problems);
  problems.throwIfAny(invalidQuery);

  const { backward, limit, offset } = range;
  const [createdAt, id] = await placeIn(ctx, range);
  const rows = await ctx.rows(
    backward ? selectNewer : selectOlder,
    userId,
    createdAt,
    id,
    limit + 1,
    offset,
    ...values,
  );
  return pageOf(range, rows, {
    cursor: (each) => cursor(each.id, each.createdAt),
    count: async () => (await ctx.row(countMatching, userId, ...values))!.count,
  });
}

const nil = "00000000-0000-0000-0000-000000000000";

/** Time and id that the range lies behind; without a place all rows do. */
async function placeIn(ctx: Context, { place, backward }: Range): Promise<[createdAt: string, id: string]> {
  if (!place) return [backward ? "-infinity" : "infinity", nil];
  if (place.keys) return [place.keys[0]!, place.id];
  const named = await ctx.row(selectNotification, place.id, inboxOwner(ctx));
  if (!named)
    throw badInput(
      [{ field: backward ? "before" : "after", detail: "Must be a notification in your inbox." }],
      invalidQuery,
    );
  return [named.createdAt, named.id];
}
