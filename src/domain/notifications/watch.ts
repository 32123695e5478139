import type { Context, Services } from "../kernel/context.js";
import { boundedPool } from "../kernel/bounded-pool.js";
import { statement } from "../kernel/database.js";
import { badInput, DomainError, Problems } from "../kernel/errors.js";
import { invalidQuery } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";
import { wakeups } from "../kernel/wakeups.js";
import {
  filterCondition,
  filterValues,
  inboxColumns,
  type InboxFilter,
  type InboxNotification,
  inboxOwner,
} from "./inbox.js";
import { plainText } from "./plaintext.js";

export enum TextFormat {
  MARKDOWN = "markdown",
  PLAINTEXT = "plaintext",
}

/** What a watcher is told. */
export type InboxEvent =
  | { __typename: "InboxNotificationAdded"; notification: InboxNotification; unreadCount: number; cursor: string }
  | { __typename: "InboxUnreadCountChanged"; unreadCount: number }
  | { __typename: "InboxWatchRestarted"; unreadCount: number };

export interface WatchInbox {
  filter?: InboxFilter | null;
  format?: TextFormat | null;
  /** The id or the `seq` of the last notification seen; 0 for everything. */
  since?: string | null;
}

/** Which events a watcher wants. */
interface Wanted {
  userId: string;
  filter: unknown[];
  plain: boolean;
}

/** How far a watcher has read, and which count it was told last. */
interface Position {
  cursor: number;
  /** What lies above the cursor up to here is sent only if it is unread. */
  seen: number;
  /** Whether the place to resume after was not known. */
  isRestart: boolean;
  unreadCount: number;
}

const pageSize = 100;

/**
 * New notifications of the caller, each with the unread count after it, and that count whenever it changes otherwise.
 * With `since` everything after that comes first; without it, only what is committed from now on. A `seq` that no
 * notification of the inbox has, because the database was restored or the notification was purged, restarts the watch:
 * it says so, and sends the unread notifications up to that `seq` as well. Throws before it returns if the watch is
 * rejected.
 */
export async function watchInbox(
  ctx: Context,
  { filter, format, since }: WatchInbox,
): Promise<AsyncIterable<InboxEvent>> {
  const userId = inboxOwner(ctx);
  const problems = new Problems();
  const wanted = { userId, filter: filterValues(filter ?? {}, problems), plain: format === TextFormat.PLAINTEXT };
  problems.throwIfAny(invalidQuery);
  return new InboxWatch(ctx, wanted, await startingPosition(ctx, userId, since));
}

/** By hand, because `return()` of a waiting generator takes effect only when the wait is over. */
class InboxWatch implements AsyncIterableIterator<InboxEvent, undefined> {
  readonly #ctx: Context;
  readonly #wanted: Wanted;
  readonly #position: Position;
  readonly #wakes: AsyncIterator<void, void>;
  /** What was read and not yet taken: a page at most. */
  #ready: InboxEvent[];
  #isPageFull = false;
  #isOver = false;

  constructor(ctx: Context, wanted: Wanted, position: Position) {
    this.#ctx = ctx;
    this.#wanted = wanted;
    this.#position = position;
    this.#ready = [unreadCountChanged(position.unreadCount)];
    if (position.isRestart) this.#ready.unshift(watchRestarted(position.unreadCount));
    takePlace(ctx.services, wanted.userId);
    this.#wakes = wakeups(ctx, "inbox", `n:${wanted.userId}`, `r:${wanted.userId}`)[Symbol.asyncIterator]();
    ctx.signal.addEventListener("abort", this);
    if (ctx.signal.aborted) this.#end();
  }

  async next(): Promise<IteratorResult<InboxEvent, undefined>> {
    try {
      while (!this.#isOver) {
        const event = this.#ready.shift();
        if (event) return { done: false, value: event };
        if (this.#isPageFull || !(await this.#wakes.next()).done) await this.#read();
        else break;
      }
      return this.return();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<InboxEvent, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#end();
  }

  /** Reads the next page; what a slow consumer has not come to yet stays in the table. */
  async #read(): Promise<void> {
    const position = this.#position;
    const { items, lastSeq, unreadCount } = await readAbove(this.#ctx, this.#wanted, position);
    this.#isPageFull = items.length === pageSize;
    this.#ready = items.map((item) => notificationAdded(item, unreadCount));
    if (items.length === 0 && unreadCount !== position.unreadCount) this.#ready.push(unreadCountChanged(unreadCount));
    position.cursor = this.#isPageFull ? items.at(-1)!.seq : Math.max(position.cursor, lastSeq);
    position.unreadCount = unreadCount;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ready = [];
    void this.#wakes.return?.();
    this.#ctx.signal.removeEventListener("abort", this);
    leavePlace(this.#ctx.services, this.#wanted.userId);
  }
}

const unreadCountChanged = (unreadCount: number): InboxEvent => ({
  __typename: "InboxUnreadCountChanged",
  unreadCount,
});

const watchRestarted = (unreadCount: number): InboxEvent => ({ __typename: "InboxWatchRestarted", unreadCount });

const notificationAdded = (notification: InboxNotification, unreadCount: number): InboxEvent => ({
  __typename: "InboxNotificationAdded",
  notification,
  unreadCount,
  cursor: String(notification.seq),
});

// One snapshot of the page and of the cursor row: what lies up to `lastSeq` and is not in the page does not match.
const selectAbove = statement<InboxNotification & { lastSeq: number; unreadCount: number }>(`
  select mine.last_seq as "lastSeq", mine.unread_count as "unreadCount", item.*
  from inbox_cursors mine left join lateral (
    select ${inboxColumns} from inbox_notifications
    where user_id = mine.user_id and seq > $2 and (seq > $3 or read_at is null) and ${filterCondition(4)}
    order by seq limit ${pageSize}
  ) item on true
  where mine.user_id = $1
  order by item.seq`);

/** After a gap in the bus all watchers look again together. They queue here, so that requests find connections free. */
const inTurn = boundedPool(4);

async function readAbove(ctx: Context, { userId, filter, plain }: Wanted, { cursor, seen }: Position) {
  const rows = await inTurn(() => ctx.rows(selectAbove, userId, cursor, seen, ...filter));
  const { lastSeq = 0, unreadCount = 0 } = rows[0] ?? {};
  const found = rows.filter(({ id }) => id !== null);
  return { lastSeq, unreadCount, items: plain ? found.map(inPlainText) : found };
}

const inPlainText = (item: InboxNotification): InboxNotification => ({
  ...item,
  title: plainText(item.title),
  content: plainText(item.content),
});

interface Place {
  lastSeq: number;
  unreadCount: number;
  /** The `seq` of the notification with the wanted id or `seq`. */
  found: number | null;
}

const selectPlace = statement<Place>(`
  select last_seq as "lastSeq", unread_count as "unreadCount", coalesce(
    (select seq from inbox_notifications where id = $2 and user_id = $1),
    (select seq from inbox_notifications where user_id = $1 and seq = $3)
  ) as found
  from inbox_cursors where user_id = $1`);

/** `since` as a place in the inbox; without it the place after everything committed so far. */
async function startingPosition(ctx: Context, userId: string, since: string | null | undefined): Promise<Position> {
  const id = since && isUuid(since) ? since : null;
  const seq = since && /^\d{1,15}$/.test(since) ? Number(since) : null;
  const { lastSeq = 0, unreadCount = 0, found = null } = (await ctx.row(selectPlace, userId, id, seq)) ?? {};
  const at = (cursor: number) => ({ cursor, seen: cursor, isRestart: false, unreadCount });
  if (since == null) return at(lastSeq);
  const known = seq === 0 ? 0 : found;
  if (known !== null) return at(known);
  if (seq !== null) return { cursor: 0, seen: Math.min(seq, lastSeq), isRestart: true, unreadCount };
  throw badInput(
    [{ field: "since", detail: "Must be the id or the place of a notification in your inbox." }],
    invalidQuery,
  );
}

const watchesAtMost = 20;

/** How many watches each user has open, by server: tests run several in one process. */
const places = new WeakMap<Services, Map<string, number>>();

function takePlace(services: Services, userId: string): void {
  const taken = places.get(services) ?? new Map<string, number>();
  places.set(services, taken);
  const count = taken.get(userId) ?? 0;
  if (count >= watchesAtMost) {
    const detail = `At most ${watchesAtMost} watches of an inbox may be open at once.`;
    throw new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter: 1 });
  }
  taken.set(userId, count + 1);
}

function leavePlace(services: Services, userId: string): void {
  const taken = places.get(services)!;
  const count = taken.get(userId)! - 1;
  if (count > 0) taken.set(userId, count);
  else taken.delete(userId);
}
