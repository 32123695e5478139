import { userIdOf } from "../kernel/actor.js";
import { sight } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import {
  cursor,
  invalidQuery,
  type OrderBy,
  OrderDirection,
  type PageArguments,
  pageOf,
  readRange,
} from "../kernel/paging.js";
import { allOf, anyOf, containing, given, joined, raw, type Sql, sql } from "../kernel/sql.js";
import { isSharedWith } from "../workspaces/workspaces.js";
import { readTaskSearch, type TaskConditions } from "./search.js";
import { taskStatus, type TaskStatus, taskTables, workspaceStatusesOf } from "./status.js";
import { taskColumns, taskRows, type TaskRow } from "./tasks.js";

/** Filters of tasks. An absent filter does not narrow. */
export interface TaskFilter {
  /** Id, username or `me`. */
  owner?: string | null;
  /** Id, name or `default`. */
  organization?: string | null;
  status?: TaskStatus[] | null;
  /** Part of the name or display name, in any letter case. */
  search?: string | null;
}

export const TaskOrderField = { CREATED_AT: "createdAt" } as const;
export type TaskOrderField = (typeof TaskOrderField)[keyof typeof TaskOrderField];

export interface TasksQuery extends PageArguments {
  /** A search query, as in the REST API. */
  q?: string | null;
  filter?: TaskFilter | null;
  /** By default descending. */
  orderBy?: OrderBy<TaskOrderField> | null;
}

/** Lists the tasks that the caller may read, newest first unless ordered otherwise. */
export async function listTasks(ctx: Context, { q, filter, orderBy, ...page }: TasksQuery): Promise<Page<TaskRow>> {
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems);
  problems.throwIfAny(invalidQuery);
  const [searched, filtered] = await Promise.all([readTaskSearch(ctx, q), readTaskSearch(ctx, queryOf(filter ?? {}))]);
  const matches = allOf(isReadable(ctx), conditionsOf(searched), conditionsOf(filtered));
  const order = byCreation(ctx, orderBy?.direction !== OrderDirection.ASC);
  const caller = userIdOf(ctx.actor) ?? null;
  const select = (beyond?: Sql) => sql`
    select ${raw(taskColumns("(select id from caller)"))} from ${raw(taskRows)}
    where ${allOf(sql`t.deleted_at is null`, matches, beyond)}`;
  const counted = searched.statuses?.length || filtered.statuses?.length ? taskTables : "tasks t";
  const rows = sql`with caller as (select ${caller}::uuid as id) ${rowsIn(range, order, select)}`;
  return pageOf(range, await ctx.select<TaskRow>(rows), {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    // A count reads all tasks that match, so it joins only the tables of its conditions.
    count: () =>
      ctx.count(sql`select count(*) from ${raw(counted)} where ${allOf(sql`t.deleted_at is null`, matches)}`),
  });
}

const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;

/** The filter as a search query, which has the same rules. */
const queryOf = ({ owner, organization, status, search }: TaskFilter): string =>
  [
    owner && `owner:${quoted(owner)}`,
    organization && `organization:${quoted(organization)}`,
    status?.length ? `status:${status.join()}` : undefined,
    search && quoted(search),
  ]
    .filter(Boolean)
    .join(" ");

const byCreation = (ctx: Context, isDescending: boolean): Order => ({
  keys: [
    {
      column: sql`t.created_at`,
      ofPlace: (id) => sql`(
        select t.created_at from tasks t where ${allOf(sql`t.id = ${id}`, isReadable(ctx))})`,
    },
  ],
  id: sql`t.id`,
  isDescending,
});

/** The condition that the caller may read the task `t`; absent if the caller may read all tasks. */
function isReadable({ actor }: Context): Sql | undefined {
  const { everywhere, organizations } = sight(actor, "task:read");
  if (everywhere) return undefined;
  const caller = userIdOf(actor) ?? null;
  // Owners lose their tasks with their membership, as their workspaces.
  const memberships = actor.kind === "user" ? [...actor.organizations.keys()] : [];
  const isOwn = sql`(t.owner_id = ${caller} and t.organization_id = any(${memberships}::uuid[]))`;
  const isTheirs = sql`t.organization_id = any(${organizations}::uuid[])`;
  return anyOf(...(organizations.length > 0 ? [isTheirs] : []), isOwn, isSharedWith("t.workspace_id", caller));
}

function conditionsOf({ ownerIds, organizationIds, statuses, words }: TaskConditions): Sql | undefined {
  const conditions = [
    ...(ownerIds ?? []).map((ids) => sql`t.owner_id = any(${ids}::uuid[])`),
    ...(organizationIds ?? []).map((ids) => sql`t.organization_id = any(${ids}::uuid[])`),
    ...(statuses ?? []).map(hasStatus),
    ...(words ?? []).map(isNamed),
  ];
  return given(conditions.length > 0 ? conditions : null, (all) => allOf(...all));
}

/** Narrows by the status of the workspace as well, for which there is an index. */
function hasStatus(statuses: readonly TaskStatus[]): Sql {
  const ofWorkspaces = [...new Set(statuses.flatMap((status) => workspaceStatusesOf[status]))];
  return sql`(w.latest_status = any(${ofWorkspaces}) and ${raw(taskStatus)} = any(${statuses}))`;
}

const isNamed = (parts: readonly string[]): Sql =>
  sql`(${joined(
    parts.map((part) => {
      const pattern = containing(part.toLowerCase());
      return sql`(lower(t.name) like ${pattern} or lower(t.display_name) like ${pattern})`;
    }),
    " or ",
  )})`;
