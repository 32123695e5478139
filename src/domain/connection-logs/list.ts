import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { type Reach, requireAnyReach } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { countUpTo, descends, inOrder, type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import {
  cursor,
  invalidQuery,
  type OrderBy,
  OrderDirection,
  type PageArguments,
  pageOf,
  type Range,
  readRange,
} from "../kernel/paging.js";
import { purge } from "../kernel/purge.js";
import { allOf, raw, type Sql, sql } from "../kernel/sql.js";
import { columns, type ConnectionLogRow } from "./connections.js";
import { readConnectionSearch } from "./search.js";
import { fromEach, type Selection, selectionOf } from "./selection.js";

/** Maximum exact count. The count of more connections is `countCap + 1`. */
export const countCap = 2000;

export const ConnectionLogOrderField = { CONNECT_TIME: "connectTime" } as const;
export type ConnectionLogOrderField = (typeof ConnectionLogOrderField)[keyof typeof ConnectionLogOrderField];

/**
 * Lists connections, by default newest first: all of them for auditors, else those of organizations within the caller's
 * reach.
 */
export async function listConnectionLogs(
  ctx: Context,
  q: string | null | undefined,
  page: PageArguments,
  orderBy: OrderBy<ConnectionLogOrderField> | null | undefined,
): Promise<Page<ConnectionLogRow>> {
  const actor = requireUser(ctx.actor);
  const reach = requireAnyReach(actor, "connection_log:read");
  requireFeature(ctx, "connection_log");
  const problems = new Problems();
  const range = readRange(page, { connectTime: "time" }, problems);
  problems.throwIfAny(invalidQuery);
  const selection = selectionOf(actor, readConnectionSearch(q), reach);
  const order = byTime(selection, reach, orderBy?.direction !== OrderDirection.ASC);
  return pageOf(range, await ctx.select<ConnectionLogRow>(pageIn(range, selection, order)), {
    cursor: ({ id, connectTime }) => cursor(id, { connectTime }),
    count: () => ctx.count(counting(selection, order)),
  });
}

/** Orders by time. A page may begin only at a connection that the caller may read. */
const byTime = ({ fixed }: Selection, { everywhere, organizations }: Reach, isDescending: boolean): Order => {
  const isReadable = everywhere ? sql`true` : sql`organization_id = any(${organizations}::uuid[])`;
  return {
    fixed,
    keys: [
      {
        column: sql`l.connect_time`,
        ofPlace: (id) => sql`(select connect_time from connection_logs where id = ${id} and ${isReadable})`,
      },
    ],
    id: sql`l.id`,
    isDescending,
  };
};

/**
 * Selects the ids of a page from the index, at most a page from each range, and then reads the rows by id. `offset 0`
 * is a planner fence: skipped rows are not read, and a small log is not scanned as a whole.
 */
function pageIn(range: Range, selection: Selection, order: Order): Sql {
  const { limit, offset } = range;
  const select = (beyond?: Sql) =>
    sql`select l.id, l.connect_time from connection_logs l where ${allOf(selection.matches, beyond)}`;
  const found = rowsIn({ ...range, limit: limit + offset, offset: 0 }, order, select);
  const direction = raw(descends(range, order) ? " desc" : "");
  return sql`
    select ${raw(columns)} from (
      select s.id, s.connect_time from ${fromEach(selection, found)}
      order by s.connect_time${direction}, s.id${direction} limit ${limit + 1} offset ${offset}
    ) page cross join lateral (select * from connection_logs where id = page.id offset 0) l
    order by page.connect_time${direction}, page.id${direction}`;
}

/** Counts, in each range, at most as many rows as in all. */
function counting(selection: Selection, order: Order): Sql {
  const most = countCap + 1;
  const select = (condition?: Sql) => sql`select from connection_logs l where ${allOf(selection.matches, condition)}`;
  const rows = sql`${inOrder(order, select)} limit ${raw(String(most))}`;
  return countUpTo(most, sql`select from ${fromEach(selection, rows)}`);
}

/** Deletes connections that are older than `STEWARD_CONNECTION_LOG_RETENTION`; 0 keeps them. */
export const connectionLogPurge = purge("connection_logs", {
  by: "connect_time",
  keptFor: ({ connectionLogRetention }) => connectionLogRetention || Infinity,
});
