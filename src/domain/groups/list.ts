import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { sight } from "../authorization/authorization.js";
import { DomainError, Problems } from "../kernel/errors.js";
import {
  countMatches,
  countUpTo,
  descends,
  matchesIn,
  mostCounted,
  type Order,
  rowsIn,
  type Search,
} from "../kernel/list.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Page } from "../kernel/page.js";
import {
  cursor,
  invalidQuery,
  type OrderBy,
  OrderDirection,
  type OrderKeys,
  type PageArguments,
  pageOf,
  type Place,
  type Range,
  readRange,
} from "../kernel/paging.js";
import { idNamed } from "../kernel/references.js";
import { allOf, anyOf, contains, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findUser } from "../users/users.js";
import {
  groupColumns,
  groupsWithOrganization,
  type GroupRow,
  type GroupSource,
  isIn,
  isReadableGroup,
  isReadableMembership,
} from "./groups.js";
import { membersAtOnce, type MembersQuery, pagesColumn } from "./members.js";

/** Filters of groups. An absent filter does not narrow. */
export interface GroupFilter {
  /** Id, name or `default`. */
  organization?: string | null;
  /** Id, username or `me`. */
  hasMember?: string | null;
  ids?: string[] | null;
  source?: GroupSource | null;
  /** Part of the name or display name, in any letter case. */
  search?: string | null;
}

/** Orders of groups. None by member count, since each new member would then write all indexes of its groups. */
export const GroupOrderField = { NAME: "name" } as const;
export type GroupOrderField = (typeof GroupOrderField)[keyof typeof GroupOrderField];

export interface GroupsQuery extends PageArguments {
  /** All groups instead of a page. */
  complete?: boolean | null;
  /** By default ascending. */
  orderBy?: OrderBy<GroupOrderField> | null;
  filter?: GroupFilter | null;
}

const mostIds = 200;

/** Maximum number of groups in a complete list. */
const mostGroups = 1_000_000;

/** The columns of the groups `g` of a list, each with fewer members read in the same statement. */
export const listedColumns = raw(`${groupColumns}, ${membersAtOnce.listed} as "membersAtOnce"`);

/** The keys of the order by name in cursors. */
export const nameKeys = { organization: "text", name: "text" } as const satisfies OrderKeys;

export const nameCursor = ({ id, organizationName, name }: GroupRow): string =>
  cursor(id, { organization: organizationName, name } satisfies Record<keyof typeof nameKeys, string>);

/** Lists the groups that the caller may read, by name of their organization, name and id. Counts up to `mostCounted`. */
export async function listGroups(
  ctx: Context,
  { filter, complete, orderBy, ...page }: GroupsQuery,
  members: readonly MembersQuery[] = [],
): Promise<Page<GroupRow>> {
  const problems = new Problems();
  const { organization: reference, search, ...others } = filter ?? {};
  const organization = await idOf(ctx, reference, findOrganization, "filter.organization", problems);
  const matches = await matching(ctx, others, problems);
  const range = complete ? { limit: mostGroups, offset: 0, backward: false } : readRange(page, nameKeys, problems);
  problems.throwIfAny(invalidQuery);

  const order = byName(ctx, orderBy?.direction === OrderDirection.DESC);
  const columns = sql`${listedColumns}${pagesColumn(ctx, members, membersAtOnce.listed)}`;
  const isListed = allOf(
    given(organization, (id) => sql`g.organization_id = ${id}`),
    matches,
  );
  const from = (condition?: Sql) => sql`from ${raw(groupsWithOrganization)} where ${allOf(isListed, condition)}`;
  const isSorted = complete || Object.values(others).some(Boolean) || !readsOrganizations(ctx);
  const firstRows = isSorted
    ? undefined
    : (first: Range) => sql`from ${byOrganization(ctx, organization, first, order, isListed)}`;
  const named = given(search || undefined, isNamed);
  const found = firstRows && named && { columns, from, firstRows, ...named };
  const select = (beyond?: Sql) =>
    sql`select ${columns} ${firstRows ? firstRows(range) : from(allOf(named?.matches, beyond))}`;
  return pageOf(
    range,
    await ctx.select<GroupRow>(found ? matchesIn(range, order, found) : rowsIn(range, order, select)),
    {
      cursor: nameCursor,
      count: () => {
        const all = sql`select from groups g where ${allOf(isListed, named?.matches)}`;
        return ctx.count(found ? countMatches(order, found) : countUpTo(mostCounted, all));
      },
    },
  );
}

/** Whether the caller may read all groups of an organization, and not only the groups that it is in. */
function readsOrganizations({ actor }: Context): boolean {
  const { everywhere, organizations } = sight(actor, "group:read");
  return everywhere || organizations.length > 0;
}

/**
 * Selects groups by organization: for each, only as many as the range can need, by the index of names. A join, which is
 * faster if only some groups match, would sort all groups.
 */
function byOrganization(ctx: Context, organization: string | null, range: Range, order: Order, condition: Sql): Sql {
  const direction = descends(range, order) ? " desc" : "";
  const isSelected = allOf(
    sql`deleted_at is null`,
    given(organization, (id) => sql`id = ${id}`),
    hasReadableGroups(ctx),
  );
  return sql`(select * from organizations where ${isSelected} order by name${raw(direction)}) o
    cross join lateral (${ofOrganization(range, order, condition)}) g`;
}

/** Selects the groups of the organization `o` that a range can need: those beyond its start, all, or none. */
function ofOrganization(range: Range, order: Order, condition: Sql): Sql {
  const { limit, offset, backward, place } = range;
  const [ofName, ...keys] = order.keys;
  const rows = (start?: Place) =>
    rowsIn(
      { limit: limit + offset, offset: 0, backward, ...(start && { place: start }) },
      { ...order, keys },
      (beyond) => sql`select * from groups g where g.organization_id = o.id and ${allOf(condition, beyond)}`,
    );
  if (!place) return rows();
  const [name, ...others] = place.keys ?? [];
  const start = name ?? ofName!.ofPlace(place.id);
  return sql`
    select * from (${rows({ id: place.id, ...(name !== undefined && { keys: others }) })}) here where o.name = ${start}
    union all
    select * from (${rows()}) beyond where o.name ${raw(descends(range, order) ? "<" : ">")} ${start}`;
}

/** The condition that the caller may read groups of an organization; absent if it always holds. */
function hasReadableGroups({ actor }: Context): Sql | undefined {
  const { everywhere, organizations } = sight(actor, "group:read");
  if (everywhere) return undefined;
  return sql`(id = any(${organizations}::uuid[])
    or id in (select organization_id from organization_members where user_id = ${userIdOf(actor) ?? null}))`;
}

/** Lists the groups of one organization, which the caller must be able to read. */
export async function listOrganizationGroups(
  ctx: Context,
  organizationRef: string,
  query: GroupsQuery,
  members: readonly MembersQuery[] = [],
): Promise<Page<GroupRow>> {
  const { id } = await findOrganization(ctx, organizationRef);
  return listGroups(ctx, { ...query, filter: { ...query.filter, organization: id } }, members);
}

/** Orders by name of the organization, name and id. A page may begin only at a group that the caller may read. */
export function byName(ctx: Context, isDescending = false): Order {
  const key = (column: Sql) => ({
    column,
    ofPlace: (id: string) => sql`(
      select ${column} from ${raw(groupsWithOrganization)} where ${allOf(sql`g.id = ${id}`, isReadableGroup(ctx))})`,
  });
  return { keys: [key(sql`o.name`), key(sql`g.name`)], id: sql`g.id`, isDescending };
}

/** The condition that a name of the group `g` contains a text, in any letter case. */
function isNamed(part: string): Pick<Search, "matches" | "candidates"> {
  const matches = anyOf(contains("g.name", part), contains("g.display_name", part));
  return { matches, candidates: sql`select g.id from groups g where ${matches}` };
}

async function matching(
  ctx: Context,
  filter: Omit<GroupFilter, "organization" | "search">,
  problems: Problems,
): Promise<Sql> {
  const { ids, source } = filter;
  const member = await idOf(ctx, filter.hasMember, findUser, "filter.hasMember", problems);
  problems.add("filter.ids", ids && ids.length > mostIds ? `Must be at most ${mostIds} ids.` : undefined);
  return allOf(
    isReadableGroup(ctx),
    given(member, (id) => allOf(isIn(id), isReadableMembership(ctx, id))),
    given(ids, (some) => sql`g.id = any(${some}::uuid[])`),
    given(source, (made) => sql`g.source = ${made}`),
  );
}

/** Returns the id of the object that a filter names. Adds a problem for a name that the caller cannot see. */
async function idOf(
  ctx: Context,
  ref: string | null | undefined,
  find: (ctx: Context, ref: string) => Promise<{ id: string }>,
  field: string,
  problems: Problems,
): Promise<string | null> {
  if (!ref) return null;
  try {
    return await idNamed(ctx, ref, find);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
    problems.add(field, "Must be an id or a name that you can see.");
    return null;
  }
}
