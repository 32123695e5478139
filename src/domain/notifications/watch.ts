import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, DomainError, Problems } from "../kernel/errors.js";
import { invalidQuery } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";
import { wakeups } from "../kernel/wakeups.js";
import { checkFilter, type InboxFilter, inboxOwner, ReadStatus } from "./inbox.js";
import { type NotificationAdded, pageSize, type Place, readAbove, type Wanted } from "./inbox-reads.js";

export enum TextFormat {
  MARKDOWN = "markdown",
  PLAINTEXT = "plaintext",
}

/** An event of a watched inbox. */
export type InboxEvent =
  | NotificationAdded
  | { __typename: "InboxUnreadCountChanged"; unreadCount: number }
  | { __typename: "InboxWatchRestarted"; unreadCount: number };

export interface WatchInbox {
  filter?: InboxFilter | null;
  format?: TextFormat | null;
  /** The id or `seq` of the last received notification; 0 for all notifications. */
  since?: string | null;
}

/** The position of a watcher, and the last unread count that was sent. */
interface Position extends Place {
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
export async function watchInbox(
  ctx: Context,
  { filter, format, since }: WatchInbox,
): Promise<AsyncIterable<InboxEvent>> {
  const userId = inboxOwner(ctx);
  const problems = new Problems();
  checkFilter(filter ?? {}, problems);
  problems.throwIfAny(invalidQuery);
  const wanted = { userId, filter: filter ?? {}, plain: format === TextFormat.PLAINTEXT };
  return new InboxWatch(ctx, wanted, await startingPosition(ctx, wanted, since));
}

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class InboxWatch implements AsyncIterableIterator<InboxEvent, undefined> {
  readonly #ctx: Context;
  readonly #wanted: Wanted;
  readonly #position: Position;
  readonly #wakes: AsyncIterator<void, void>;
  /** Events not yet consumed, at most one page. */
  #ready: InboxEvent[];
  #isPageFull = false;
  #isOver = false;

  constructor(ctx: Context, wanted: Wanted, position: Position) {
    this.#ctx = ctx;
    this.#wanted = wanted;
    this.#position = position;
    this.#ready = [unreadCountChanged(position.unreadCount)];
    if (position.isRestart) this.#ready.unshift(watchRestarted(position.unreadCount));
    startCounting(ctx.services, wanted.userId);
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

  /** Handles the abort of the signal. */
  handleEvent(): void {
    this.#end();
  }

  /** Reads the next page, after the former one was consumed: the backlog of slow consumers stays in the table. */
  async #read(): Promise<void> {
    const position = this.#position;
    const { items, lastSeq, unreadCount } = await readAbove(this.#ctx, this.#wanted, position);
    this.#isPageFull = items.length === pageSize;
    this.#ready = [...items];
    if (items.length === 0 && unreadCount !== position.unreadCount) this.#ready.push(unreadCountChanged(unreadCount));
    position.cursor = this.#isPageFull ? items.at(-1)!.notification.seq : Math.max(position.cursor, lastSeq);
    position.unreadCount = unreadCount;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ready = [];
    void this.#wakes.return?.();
    this.#ctx.signal.removeEventListener("abort", this);
    stopCounting(this.#ctx.services, this.#wanted.userId);
  }
}

const unreadCountChanged = (unreadCount: number): InboxEvent => ({
  __typename: "InboxUnreadCountChanged",
  unreadCount,
});

const watchRestarted = (unreadCount: number): InboxEvent => ({ __typename: "InboxWatchRestarted", unreadCount });

interface Start {
  lastSeq: number;
  unreadCount: number;
  /** The `seq` of the notification with the given id or `seq`. */
  found: number | null;
}

const selectStart = statement<Start>(`
  select last_seq as "lastSeq", unread_count as "unreadCount", coalesce(
    (select seq from inbox_notifications where id = $2 and user_id = $1),
    (select seq from inbox_notifications where user_id = $1 and seq = $3)
  ) as found
  from inbox_cursors where user_id = $1`);

/** Resolves `since` to a position in the inbox; without it, to the position after all committed notifications. */
async function startingPosition(
  ctx: Context,
  { userId, filter }: Wanted,
  since: string | null | undefined,
): Promise<Position> {
  const id = since && isUuid(since) ? since : null;
  const seq = since && /^\d{1,15}$/.test(since) ? Number(since) : null;
  const { lastSeq = 0, unreadCount = 0, found = null } = (await ctx.row(selectStart, userId, id, seq)) ?? {};
  // Later notifications were unread when they arrived, even if they are read before the watcher receives them.
  const last = filter.readStatus === ReadStatus.READ ? lastSeq : null;
  const at = (cursor: number) => ({ cursor, seen: cursor, last, isRestart: false, unreadCount });
  if (since == null) return at(lastSeq);
  const known = seq === 0 ? 0 : found;
  if (known !== null) return at(known);
  if (seq !== null) return { cursor: 0, seen: Math.min(seq, lastSeq), last, isRestart: true, unreadCount };
  throw badInput(
    [{ field: "since", detail: "Must be the id or the cursor of a notification in your inbox." }],
    invalidQuery,
  );
}

const watchesAtMost = 20;

/** The number of open watches of each user, by server: tests run several in a process. */
const openWatches = new WeakMap<Services, Map<string, number>>();

function startCounting(services: Services, userId: string): void {
  const taken = openWatches.get(services) ?? new Map<string, number>();
  openWatches.set(services, taken);
  const count = taken.get(userId) ?? 0;
  if (count >= watchesAtMost) {
    const detail = `An inbox can have at most ${watchesAtMost} open watches.`;
    throw new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter: 1 });
  }
  taken.set(userId, count + 1);
}

function stopCounting(services: Services, userId: string): void {
  const taken = openWatches.get(services)!;
  const count = taken.get(userId)! - 1;
  if (count > 0) taken.set(userId, count);
  else taken.delete(userId);
}
