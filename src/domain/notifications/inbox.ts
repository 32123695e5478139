import { type Expression, type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Config } from "../../runtime/config.js";
import type { Db } from "../../infrastructure/database/database.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, notFound, Problems } from "../kernel/errors.js";
import { dropMonths } from "../../infrastructure/database/months.js";
import { anyOf, hour, now } from "../kernel/queries.js";
import { defineList, time } from "../kernel/lists.js";
import { invalidQuery, OrderDirection, type Page, type PageArguments } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";

/** The notifications in the inbox of a user. */
export const notificationsOf = (db: Db, userId: string | Expression<string>) =>
  db
    .selectFrom("inbox as item")
    .where("item.userId", "=", userId)
    .select([
      "item.id",
      "item.userId",
      "item.seq",
      "item.templateId",
      "item.targets",
      "item.title",
      "item.content",
      "item.icon",
      "item.actions",
      "item.createdAt",
      readAt.as("readAt"),
    ]);

// Marking all notifications as read ends the epoch of the inbox. Notifications of an ended epoch are read since its end.
const readAt = sql<string | null>`coalesce(
  item.read_at, (select ended_at from inbox_epochs ended where ended.user_id = item.user_id and ended.epoch = item.epoch))`;

/** A notification in the inbox of its user. Titles and contents are Markdown. */
export type InboxNotification = InferResult<ReturnType<typeof notificationsOf>>[number];

/** A link of a notification. */
export type InboxAction = InboxNotification["actions"][number];

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

/** The condition under which a notification `item` is unread in the current epoch of its inbox. */
export const isUnread = (epoch: Expression<number>) => sql<SqlBool>`(item.read_at is null and item.epoch = ${epoch})`;

/** The condition under which a notification `item` has a read status, in the current epoch of its inbox. */
export function hasStatus(status: ReadStatus | null | undefined, epoch: RawBuilder<number>) {
  if (status === ReadStatus.UNREAD) return isUnread(epoch);
  if (status === ReadStatus.READ) return sql<SqlBool>`(item.read_at is not null or item.epoch < ${epoch})`;
  return sql<SqlBool>`true`;
}

/** The condition under which a notification `item` has all targets. */
export const hasTargets = (ids: readonly string[]) => sql<SqlBool>`item.targets @> ${ids}::uuid[]`;

const mostIds = 100;

/** Adds the faults of a filter to `problems`. */
export function checkFilter({ targets, templates }: InboxFilter, problems: Problems): void {
  const rule = `Must contain at most ${mostIds} ids.`;
  if (targets && targets.length > mostIds) problems.add("filter.targets", rule);
  if (templates && templates.length > mostIds) problems.add("filter.templates", rule);
}

/** Returns the id of the caller, who may read its own inbox. Throws FORBIDDEN for machines, which have no inbox. */
export const inboxOwner = (ctx: Context): string => requireUser(ctx.actor).userId;

const ownNotifications = (ctx: Context) => notificationsOf(ctx.db, inboxOwner(ctx));

/** Reads a notification of the caller. Throws NOT_FOUND. */
export async function readInboxNotification(ctx: Context, id: string): Promise<InboxNotification> {
  const found = await ownNotifications(ctx).where("item.id", "=", id).executeTakeFirst();
  if (!found) throw notFound();
  return found;
}

/** Returns the exact number of the caller's unread notifications. */
export async function countUnread(ctx: Context): Promise<number> {
  const cursor = await ctx.db
    .selectFrom("inboxCursors")
    .select("unreadCount")
    .where("userId", "=", inboxOwner(ctx))
    .executeTakeFirst();
  return cursor?.unreadCount ?? 0;
}

const inbox = defineList(ownNotifications, {
  id: { column: "item.id", of: ({ id }) => id },
  // inbox_page_index, inbox_unread_index
  orders: { arrival: { createdAt: time<InboxNotification>("item.createdAt") } },
  filters: {
    // inbox_targets_index
    targets: (eb, ids: readonly string[], ctx) =>
      eb.and([
        hasTargets(ids),
        sql<SqlBool>`(item.targets || item.user_id) @> (${ids}::uuid[] || ${inboxOwner(ctx)}::uuid)`,
      ]),
    templates: (eb, ids: readonly string[]) => eb("item.templateId", "=", anyOf(ids)),
    readStatus: (_, status: ReadStatus, ctx) =>
      hasStatus(status, sql`(select epoch from inbox_cursors where user_id = ${inboxOwner(ctx)})`),
  },
  planned: ["targets"],
});

/** Lists the inbox of the caller, newest first. Counts up to `mostCounted`. */
export async function listInboxNotifications(
  ctx: Context,
  filter: InboxFilter,
  page: PageArguments,
): Promise<Page<InboxNotification>> {
  const problems = new Problems();
  checkFilter(filter, problems);
  const orderBy = { field: "arrival", direction: OrderDirection.DESC } as const;
  const [found] = await Promise.all([inbox.page(ctx, { filter, orderBy, page }, problems), requirePlace(ctx, page)]);
  return found;
}

/** Throws BAD_USER_INPUT if the page begins at an id that is not in the inbox of the caller. */
async function requirePlace(ctx: Context, { after, before }: PageArguments): Promise<void> {
  const id = before || after;
  if (!id || !isUuid(id) || (await ownNotifications(ctx).where("item.id", "=", id).executeTakeFirst())) return;
  const detail = "Must be a notification in your inbox.";
  throw badInput([{ field: before ? "before" : "after", detail }], invalidQuery);
}

/** Marks a notification of the caller as read or unread. Returns its id. A repeated mark keeps its time. */
export async function markInboxNotification(
  ctx: Context,
  { id, isRead }: { id: string; isRead: boolean },
): Promise<string> {
  await readInboxNotification(ctx, id);
  const userId = inboxOwner(ctx);
  // Locks the cursor row first, so that the epoch and the count include all earlier changes of the inbox.
  const { epoch } = await ctx.db
    .selectFrom("inboxCursors")
    .select("epoch")
    .where("userId", "=", userId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const { numUpdatedRows } = await ctx.db
    .updateTable("inbox as item")
    .set({ readAt: isRead ? now : null, epoch })
    .where("item.id", "=", id)
    .where("item.userId", "=", userId)
    .where(sql<SqlBool>`${isUnread(sql`${epoch}::int`)} = ${isRead}`)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return id;
  await ctx.db
    .updateTable("inboxCursors")
    .set((eb) => ({ unreadCount: eb("unreadCount", isRead ? "-" : "+", 1) }))
    .where("userId", "=", userId)
    .execute();
  publishReadChange(ctx);
  return id;
}

/**
 * Marks all notifications of the caller as read: writes two rows, regardless of the number of unread notifications. The end
 * of the epoch is later than the arrival of each, because the update may have waited for transactions that added some.
 */
export async function markAllInboxNotificationsRead(ctx: Context): Promise<void> {
  const ended = await ctx.db
    .with("mine", (db) =>
      db
        .updateTable("inboxCursors")
        .set((eb) => ({ epoch: eb("epoch", "+", 1), unreadCount: 0 }))
        .where("userId", "=", inboxOwner(ctx))
        .where("unreadCount", ">", 0)
        .returning((eb) => ["userId", eb("epoch", "-", 1).as("epoch")]),
    )
    .insertInto("inboxEpochs")
    .columns(["userId", "epoch", "endedAt"])
    .expression((eb) =>
      eb.selectFrom("mine").select(["mine.userId", "mine.epoch", sql<string>`clock_timestamp()`.as("endedAt")]),
    )
    .returning("epoch")
    .executeTakeFirst();
  if (ended) publishReadChange(ctx);
}

function publishReadChange(ctx: Context): void {
  ctx.publish({ topic: "inbox", id: `r:${inboxOwner(ctx)}` });
}

/** Number of inboxes that one statement cleans. */
const purgedAtOnce = 100;

const lowestId = "00000000-0000-0000-0000-000000000000";

/** Deletes old notifications from inboxes, and the oldest of inboxes that are full, read ones first. */
export const inboxPurge = {
  name: "purge inboxes",
  every: hour,
  async run(services: Parameters<typeof dropMonths>[0]): Promise<void> {
    const { config, database } = services;
    for (let last: string | null = lowestId; last !== null;) last = await purgeAfter(database.db, last, config);
    // The count of unread notifications includes those that a month still has.
    const longest = Math.max(config.inboxUnreadRetention, config.inboxReadRetention);
    await dropMonths(services, "inbox", longest, true);
  },
};

/** Purges the next inboxes after that of a user. Returns the last of their users; null if there are none. */
async function purgeAfter(db: Db, userId: string, config: Config): Promise<string | null> {
  const { inboxMax, inboxUnreadRetention, inboxReadRetention } = config;
  const isUnreadItem = isUnread(sql`mine.epoch`);
  const { last } = await db
    // Locks the cursor row first, as every change of an inbox does. The count of unread notifications stays exact.
    .with("mine", (qb) =>
      qb
        .selectFrom("inboxCursors")
        .select(["userId", "epoch"])
        .where("userId", ">", userId)
        .orderBy("userId")
        .limit(sql.lit(purgedAtOnce))
        .forNoKeyUpdate(),
    )
    .with("outdated", (qb) =>
      qb
        .selectFrom("mine")
        .innerJoinLateral(
          (eb) =>
            eb
              .selectFrom("inbox as item")
              .whereRef("item.userId", "=", "mine.userId")
              .select(["item.id", "item.createdAt", isUnreadItem.as("isUnread")])
              .select(
                sql<number>`row_number() over (order by ${isUnreadItem} desc, item.created_at desc, item.id desc)`.as(
                  "nr",
                ),
              )
              .as("item"),
          (join) => join.onTrue(),
        )
        .where((eb) =>
          eb.or([
            eb("item.nr", ">", inboxMax),
            sql<SqlBool>`item.created_at <= now() - make_interval(secs => case when item.is_unread
              then ${inboxUnreadRetention / 1000}::float8 else ${inboxReadRetention / 1000}::float8 end)`,
          ]),
        )
        .select(["mine.userId", "item.id", "item.isUnread"]),
    )
    // By an array, since a join would read all partitions.
    .with("deleted", (qb) =>
      qb.deleteFrom("inbox as item").where(sql<SqlBool>`item.id = any(array(select outdated.id from outdated))`),
    )
    .with("counted", (qb) =>
      qb
        .updateTable("inboxCursors as counter")
        .from((eb) =>
          eb
            .selectFrom("outdated")
            .where(sql<SqlBool>`outdated.is_unread`)
            .groupBy("outdated.userId")
            .select(({ fn }) => ["outdated.userId", fn.countAll<number>().as("number")])
            .as("unread"),
        )
        .whereRef("counter.userId", "=", "unread.userId")
        .set((eb) => ({ unreadCount: eb("counter.unreadCount", "-", eb.ref("unread.number")) })),
    )
    .selectFrom("mine")
    .select(sql<string | null>`max(mine.user_id::text)`.as("last"))
    .executeTakeFirstOrThrow();
  return last;
}
