import type { Context } from "../kernel/context.js";
import { type Reach, requireAnyReach } from "../authorization/authorization.js";
import { plannedEachTime } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import type { ConnectionLogRow } from "./connections.js";
import { readConnectionSearch } from "./search.js";
import { type Selection, selectionOf } from "./selection.js";

/** Up to how many connections are counted; where there are more, the count is one more than this. */
export const countCap = 2000;

/** Who connected to which workspace, newest first, as far as the caller may know. */
export async function listConnectionLogs(
  ctx: Context,
  q: string | null | undefined,
  page: PageArguments,
): Promise<Page<ConnectionLogRow>> {
  const reach = requireAnyReach(ctx.actor, "connection_log:read");
  requireFeature(ctx, "connection_log");
  const problems = new Problems();
  const range = readRange(page, ["time"], problems);
  problems.throwIfAny(invalidQuery);
  const selection = selectionOf(ctx.actor, readConnectionSearch(q), reach);
  return pageOf(range, await pageRows(ctx, selection, range, reach), {
    cursor: ({ id, connectTime }) => cursor(id, connectTime),
    count: () => countRows(ctx, selection),
  });
}

/** What each stretch of a selection adds, in the order of the list or against it. */
const stretches = ({ from, conditions }: Selection, columns: string, direction: "asc" | "desc", most: string) =>
  `${from.map((item) => `${item} cross join lateral `).join("")} (
    select ${columns} from connection_logs l
    ${conditions.length > 0 ? `where ${conditions.join(" and ")}` : ""}
    order by l.connect_time ${direction}, l.id ${direction} limit ${most}) s`;

/**
 * Reads by key which rows are wanted, and only then the rows, one by one (`offset 0`): those that are skipped are not
 * read, and a small log is not read as a whole.
 */
function pageRows(ctx: Context, selection: Selection, { backward, limit, offset, place }: Range, reach: Reach) {
  const values = [...selection.values, limit + 1, offset];
  const [most, skipped] = [`$${values.length - 1}::bigint`, `$${values.length}::bigint`];
  const conditions = [...selection.conditions];
  if (place) {
    const [time, id] = [`$${values.push(place.keys?.[0])}::timestamptz`, `$${values.push(place.id)}::uuid`];
    const isReadable = `($${values.push(reach.everywhere)} or organization_id = any($${values.push(reach.organizations)}::uuid[]))`;
    conditions.push(`(l.connect_time, l.id) ${backward ? ">" : "<"}
      (coalesce(${time}, (select connect_time from connection_logs where id = ${id} and ${isReadable})), ${id})`);
  }
  const direction = backward ? "asc" : "desc";
  const found = stretches({ ...selection, conditions }, "l.id, l.connect_time", direction, `${most} + ${skipped}`);
  const wanted = plannedEachTime<ConnectionLogRow>(`
    select l.id, l.type, l.connect_time as "connectTime", l.ip, l.organization_id as "organizationId",
      l.workspace_id as "workspaceId", l.workspace_name as "workspaceName",
      l.workspace_owner_id as "workspaceOwnerId", l.agent_name as "agentName", l.connection_id as "connectionId",
      l.disconnect_time as "disconnectTime", l.disconnect_reason as "disconnectReason", l.exit_code as "exitCode",
      l.slug_or_port as "slugOrPort", l.status_code as "statusCode", l.user_id as "userId",
      l.user_agent as "userAgent"
    from (select s.id, s.connect_time from ${found}
      order by s.connect_time ${direction}, s.id ${direction} limit ${most} offset ${skipped}) page
    cross join lateral (select * from connection_logs where id = page.id offset 0) l
    order by page.connect_time ${direction}, page.id ${direction}`);
  return ctx.rows(wanted, ...values);
}

/** Counts in the order of the list: Postgres would read the whole table where it expects matches all over it. */
async function countRows(ctx: Context, selection: Selection): Promise<number> {
  const most = String(countCap + 1);
  const counted = plannedEachTime<{ count: number }>(`
    select count(*) from (select from ${stretches(selection, "", "desc", most)} limit ${most}) counted`);
  return (await ctx.row(counted, ...selection.values))?.count ?? 0;
}
