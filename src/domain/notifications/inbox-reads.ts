import { boundedPool } from "../kernel/bounded-pool.js";
import type { Context, Services } from "../kernel/context.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { inboxColumns, type InboxFilter, type InboxNotification, isUnread, matching } from "./inbox.js";
import { plainText } from "./markdown.js";

/** Maximum number of notifications that a watcher reads at a time. */
export const pageSize = 100;

/** Maximum number of watchers in one statement. */
const batchSize = 100;

/** What a watcher wants to see. */
export interface Wanted {
  userId: string;
  filter: InboxFilter;
  plain: boolean;
}

/** The place of a watcher in the inbox, by the `seq` of notifications. */
export interface Place {
  /** It wants notifications after this one. */
  cursor: number;
  /** Up to this one, it wants only unread notifications. */
  seen: number;
  /** It wants no notifications after this one; null means no limit. */
  last: number | null;
}

/** The event that a notification arrived. */
export interface NotificationAdded {
  __typename: "InboxNotificationAdded";
  notification: InboxNotification;
  /** The number of unread notifications when it was read. */
  unreadCount: number;
  /** Resumes after it. */
  cursor: string;
}

/** What a watcher reads in one snapshot: notifications up to `lastSeq` that are not in `items` do not match. */
export interface Above {
  items: readonly NotificationAdded[];
  lastSeq: number;
  unreadCount: number;
}

interface Waiting {
  wanted: Wanted;
  place: Place;
  result: PromiseWithResolvers<Above>;
}

/** Limits the connections of watchers, all of which read after a gap in the bus. */
const inTurn = boundedPool(4);

/**
 * Reads for watchers of inboxes. Those that wake together read together: one statement for all with the same filter,
 * and one result, with the same objects, for those of a user at the same place.
 */
class InboxReads {
  /** Watchers that wait for the next reads, by filter, and by user and place. */
  #waiting = new Map<string, Map<string, Waiting>>();

  above(ctx: Context, wanted: Wanted, place: Place): Promise<Above> {
    if (this.#waiting.size === 0) setImmediate(() => this.#read(ctx.afresh()));
    const shape = JSON.stringify([wanted.filter, wanted.plain]);
    const alike = this.#waiting.get(shape) ?? new Map<string, Waiting>();
    this.#waiting.set(shape, alike);
    const key = `${wanted.userId} ${place.cursor} ${place.seen} ${place.last}`;
    const waiting = alike.get(key) ?? { wanted, place, result: Promise.withResolvers<Above>() };
    alike.set(key, waiting);
    return waiting.result.promise;
  }

  #read(ctx: Context): void {
    const shapes = [...this.#waiting.values()];
    this.#waiting = new Map();
    for (const alike of shapes) {
      const all = [...alike.values()];
      while (all.length > 0) void this.#readBatch(ctx, all.splice(0, batchSize));
    }
  }

  async #readBatch(ctx: Context, batch: readonly Waiting[]): Promise<void> {
    try {
      const rows = Map.groupBy(await inTurn(() => ctx.select<Row>(select(batch))), ({ nr }) => nr);
      for (const [index, { wanted, result }] of batch.entries())
        result.resolve(resultOf(rows.get(index) ?? [], wanted.plain));
    } catch (error) {
      for (const { result } of batch) result.reject(error);
    }
  }
}

type Row = InboxNotification & { nr: number; lastSeq: number; unreadCount: number };

/** Reads a page for each of several watchers with the same filter. */
function select(batch: readonly Waiting[]): Sql {
  const user = sql`mine.user_id`;
  return sql`
    select w.nr, mine.last_seq as "lastSeq", mine.unread_count as "unreadCount", item.*
    from unnest(${batch.map((_, index) => index)}::int[], ${batch.map(({ wanted }) => wanted.userId)}::uuid[],
        ${batch.map(({ place }) => place.cursor)}::bigint[], ${batch.map(({ place }) => place.seen)}::bigint[],
        ${batch.map(({ place }) => place.last)}::bigint[]) as w (nr, user_id, cursor, seen, last)
      join inbox_cursors mine on mine.user_id = w.user_id
      left join lateral (
        select ${inboxColumns} from inbox_notifications item
        where ${matching(user, batch[0]!.wanted.filter)} and item.seq > w.cursor
          and (item.seq > w.seen or ${isUnread(user)})
          and (w.last is null or item.seq <= w.last)
        order by item.seq limit ${raw(String(pageSize))}
      ) item on true
    order by w.nr, item.seq`;
}

function resultOf(rows: readonly Row[], plain: boolean): Above {
  const { lastSeq = 0, unreadCount = 0 } = rows[0] ?? {};
  const found = rows.filter(({ id }) => id !== null);
  const items = found.map((item) => ({
    __typename: "InboxNotificationAdded" as const,
    notification: plain ? inPlainText(item) : item,
    unreadCount,
    cursor: String(item.seq),
  }));
  return { lastSeq, unreadCount, items };
}

const inPlainText = (item: InboxNotification): InboxNotification => ({
  ...item,
  title: plainText(item.title),
  content: plainText(item.content),
});

/** By server: tests run several in a process. */
const reads = new WeakMap<Services, InboxReads>();

/** Reads what is above a place of an inbox. */
export function readAbove(ctx: Context, wanted: Wanted, place: Place): Promise<Above> {
  const { services } = ctx;
  const shared = reads.get(services) ?? new InboxReads();
  reads.set(services, shared);
  return shared.above(ctx, wanted, place);
}
