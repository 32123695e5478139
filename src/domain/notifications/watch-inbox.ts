import { sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { boundedPool } from "../../runtime/concurrency.js";
import type { Context, Services } from "../kernel/context.js";
import { badInput, Problems } from "../kernel/errors.js";
import { OpenWatches } from "../kernel/open-watches.js";
import { anyOf } from "../kernel/queries.js";
import { invalidQuery } from "../kernel/paging.js";
import { isUuid } from "../../runtime/text.js";
import { type Watch, watching } from "../kernel/watching.js";
import {
  checkFilter,
  hasStatus,
  hasTargets,
  type InboxFilter,
  type InboxNotification,
  inboxOwner,
  isUnread,
  notificationsOf,
  plainTextsOf,
  ReadStatus,
} from "./inbox.js";

export enum TextFormat {
  MARKDOWN = "markdown",
  PLAINTEXT = "plaintext",
}

/** An event of a watched inbox. */
export type InboxEvent =
  | NotificationAdded
  | { __typename: "InboxUnreadCountChanged"; unreadCount: number }
  | { __typename: "InboxWatchRestarted"; unreadCount: number };

/** The event that a notification arrived. */
interface NotificationAdded {
  __typename: "InboxNotificationAdded";
  notification: InboxNotification;
  /** The number of unread notifications when it was read. */
  unreadCount: number;
  /** Resumes after it. */
  cursor: string;
}

export interface WatchInbox {
  filter?: InboxFilter | null;
  format?: TextFormat | null;
  /** The id or `seq` of the last received notification; 0 for all notifications. */
  since?: string | null;
}

/** The notifications that a watcher asks for. */
interface Wanted {
  userId: string;
  filter: InboxFilter;
  isPlain: boolean;
}

/** The position of a watcher in the inbox, by the `seq` of notifications. */
interface Position {
  /** Only notifications after this one are sent. */
  cursor: number;
  /** Of the notifications up to this one, only unread ones are sent. */
  seen: number;
  /** No notifications after this one are sent; null means no limit. */
  last: number | null;
}

/** The position at which a watcher starts. */
interface Start extends Position {
  /** Whether the `seq` to resume after is unknown. */
  isRestart: boolean;
  unreadCount: number;
}

/**
 * Streams new notifications of the caller, each with the unread count, and the unread count when it changes otherwise.
 * With `since`, all notifications after it come first; without, only those committed from now on are sent. A `seq` that
 * no notification of the inbox has, because the database was restored or the notification was purged, restarts the
 * watch: the first event says so, and the unread notifications up to that `seq` are sent, too. A rejected watch throws
 * before this resolves.
 */
export async function watchInbox(ctx: Context, { filter, format, since }: WatchInbox): Promise<Watch<InboxEvent>> {
  const userId = inboxOwner(ctx);
  const wanted = { userId, filter: filter ?? {}, isPlain: format === TextFormat.PLAINTEXT };
  let position: Start;

  return watching(ctx, {
    while: inboxOwner,
    hints: () => [
      { topic: "inbox", id: `n:${userId}` },
      { topic: "inbox", id: `r:${userId}` },
    ],
    async onBegin() {
      const problems = new Problems();
      checkFilter(wanted.filter, problems);
      problems.throwIfAny(invalidQuery);
      position = await startingPosition(ctx, wanted, since);
      openWatches.begin(ctx.services, userId);
      const { unreadCount, isRestart } = position;
      return [...(isRestart ? [watchRestarted(unreadCount)] : []), unreadCountChanged(unreadCount)];
    },
    async read(fresh) {
      const { items, lastSeq, unreadCount } = await readAbove(fresh.services, wanted, position);
      const isMore = items.length === pageSize;
      const isOtherCount = items.length === 0 && unreadCount !== position.unreadCount;
      position.cursor = isMore ? items.at(-1)!.notification.seq : Math.max(position.cursor, lastSeq);
      position.unreadCount = unreadCount;
      return { events: isOtherCount ? [unreadCountChanged(unreadCount)] : items, isMore };
    },
    onEnd() {
      openWatches.end(ctx.services, userId);
      return [];
    },
  });
}

const unreadCountChanged = (unreadCount: number): InboxEvent => ({
  __typename: "InboxUnreadCountChanged",
  unreadCount,
});

const watchRestarted = (unreadCount: number): InboxEvent => ({ __typename: "InboxWatchRestarted", unreadCount });

/** Resolves `since` to a position in the inbox; without it, to the position after all committed notifications. */
async function startingPosition(
  ctx: Context,
  { userId, filter }: Wanted,
  since: string | null | undefined,
): Promise<Start> {
  const id = since && isUuid(since) ? since : null;
  const seq = since && /^\d{1,15}$/.test(since) ? Number(since) : null;
  const { lastSeq = 0, unreadCount = 0 } = (await cursorOf(ctx, userId)) ?? {};
  // Later notifications were unread when they arrived, even if they are read before the watcher receives them.
  const last = filter.readStatus === ReadStatus.READ ? lastSeq : null;
  const at = (cursor: number) => ({ cursor, seen: cursor, last, isRestart: false, unreadCount });
  if (since == null) return at(lastSeq);
  const known = seq === 0 ? 0 : await seqOf(ctx, userId, id, seq);
  if (known !== undefined) return at(known);
  if (seq !== null) return { cursor: 0, seen: Math.min(seq, lastSeq), last, isRestart: true, unreadCount };
  throw badInput(
    [{ field: "since", detail: "Must be the id or the cursor of a notification in your inbox." }],
    invalidQuery,
  );
}

const cursorOf = ({ db }: Context, userId: string) =>
  db.selectFrom("inboxCursors").select(["lastSeq", "unreadCount"]).where("userId", "=", userId).executeTakeFirst();

/** Returns the `seq` of the notification with an id or a `seq`. */
async function seqOf({ db }: Context, userId: string, id: string | null, seq: number | null) {
  if (id === null && seq === null) return undefined;
  const found = await db
    .selectFrom("inbox")
    .select("seq")
    .where("userId", "=", userId)
    .where((eb) => (id === null ? eb("seq", "=", seq) : eb("id", "=", id)))
    .executeTakeFirst();
  return found?.seq;
}

const openWatches = new OpenWatches(20, "An inbox");

/** Maximum number of notifications that a watcher reads at a time. */
const pageSize = 100;

/** Maximum number of watchers in one statement. */
const batchSize = 100;

/**
 * The result of one read of a watcher, in one snapshot: notifications up to `lastSeq` that are not in `items` do not
 * match.
 */
interface Above {
  items: readonly NotificationAdded[];
  lastSeq: number;
  unreadCount: number;
}

interface Waiting {
  wanted: Wanted;
  position: Position;
  result: PromiseWithResolvers<Above>;
}

/** Limits the connections of watchers, all of which read after a gap in the bus. */
const inTurn = boundedPool(4);

/**
 * Reads for watchers of inboxes. Those that wake together read together: one statement for all with the same filter,
 * and one result, with the same objects, for those of a user at the same position.
 */
class InboxReads {
  /** Watchers that wait for the next reads, by filter, and by user and position. */
  #waiting = new Map<string, Map<string, Waiting>>();

  constructor(private readonly db: Db) {}

  above(wanted: Wanted, position: Position): Promise<Above> {
    if (this.#waiting.size === 0) setImmediate(() => this.#read());
    const shape = JSON.stringify([wanted.filter, wanted.isPlain]);
    const alike = this.#waiting.get(shape) ?? new Map<string, Waiting>();
    this.#waiting.set(shape, alike);
    const key = `${wanted.userId} ${position.cursor} ${position.seen} ${position.last}`;
    const waiting = alike.get(key) ?? { wanted, position, result: Promise.withResolvers<Above>() };
    alike.set(key, waiting);
    return waiting.result.promise;
  }

  #read(): void {
    const shapes = [...this.#waiting.values()];
    this.#waiting = new Map();
    for (const alike of shapes) {
      const all = [...alike.values()];
      while (all.length > 0) void this.#readBatch(all.splice(0, batchSize));
    }
  }

  async #readBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const rows = await inTurn(() => pagesAbove(this.db, batch).execute());
      const byWatcher = Map.groupBy(rows, ({ nr }) => nr);
      for (const [nr, { wanted, result }] of batch.entries())
        result.resolve(resultOf(byWatcher.get(nr) ?? [], wanted.isPlain));
    } catch (error) {
      for (const { result } of batch) result.reject(error);
    }
  }
}

/** Reads a page for each of several watchers with the same filter. */
function pagesAbove(db: Db, batch: readonly Waiting[]) {
  const { targets, templates, readStatus } = batch[0]!.wanted.filter;
  const all = <Value>(of: (waiting: Waiting) => Value) => batch.map(of);
  const watchers = sql<{ nr: number; userId: string; cursor: number; seen: number; last: number | null }>`unnest(
    ${[...batch.keys()]}::int[], ${all(({ wanted }) => wanted.userId)}::uuid[],
    ${all(({ position }) => position.cursor)}::bigint[], ${all(({ position }) => position.seen)}::bigint[],
    ${all(({ position }) => position.last)}::bigint[])`.as<"w">(sql`w (nr, user_id, cursor, seen, last)`);
  const epoch = sql<number>`mine.epoch`;
  const items = notificationsOf(db, sql.ref("mine.userId"))
    .$if(targets != null, (query) => query.where(hasTargets(targets!)))
    .$if(templates != null, (query) => query.where("item.templateId", "=", anyOf(templates!)))
    .where(hasStatus(readStatus, epoch))
    .where((eb) =>
      eb.and([
        sql<boolean>`item.seq > w.cursor`,
        eb.or([sql<boolean>`item.seq > w.seen`, isUnread(epoch)]),
        sql<boolean>`(w.last is null or item.seq <= w.last)`,
      ]),
    )
    .orderBy("item.seq")
    .limit(sql.lit(pageSize));
  return db
    .selectFrom(watchers)
    .innerJoin("inboxCursors as mine", "mine.userId", "w.userId")
    .leftJoinLateral(items.as("item"), (join) => join.onTrue())
    .select(["w.nr", "mine.lastSeq", "mine.unreadCount"])
    .selectAll("item")
    .orderBy("w.nr")
    .orderBy("item.seq");
}

type Read = Awaited<ReturnType<ReturnType<typeof pagesAbove>["execute"]>>[number];

function resultOf(rows: readonly Read[], isPlain: boolean): Above {
  const { lastSeq = 0, unreadCount = 0 } = rows[0] ?? {};
  const found = rows.filter((row): row is Read & InboxNotification => row.id !== null);
  const items = found.map((item) => ({
    __typename: "InboxNotificationAdded" as const,
    notification: isPlain ? inPlainText(item) : item,
    unreadCount,
    cursor: String(item.seq),
  }));
  return { lastSeq, unreadCount, items };
}

function inPlainText(item: InboxNotification): InboxNotification {
  const plain = plainTextsOf(item);
  return { ...item, ...plain, plain };
}

/** By server: tests run several in a process. */
const reads = new WeakMap<Services, InboxReads>();

/** Reads what is above a position in an inbox. */
function readAbove(services: Services, wanted: Wanted, position: Position): Promise<Above> {
  const shared = reads.get(services) ?? new InboxReads(services.database.db);
  reads.set(services, shared);
  return shared.above(wanted, position);
}
