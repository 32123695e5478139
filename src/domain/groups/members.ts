import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { may, reach } from "../authorization/authorization.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import {
  countAllMatches,
  countMatches,
  matchesIn,
  mostCounted,
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
import { allOf, given, joined, raw, type Sql, sql } from "../kernel/sql.js";
import { isReadable } from "../users/readable.js";
import { memberIds, memberships } from "./memberships.js";
import { type GroupMemberRow, memberReaders, membersIn, type MembersJson, type Reader } from "./member-rows.js";
import { type MemberSearch, memberSearch } from "./member-search.js";

/** The fields of a group that pages of its members need. */
export interface GroupOfMembers {
  id: string;
  organizationId: string;
  /** The number of all members, including those that the caller may not read. */
  totalMemberCount: number;
  /** Maximum number of members in a complete list. Default: the limit of a single group. */
  membersAtOnce?: number;
  /** Pages that were read with the group, by the keys of their queries. */
  pages?: Readonly<Record<string, MembersJson>>;
}

/** Filters of members. An absent filter does not narrow. */
export interface GroupMemberFilter {
  /** Words and `key:value` terms. */
  search?: string | null;
}

export const GroupMemberOrderField = { USERNAME: "username" } as const;
export type GroupMemberOrderField = (typeof GroupMemberOrderField)[keyof typeof GroupMemberOrderField];

/** A page of the members of a group. */
export interface MembersQuery extends PageArguments {
  /** All members, up to a limit, instead of a page. */
  complete?: boolean | null;
  /** By default ascending. */
  orderBy?: OrderBy<GroupMemberOrderField> | null;
  filter?: GroupMemberFilter | null;
  /** What to read of the members. Default: their accounts. */
  reads?: keyof typeof memberReaders;
  /** Does not read when users were added. */
  withoutAddedAt?: boolean;
}

/** Maximum number of members in a complete list: of a single group, and of each group in a list. */
export const membersAtOnce = { alone: 10_000, listed: 1000 } as const;

/** A parsed query. */
interface Selection {
  range: Range;
  isDescending: boolean;
  search: MemberSearch | undefined;
  reader: Reader;
  /** Equal for equal queries, regardless of the group. */
  key: string;
}

function readQuery(query: MembersQuery, atOnce: number = membersAtOnce.alone): Selection {
  const { filter, complete, orderBy, reads = "accounts", withoutAddedAt, ...page } = query;
  const problems = new Problems();
  const range = complete
    ? { limit: atOnce, offset: 0, backward: false }
    : readRange(page, { username: "text" }, problems);
  problems.throwIfAny(invalidQuery);
  const isDescending = orderBy?.direction === OrderDirection.DESC;
  const search = filter?.search || undefined;
  const reader = memberReaders[reads][withoutAddedAt ? "plain" : "dated"];
  const key = JSON.stringify([range, isDescending, search]);
  return { range, isDescending, search: given(search, memberSearch), reader, key };
}

/** Number of members from which reading users by name and probing for memberships is faster than sorting members. */
const manyMembers = 5000;

/** The condition that the user `u` is a member `m` of the group `g`. */
const isMember = sql`m.group_id = g.id and m.organization_id = g.organization_id and m.user_id = u.id`;

const sources = {
  /** Reads users by the ids of all members. One plan serves all groups: Postgres expects that an array has few values. */
  members: sql`users u where u.id = any(${raw(memberIds)})`,
  /** Reads users in order, and probes for the membership of each: `offset 0` forces nested loops. */
  users: sql`users u cross join lateral (select from ${raw(memberships)} m where ${isMember} offset 0) m
    where u.deleted_at is null and not u.is_system`,
};

/** Searches the users for members of the group `g`. */
const amongUsers = ({ matches, ...search }: MemberSearch): Omit<Search, "columns"> => ({
  ...search,
  from: (more) => sql`from users u where u.deleted_at is null and not u.is_system and ${allOf(more)}`,
  // For `exists`, Postgres would first read all members.
  matches: allOf(matches, sql`coalesce((select true from ${raw(memberships)} m where ${isMember}), false)`),
});

/**
 * Reads a value from the members of the group `g`, users `u`, that the caller may read: all, or only the caller.
 * `ofMany` reads it if the group has many.
 */
function fromReadable({ actor }: Context, read: (source: Sql) => Sql, ofMany = read(sources.users)): Sql {
  const { everywhere, organizations } = reach(actor, "group_member:read");
  const all = sql`case when g.member_count < ${raw(String(manyMembers))}
    then (${read(sources.members)}) else (${ofMany}) end`;
  if (everywhere) return all;
  const own = read(sql`${sources.users} and u.id = ${userIdOf(actor) ?? null}`);
  if (organizations.length === 0) return sql`(${own})`;
  return sql`case when g.organization_id = any(${organizations}::uuid[]) then ${all} else (${own}) end`;
}

const readsAll = ({ actor }: Context, { organizationId }: GroupOfMembers) =>
  may(actor, "group_member:read", { organizationId, ownerId: null });

const username = raw(foldedSql("u.username"));

/** Orders by username. A page may begin at a member or any other user that the caller may read: it may have left. */
const byName = (ctx: Context, { search, isDescending }: Pick<Selection, "search" | "isDescending">): Order => ({
  fixed: search?.fixed ?? [],
  keys: [
    {
      column: username,
      ofPlace: (id) => sql`(
        select ${username} from users u where u.id = ${id} and (${isReadable(ctx, "u")}
          or ${fromReadable(ctx, (source) => sql`select count(*) from ${source} and u.id = ${id}`)} > 0))`,
    },
  ],
  id: sql`u.id`,
  isDescending,
});

/** Reads a page of members of the group `g` as JSON. */
function readPage(ctx: Context, selection: Selection): Sql {
  const {
    range,
    search,
    reader: { columns, asJson },
  } = selection;
  const order = byName(ctx, selection);
  const select = (source: Sql) => (beyond?: Sql) =>
    sql`select ${columns} from ${source} and ${allOf(search?.matches, beyond)}`;
  const read = (source: Sql) => asJson(rowsIn(range, order, select(source)));
  return search
    ? fromReadable(ctx, read, asJson(matchesIn(range, order, { columns, ...amongUsers(search) })))
    : fromReadable(ctx, read);
}

/** A column `pages` of the group `g`, read in its snapshot. Omits invalid queries, which `membersOf` rejects. */
export function pagesColumn(ctx: Context, queries: readonly MembersQuery[], atOnce: number): Sql {
  const selections = queries.flatMap((query) => {
    try {
      return [readQuery(query, atOnce)];
    } catch {
      return [];
    }
  });
  if (selections.length === 0) return sql``;
  return sql`, json_build_object(${joined(selections.map((each) => sql`${each.key}::text, ${readPage(ctx, each)}`))}) as pages`;
}

interface GroupSelection {
  group: GroupOfMembers;
  selection: Selection;
}

/**
 * Reads the members of a group that the caller may read, by lower-case username: all, or only the caller. Counts the
 * members who match a search up to `mostCounted`, unless the exact number is requested.
 */
export async function membersOf(
  ctx: Context,
  group: GroupOfMembers,
  query: MembersQuery,
): Promise<Page<GroupMemberRow>> {
  const selection = readQuery(query, group.membersAtOnce);
  const page = group.pages?.[selection.key] ?? (await ctx.load(readPages, { group, selection }));
  return pageOf(selection.range, membersIn(page), {
    cursor: ({ user }) => cursor(user.id, { username: folded(user.username) }),
    count: (isExact) => countMembers(ctx, { group, selection }, isExact),
  });
}

const readPages = (ctx: Context, selections: readonly GroupSelection[]): Promise<MembersJson[]> =>
  readTogether<MembersJson>(ctx, selections, (selection) => readPage(ctx, selection), { members: {} });

async function countMembers(ctx: Context, selected: GroupSelection, isExact = false): Promise<number> {
  if (selected.selection.search) {
    return isExact ? ctx.load(countAllFound, selected) : Math.min(await ctx.load(countFound, selected), mostCounted);
  }
  // A caller who may read the group but not all members is a member.
  return readsAll(ctx, selected.group) ? selected.group.totalMemberCount : 1;
}

const countFound = (ctx: Context, selections: readonly GroupSelection[]): Promise<number[]> =>
  readTogether(ctx, selections, (selection) => readCount(ctx, selection, countMatches), 0);

const countAllFound = (ctx: Context, selections: readonly GroupSelection[]): Promise<number[]> =>
  readTogether(ctx, selections, (selection) => readCount(ctx, selection, countAllMatches), 0);

/** Counts the members of the group `g` that match a search: with few members all of them, otherwise by `ofMany`. */
function readCount(ctx: Context, selection: Selection, ofMany: typeof countAllMatches): Sql {
  const { search } = selection;
  const count = (source: Sql) => sql`select count(*) from ${source} and ${allOf(search?.matches)}`;
  return fromReadable(ctx, count, search && ofMany(byName(ctx, selection), amongUsers(search), count(sources.members)));
}

/** Reads a value for each group, in one statement for all groups with the same query. */
async function readTogether<Value>(
  ctx: Context,
  selections: readonly GroupSelection[],
  read: (selection: Selection) => Sql,
  ofNone: Value,
): Promise<Value[]> {
  const values = new Map<GroupSelection, Value>();
  const reads = Array.from(Map.groupBy(selections, ({ selection }) => selection.key).values(), async (same) => {
    const rows = await ctx.select<{ id: string; value: Value }>(sql`
      select g.id, ${read(same[0]!.selection)} as value from groups g where g.id = any(${same.map(({ group }) => group.id)}::uuid[])`);
    const found = new Map(rows.map(({ id, value }) => [id, value]));
    for (const each of same) values.set(each, found.get(each.group.id) ?? ofNone);
  });
  await Promise.all(reads);
  return selections.map((each) => values.get(each)!);
}
