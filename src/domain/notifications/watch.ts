import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, DomainError, Problems } from "../kernel/errors.js";
import { invalidQuery } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";
import { type Watch, watching } from "../kernel/watching.js";
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
export async function watchInbox(ctx: Context, { filter, format, since }: WatchInbox): Promise<Watch<InboxEvent>> {
  const userId = inboxOwner(ctx);
  const wanted = { userId, filter: filter ?? {}, plain: format === TextFormat.PLAINTEXT };
  let position: Position;

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
      startCounting(ctx.services, userId);
      const { unreadCount, isRestart } = position;
      return [...(isRestart ? [watchRestarted(unreadCount)] : []), unreadCountChanged(unreadCount)];
    },
    async read(fresh) {
      const { items, lastSeq, unreadCount } = await readAbove(fresh, wanted, position);
      const isMore = items.length === pageSize;
      const isOtherCount = items.length === 0 && unreadCount !== position.unreadCount;
      position.cursor = isMore ? items.at(-1)!.notification.seq : Math.max(position.cursor, lastSeq);
      position.unreadCount = unreadCount;
      return { events: isOtherCount ? [unreadCountChanged(unreadCount)] : items, isMore };
    },
    onEnd() {
      stopCounting(ctx.services, userId);
      return [];
    },
  });
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
