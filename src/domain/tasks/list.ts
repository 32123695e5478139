import { requireUser, userIdOf } from "../kernel/actor.js";
import { sight } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import {
  allNarrowings,
  countAllMatches,
  countMatches,
  countUpTo,
  descends,
  type Fixed,
  matchesIn,
  mostCounted,
  type Narrowing,
  type Order,
  rowsIn,
  type Search,
} from "../kernel/list.js";
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
import { allOf, anyOf, contains, given, joined, raw, type Sql, sql } from "../kernel/sql.js";
import { isSharedWith } from "../workspaces/workspaces.js";
import { readTaskSearch, type TaskConditions } from "./search.js";
import type { TaskStatus } from "./status.js";
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

/**
 * Lists the tasks that the caller may read, newest first unless ordered otherwise. Counts up to `mostCounted`, unless
 * the exact number is requested.
 */
export async function listTasks(ctx: Context, { q, filter, orderBy, ...page }: TasksQuery): Promise<Page<TaskRow>> {
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems);
  problems.throwIfAny(invalidQuery);
  const searches = await Promise.all([readTaskSearch(ctx, q), readTaskSearch(ctx, queryOf(filter ?? {}))]);
  const isDescending = orderBy?.direction !== OrderDirection.ASC;
  const parts = partsOf(readable(ctx), selectionsOf(searches), isDescending);
  const rows = await ctx.select<TaskRow>(rowsOf(ctx, idsIn(range, isDescending, parts)));
  return pageOf(range, rows, {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    count: async (isExact) =>
      isExact ? ctx.count(sumOf(parts, countAll)) : Math.min(await ctx.count(sumOf(parts, countSome)), mostCounted),
  });
}

/** Reads the tasks with `ids` one by one. Postgres would otherwise join all tasks before it limits them. */
const rowsOf = ({ actor }: Context, ids: Sql): Sql => sql`
  with caller as (select ${userIdOf(actor) ?? null}::uuid as id)
  select r.* from (${ids}) chosen cross join lateral (
    select ${raw(taskColumns("(select id from caller)"))} from ${raw(taskRows)} where t.id = chosen.id offset 0) r`;

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

/** A part of the list, of which an index has the order. */
interface Part {
  order: Order;
  from: (more?: Sql) => Sql;
  /** The values of the order. */
  isFixed: Sql;
  /** Absent unless few tasks may match. */
  search: Search | undefined;
}

/** Selects the ids of a range. Parts are each read up to the end of the range, and then sorted. */
function idsIn(range: Range, isDescending: boolean, parts: readonly Part[]): Sql {
  const [only, ...others] = parts;
  if (only && others.length === 0) return idsOf(range, only);
  const { limit, offset } = range;
  const each = parts.map((part) => sql`(${idsOf({ ...range, limit: limit + offset, offset: 0 }, part)})`);
  const direction = raw(descends(range, { isDescending }) ? "desc" : "asc");
  return sql`
    select id from (${joined(each, " union all ")}) ids
    order by created_at ${direction}, id ${direction} limit ${limit + 1} offset ${offset}`;
}

const idsOf = (range: Range, { order, from, search }: Part): Sql =>
  search
    ? matchesIn(range, order, search)
    : rowsIn(range, order, (beyond) => sql`select ${raw(orderColumns)} ${from(beyond)}`);

const orderColumns = "t.id, t.created_at";

const sumOf = (parts: readonly Part[], countOf: (part: Part) => Sql): Sql =>
  sql`select ${joined(
    parts.map(countOf).map((count) => sql`(${count})`),
    " + ",
  )} as count`;

/** Counts the tasks of a part up to `mostCounted`. */
const countSome = ({ order, from, isFixed, search }: Part): Sql =>
  search ? countMatches(order, search) : countUpTo(mostCounted, sql`select ${from(isFixed)}`);

/** Counts all tasks of a part. */
function countAll({ order, from, isFixed, search }: Part): Sql {
  const count = sql`select count(*) ${from(allOf(isFixed, search && sql`(${search.matches}) is true`))}`;
  return search ? countAllMatches(order, search, count) : count;
}

/** What a list selects: tasks with values of columns, and that meet conditions. */
interface Selection {
  equal: ReadonlyArray<Fixed & { name: keyof typeof columns }>;
  conditions?: ReadonlyArray<Sql | undefined>;
  /** Conditions that few tasks may meet. */
  narrowings?: readonly Sql[];
}

/**
 * The columns of filters. There is an index of each with the time, and of the status with each other and the time. With
 * the status in second place, Postgres would take these also for lists without a status, and sort all rows.
 */
const columns = {
  ownerIds: sql`t.owner_id`,
  organizationIds: sql`t.organization_id`,
  statuses: sql`t.status`,
};

const equalTo = (name: keyof typeof columns, value: string) => ({
  name,
  column: columns[name],
  // One of six words, which are safe in SQL. Half of all tasks may have a status.
  value: name === "statuses" ? raw(`'${value}'`) : value,
});

const isEqual = ({ column, value }: Fixed): Sql => sql`${column} = ${value}`;

/** The selection of a search: one per status. */
function selectionsOf(searches: readonly TaskConditions[]): Selection[] {
  const equal: Array<ReturnType<typeof equalTo>> = [];
  const narrowings = searches.flatMap(({ words }) => words ?? []).map(isNamed);
  for (const name of ["ownerIds", "organizationIds"] as const) {
    const ids = common(searches.flatMap((each) => each[name] ?? []));
    if (ids?.length === 1) equal.push(equalTo(name, ids[0]!));
    else if (ids) narrowings.push(sql`${columns[name]} = any(${ids}::uuid[])`);
  }
  const statuses = common(searches.flatMap((each) => each.statuses ?? []));
  if (statuses === undefined) return [{ equal, narrowings }];
  if (statuses.length === 0) return [{ equal, narrowings: [...narrowings, sql`false`] }];
  return statuses.map((status) => ({ equal: [...equal, equalTo("statuses", status)], narrowings }));
}

/** The values that are in all lists; undefined without lists. */
const common = <Value>(lists: readonly Value[][]): Value[] | undefined =>
  lists.length > 0 ? [...new Set(lists[0])].filter((value) => lists.every((list) => list.includes(value))) : undefined;

/** Number of organizations whose tasks are read each by the index; those of more are one part. */
const mostParts = 4;

/** The tasks that the caller may read: all, or those of organizations, own ones and shared ones. None is in two of these. */
function readable({ actor }: Context): Selection[] {
  const { everywhere, organizations } = sight(actor, "task:read");
  if (everywhere) return [{ equal: [] }];
  const theirs: Selection[] =
    organizations.length > mostParts
      ? [{ equal: [], conditions: [sql`t.organization_id = any(${organizations}::uuid[])`] }]
      : organizations.map((id) => ({ equal: [equalTo("organizationIds", id)] }));
  const { userId: caller, organizations: memberships } = requireUser(actor);
  // Owners lose their tasks with their membership, as their workspaces.
  const isMember = sql`t.organization_id = any(${[...memberships.keys()]}::uuid[])`;
  const isElsewhere = organizations.length > 0 ? sql`t.organization_id <> all(${organizations}::uuid[])` : undefined;
  const isOther = sql`not (t.owner_id = ${caller} and ${isMember})`;
  return [
    ...theirs,
    { equal: [equalTo("ownerIds", caller)], conditions: [isMember, isElsewhere] },
    { equal: [], conditions: [isSharedWith("t.workspace_id", caller), isOther, isElsewhere] },
  ];
}

/** The parts of the list: what is both readable and selected. No task is in two of them. */
function partsOf(readables: readonly Selection[], selected: readonly Selection[], isDescending: boolean): Part[] {
  const isReadable = anyOf(
    ...readables.map(({ equal, conditions = [] }) => allOf(...equal.map(isEqual), ...conditions)),
  );
  const keys = [
    {
      column: sql`t.created_at`,
      ofPlace: (id: string) => sql`(
        select t.created_at from tasks t where t.deleted_at is null and t.id = ${id} and ${isReadable})`,
    },
  ];
  const pairs = readables.flatMap((part) => selected.map((each) => ({ ...part, selected: each })));
  return pairs.map(({ equal: own, conditions = [], selected: { equal: wanted, narrowings = [] } }) => {
    const equal = [...own, ...wanted];
    const named = (name: keyof typeof columns) => equal.find((each) => each.name === name);
    const fixed = [named("statuses"), named("ownerIds") ?? named("organizationIds")].filter(
      (each) => each !== undefined,
    );
    const others = equal.filter((each) => !fixed.includes(each)).map(isEqual);
    const from = (more?: Sql) =>
      sql`from tasks t where ${allOf(sql`t.deleted_at is null`, ...conditions, ...others, more)}`;
    const order = { fixed, keys, id: sql`t.id`, isDescending };
    return { order, from, isFixed: allOf(...fixed.map(isEqual)), search: searchFor(narrowings, from) };
  });
}

/** The search for tasks that meet all conditions; absent without conditions. */
const searchFor = (conditions: readonly Sql[], from: Search["from"]): Search | undefined =>
  given(allNarrowings(conditions.map(narrowing)), (all) => ({ columns: raw(orderColumns), from, ...all }));

const narrowing = (matches: Sql): Narrowing => ({
  matches,
  candidates: sql`select t.id from tasks t where t.deleted_at is null and ${matches}`,
});

const isNamed = (parts: readonly string[]): Sql =>
  anyOf(...parts.flatMap((part) => [contains("t.name", part), contains("t.display_name", part)]));
