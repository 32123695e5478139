import { type Expression, type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Config } from "../../runtime/config.js";
import type { Db } from "../../infrastructure/database/database.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, notFound, Problems } from "../kernel/errors.js";
import { dropMonths } from "../../infrastructure/database/months.js";
import { anyOf, now } from "../kernel/queries.js";
import { day, hour } from "../../runtime/durations.js";
import { defineList, time } from "../kernel/lists.js";
import { invalidQuery, OrderDirection, type Page, type PageArguments } from "../kernel/paging.js";
import { isUuid } from "../../runtime/text.js";
import { plainText } from "./markdown.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { check, choice, flag, idList, inputOf, type Input, optional, required, uuid } from "../kernel/values.js";

const inboxEpochColumns = columnsOf("inboxEpochs");
const inboxCursors = columnsOf("inboxCursors");
const inboxEpochs = columnsOf("inboxEpochs", "ended");
const counter = columnsOf("inboxCursors", "counter");
const mine = columnsOf("inboxCursors", "mine");
const item = columnsOf("inbox", "item");

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
  ${item.readAt}, (select ${inboxEpochColumns.endedAt} from inbox_epochs ended where ${inboxEpochs.userId} = ${item.userId} and ended.epoch = ${item.epoch}))`;

/** A notification in the inbox of its user. Titles and contents are Markdown, whose text `plain` has if it was read already. */
export type InboxNotification = InferResult<ReturnType<typeof notificationsOf>>[number] & {
  plain?: PlainTexts;
};

/** The texts of a notification without marks, as they are shown, so that clients need not read Markdown. */
export interface PlainTexts {
  title: string;
  content: string;
}

/** The plain texts of a notification. What is plain is never read as Markdown again: its marks are literal. */
export const plainTextsOf = ({ plain, title, content }: InboxNotification): PlainTexts =>
  plain ?? { title: plainText(title), content: plainText(content) };

/** A link of a notification. */
export type InboxAction = InboxNotification["actions"][number];

export enum ReadStatus {
  ALL = "all",
  READ = "read",
  UNREAD = "unread",
}

const mostIds = 100;

/** Filters of notifications. An absent filter does not narrow. */
export const InboxFilter = inputOf({
  targets: optional(idList(mostIds), "Notifications that have all of these targets. At most 100."),
  templates: optional(idList(mostIds), "Notifications of any of these templates. At most 100."),
  readStatus: optional(choice(ReadStatus), "Its read status. Default: ALL."),
});
export type InboxFilter = Input<typeof InboxFilter>;

/** The condition under which a notification `item` is unread in the current epoch of its inbox. */
export const isUnread = (epoch: Expression<number>) =>
  sql<SqlBool>`(${item.readAt} is null and ${item.epoch} = ${epoch})`;

/** The condition under which a notification `item` has a read status, in the current epoch of its inbox. */
export function hasStatus(status: ReadStatus | null | undefined, epoch: RawBuilder<number>) {
  if (status === ReadStatus.UNREAD) return isUnread(epoch);
  if (status === ReadStatus.READ) return sql<SqlBool>`(${item.readAt} is not null or ${item.epoch} < ${epoch})`;
  return sql<SqlBool>`true`;
}

/** The condition under which a notification `item` has all targets. */
export const hasTargets = (ids: readonly string[]) => sql<SqlBool>`${item.targets} @> ${ids}::uuid[]`;

/** Adds the faults of a filter to `problems`. */
export const checkFilter = (filter: InboxFilter, problems: Problems): void =>
  check(InboxFilter, filter, problems, "filter");

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
        sql<SqlBool>`(${item.targets} || ${item.userId}) @> (${ids}::uuid[] || ${inboxOwner(ctx)}::uuid)`,
      ]),
    templates: (eb, ids: readonly string[]) => eb("item.templateId", "=", anyOf(ids)),
    readStatus: (_, status: ReadStatus, ctx) =>
      hasStatus(status, sql`(select epoch from inbox_cursors where ${inboxCursors.userId} = ${inboxOwner(ctx)})`),
  },
  planned: ["targets"],
  months: { table: "inbox", first: 4 },
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

export const MarkInboxNotification = inputOf({
  id: required(uuid, "The notification."),
  isRead: required(flag, "True marks it as read, false as unread."),
});
export type MarkInboxNotification = Input<typeof MarkInboxNotification>;

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

/** Numbers of inboxes that one statement looks at, and that one transaction cleans. */
const lookedAtOnce = 1000;
const purgedAtOnce = 100;

const lowestId = "00000000-0000-0000-0000-000000000000";

/** The time from which on inboxes may have become full, by the settings of a server, which looked at all before. */
const lookedAt = new WeakMap<Config, number>();

/**
 * Drops the months that ended before the longer retention. Deletes the notifications with the shorter one, and the oldest
 * of inboxes that are full, read ones first.
 */
export const inboxPurge = {
  name: "purge inboxes",
  every: hour,
  async run(services: Parameters<typeof dropMonths>[0]): Promise<void> {
    const {
      config,
      database: { db },
    } = services;
    await dropMonths(services, "inbox", Math.max(config.inboxUnreadRetention, config.inboxReadRetention), discount);
    // A day is left for transactions that take their time.
    const { rows } = await sql<{ time: number }>`
      select (extract(epoch from now() - interval '1 day') * 1000)::float8 as time`.execute(db);
    for (let users = await usersAfter(db, lowestId); users.length > 0; users = await usersAfter(db, users.at(-1)!)) {
      const found = await inboxesToPurge(db, users, config);
      while (found.length > 0) await purgeInboxes(db, found.splice(0, purgedAtOnce), config);
    }
    lookedAt.set(config, rows[0]!.time);
  },
};

/** Subtracts the unread notifications of a month from the counts of their users. */
async function discount(db: Db, month: string): Promise<void> {
  // Every change of an inbox locks its cursor row first, and waits here. Reads go on.
  await sql`lock table inbox_cursors in exclusive mode`.execute(db);
  await sql`
    update inbox_cursors counter set ${inboxCursors.unreadCount} = greatest(${counter.unreadCount} - unread.number, 0)
    from (
      select ${item.userId}, count(*) as number
      from ${sql.table(month)} item join inbox_cursors mine on ${mine.userId} = ${item.userId}
      where ${isUnread(sql`mine.epoch`)} group by ${item.userId}
    ) unread where ${counter.userId} = unread.user_id`.execute(db);
}

/** The time by which a month is dropped after the retention of its first row. */
const untilDropped = 33 * day;

/** The retentions after which rows are deleted one by one. The longer one is for rows that went with no month. */
function retentions({ inboxUnreadRetention, inboxReadRetention }: Config) {
  const longer = Math.max(inboxUnreadRetention, inboxReadRetention);
  const own = (retention: number) => (retention < longer ? retention : retention + untilDropped);
  return { unread: own(inboxUnreadRetention), read: own(inboxReadRetention) };
}

/** The time some milliseconds ago. */
const ago = (milliseconds: Expression<number>) => sql`now() - make_interval(secs => ${milliseconds} / 1000)`;

/** The condition under which the retention of a notification `item` in the inbox `mine` has ended. */
function isOutdated(config: Config) {
  const { unread, read } = retentions(config);
  const retention = sql<number>`case when ${isUnread(sql`mine.epoch`)} then ${unread}::float8 else ${read}::float8 end`;
  return sql<SqlBool>`${item.createdAt} <= ${ago(retention)}`;
}

/** Returns the next users who have an inbox. */
async function usersAfter(db: Db, userId: string): Promise<string[]> {
  const inboxes = db.selectFrom("inboxCursors").select("userId").where("userId", ">", userId);
  const rows = await inboxes.orderBy("userId").limit(sql.lit(lookedAtOnce)).execute();
  return rows.map((row) => row.userId);
}

/**
 * Returns those users whose inboxes have something to delete. Reads only the months in which something may be outdated, and
 * counts only inboxes in which something arrived since the last time: `lastSeq` is at least the time of the arrival.
 */
async function inboxesToPurge(db: Db, users: readonly string[], config: Config): Promise<string[]> {
  const { unread, read } = retentions(config);
  const youngest = sql<number>`${Math.min(unread, read) - day}::float8`;
  // The first id by a subquery, since Postgres would compute it for each row.
  const { rows } = await sql<{ userId: string }>`
    select ${mine.userId} as "userId" from inbox_cursors mine
    where ${mine.userId} = ${anyOf(users)} and ${mine.lastSeq} >= ${lookedAt.get(config) ?? 0}::float8
      and exists (select from inbox item where ${item.userId} = ${mine.userId} offset ${config.inboxMax})
    union
    select ${mine.userId} from inbox_cursors mine join inbox item on ${item.userId} = ${mine.userId}
    where ${mine.userId} = ${anyOf(users)} and item.id < (select first_id_of(${ago(youngest)})) and ${isOutdated(config)}`.execute(
    db,
  );
  return rows.map(({ userId }) => userId);
}

/** Deletes what is outdated or too much from the inboxes of users. */
async function purgeInboxes(db: Db, users: readonly string[], config: Config): Promise<void> {
  const isUnreadItem = isUnread(sql`mine.epoch`);
  await db.transaction().execute(async (transaction) => {
    // As every change of an inbox does. The next statement sees the changes before, so that the counts stay exact.
    const cursors = transaction.selectFrom("inboxCursors").select("userId").where("userId", "=", anyOf(users));
    await cursors.orderBy("userId").forNoKeyUpdate().execute();
    await transaction
      .with("outdated", () =>
        transaction
          .selectFrom("inboxCursors as mine")
          .where("mine.userId", "=", anyOf(users))
          .innerJoinLateral(
            (eb) =>
              eb
                .selectFrom("inbox as item")
                .whereRef("item.userId", "=", "mine.userId")
                .select(["item.id", isUnreadItem.as("isUnread"), isOutdated(config).as("isOutdated")])
                .select(
                  sql<number>`row_number() over (order by ${isUnreadItem} desc, ${item.createdAt} desc, item.id desc)`.as(
                    "nr",
                  ),
                )
                .as("item"),
            (join) => join.onTrue(),
          )
          .where((eb) => eb.or([eb("item.nr", ">", config.inboxMax), eb.ref("item.isOutdated")]))
          .select(["mine.userId", "item.id", "item.isUnread"]),
      )
      // By an array, since a join would read all partitions.
      .with("deleted", (qb) =>
        qb.deleteFrom("inbox as item").where(sql<SqlBool>`item.id = any(array(select outdated.id from outdated))`),
      )
      .updateTable("inboxCursors as counter")
      .from((eb) =>
        eb
          .selectFrom("outdated")
          .where("outdated.isUnread", "=", true)
          .groupBy("outdated.userId")
          .select(({ fn }) => ["outdated.userId", fn.countAll<number>().as("number")])
          .as("unread"),
      )
      .whereRef("counter.userId", "=", "unread.userId")
      .set({ unreadCount: sql`greatest(${counter.unreadCount} - unread.number, 0)` })
      .execute();
  });
}
