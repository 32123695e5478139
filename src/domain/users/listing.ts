import { reach } from "../authorization/authorization.js";
import type { Role } from "../authorization/roles.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { countIn, countMatches, type Fixed, matchesIn, type Order, rowsIn, type Search } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import {
  cursor,
  type OrderBy,
  OrderDirection,
  type OrderKeys,
  type PageArguments,
  pageOf,
  type Range,
  readRange,
} from "../kernel/paging.js";
import { allGiven, allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findOrganization } from "../organizations/organizations.js";
import { isReadable } from "./readable.js";
import { listedUsers, type Narrowing, searchOf, searchProblem, seenBetween } from "./search.js";
import { type LoginType, foundColumns, type UserRow, type UserStatus } from "./users.js";

/** Filters of users. An absent filter does not narrow. */
export interface UserFilter {
  /** Part of the username, email or real name, in any letter case. */
  search?: string | null;
  status?: UserStatus | null;
  /** Held in the deployment or in any organization; in `organization`, if given. */
  role?: Role | null;
  loginType?: LoginType | null;
  /** Id, name or `default`. */
  organization?: string | null;
  createdAfter?: string | null;
  createdBefore?: string | null;
  lastSeenAfter?: string | null;
  lastSeenBefore?: string | null;
  serviceAccount?: boolean | null;
}

/** Orders of users. None by activity, since each activity would then write all indexes of the user. */
export const UserOrderField = { USERNAME: "username", CREATED_AT: "createdAt" } as const;
export type UserOrderField = (typeof UserOrderField)[keyof typeof UserOrderField];

const orders = {
  username: { username: "text" },
  createdAt: { createdAt: "time" },
} as const satisfies Record<UserOrderField, OrderKeys>;

/** The users among which a list selects, with an index of each column and the id. */
interface Roster {
  /** Folded. */
  username: Sql;
  createdAt: Sql;
  id: Sql;
  /** `from … where …` with only the columns of the indexes. */
  index: Sql;
  /** `from … where …` with the user `u`. */
  from: Sql;
}

const allUsers: Roster = {
  username: raw(foldedSql("u.username")),
  createdAt: raw("u.created_at"),
  id: raw("u.id"),
  index: sql`from users u where u.deleted_at is null and not u.is_system`,
  from: sql`from users u where u.deleted_at is null and not u.is_system`,
};

/** The roster of an organization, with the memberships `m`. Deleted users and system identities have none. */
export const membersOf = (organizationId: string | Sql): Roster => ({
  username: raw(`m.username collate "C"`),
  createdAt: raw("m.user_created_at"),
  id: raw("m.user_id"),
  index: sql`from organization_members m where m.organization_id = ${organizationId}`,
  // `offset 0` forces a nested loop, which reads no more members than a page needs.
  from: sql`from organization_members m cross join lateral (select * from users where id = m.user_id offset 0) u
    where m.organization_id = ${organizationId}`,
});

/** The values by which users are sorted. */
export interface Sorting<Node> {
  /** The name of the key in cursors. */
  name: string;
  /** The column of the roster. */
  column: Sql;
  /** The value of the user `place`. */
  ofPlace: Sql;
  ofNode: (node: Node) => string;
}

export const byUsername = ({ username: column }: Roster): Sorting<Pick<UserRow, "username">> => ({
  name: "username",
  column,
  ofPlace: raw(foldedSql("place.username")),
  ofNode: ({ username }) => folded(username),
});

const byCreation = ({ createdAt: column }: Roster): Sorting<Pick<UserRow, "createdAt">> => ({
  name: "createdAt",
  column,
  ofPlace: sql`place.created_at`,
  ofNode: ({ createdAt }) => createdAt,
});

interface Listing<Node> {
  columns: string;
  roster: Roster;
  by: Sorting<Node>;
  isDescending: boolean;
  /** The column by which a filter selects from all users. */
  fixed?: readonly Fixed[];
  /** Selects from the roster; absent, all of it. */
  condition?: Sql | undefined;
  /** Conditions that may match few users. */
  narrowings?: readonly Narrowing[];
  /** Whether a page may begin at the user `place`, named by id: its position would disclose a value that is unreadable. */
  isPlace: Sql;
}

/**
 * Reads a page of users. `visible` maps each row of `columns` to what the caller may read of it. `counted` is the same
 * list in the order in which it is counted.
 */
export async function pageOfUsers<Node extends Pick<UserRow, "id">>(
  ctx: Context,
  range: Range,
  listing: Listing<Node>,
  visible: (row: never) => Node,
  counted: Listing<never> = listing,
): Promise<Page<Node>> {
  const { columns, by } = listing;
  const { order, from, index, found } = read(listing);
  const rows = found
    ? matchesIn(range, order, found)
    : rowsIn(range, order, (beyond) => sql`select ${raw(columns)} ${from(beyond)}`, index);
  return pageOf(range, (await ctx.select<never>(rows)).map(visible), {
    cursor: (node) => cursor(node.id, { [by.name]: by.ofNode(node) }),
    count: () => ctx.count(countOf(counted)),
  });
}

function countOf(listing: Listing<never>): Sql {
  const { order, index, found } = read(listing);
  return found ? countMatches(order, found) : countIn(order, (more) => sql`select ${index(more)}`);
}

/** The parts of the statements of a list. */
function read({ columns, roster, by, isDescending, fixed = [], condition, narrowings = [], isPlace }: Listing<never>) {
  const ofPlace = (id: string) => sql`(select ${by.ofPlace} from users place where place.id = ${id} and ${isPlace})`;
  const order: Order = { fixed, keys: [{ column: by.column, ofPlace }], id: roster.id, isDescending };
  const from = (more?: Sql) => sql`${roster.from} and ${allOf(condition, more)}`;
  const index = (more?: Sql) => (condition ? from(more) : sql`${roster.index} and ${allOf(more)}`);
  return { order, from, index, found: searchFor(narrowings, { columns: raw(columns), from }) };
}

/** The search for users that all conditions match, with the index of the first. */
function searchFor([first, ...others]: readonly Narrowing[], list: Pick<Search, "columns" | "from">) {
  return (
    first && {
      ...list,
      matches: allOf(first.matches, ...others.map(({ matches }) => matches)),
      candidates: first.candidates,
    }
  );
}

/** Lists the users that the caller may read, by default by username. Omits deleted users and system identities. */
export async function listUsers(
  ctx: Context,
  filter: UserFilter | null | undefined,
  page: PageArguments,
  orderBy: OrderBy<UserOrderField> | null | undefined,
): Promise<Page<UserRow>> {
  const field = orderBy?.field ?? UserOrderField.USERNAME;
  const problems = new Problems();
  problems.add("filter.search", searchProblem(filter?.search));
  const range = readRange(page, orders[field], problems);
  problems.throwIfAny();
  const organizationId = filter?.organization ? (await findOrganization(ctx, filter.organization)).id : undefined;
  const roster = readableRoster(ctx, organizationId);
  const shared = {
    columns: foundColumns,
    roster,
    isDescending: orderBy?.direction === OrderDirection.DESC,
    isPlace: isReadable(ctx, "place"),
  };
  const select = filter ?? {};
  const byName = { ...shared, by: byUsername(roster), ...selectByUsername(select, roster, organizationId) };
  const byTime = { ...shared, by: byCreation(roster), ...selectByCreation(select, roster, organizationId) };
  const counted = equalTo(select).length > 0 ? byName : byTime;
  const listing = field === UserOrderField.USERNAME ? byName : byTime;
  return pageOfUsers<UserRow>(ctx, range, listing, (user: UserRow) => user, counted);
}

/** The users that the caller may read: of one organization, if the filter or the permission is limited to one. */
function readableRoster(ctx: Context, organizationId: string | undefined): Roster {
  const { everywhere, organizations } = reach(ctx.actor, "user:read");
  const [only, ...others] = everywhere ? [] : organizations;
  const within = organizationId ?? (others.length === 0 ? only : undefined);
  const roster = within === undefined ? allUsers : membersOf(within);
  if (everywhere || (within && organizations.includes(within))) return roster;
  const from = sql`${roster.from} and ${isReadable(ctx, "u")}`;
  return { ...roster, index: from, from };
}

type Selection = Pick<Listing<UserRow>, "fixed" | "condition" | "narrowings">;

/** Applies a filter to a roster in the order of usernames, in which indexes have the users with each value. */
function selectByUsername(filter: UserFilter, roster: Roster, organizationId: string | undefined): Selection {
  const equal = equalTo(filter);
  const fixed = roster === allUsers ? equal.slice(0, 1) : [];
  return {
    fixed,
    condition: conditionOf(equal.slice(fixed.length)),
    narrowings: narrowingsOf(filter, organizationId),
  };
}

/** Applies a filter to a roster in the order of creation, of which a range is read by its index. */
function selectByCreation(filter: UserFilter, roster: Roster, organizationId: string | undefined): Selection {
  const { createdAfter, createdBefore, ...others } = filter;
  return {
    condition: allGiven(
      given(createdAfter, (time) => sql`${roster.createdAt} >= ${time}`),
      given(createdBefore, (time) => sql`${roster.createdAt} <= ${time}`),
    ),
    // Ranges instead of `=`, for which Postgres expects that all users have one of few values, and reads the whole table.
    narrowings: narrowingsOf(
      others,
      organizationId,
      allGiven(...equalTo(filter).map(({ column, value }) => sql`${column} between ${value} and ${value}`)),
    ),
  };
}

/** The filters by a value that each have an index in the order of all usernames. */
const equalTo = ({ status, loginType, serviceAccount }: UserFilter): Fixed[] =>
  [
    given(status, (value) => ({ column: sql`u.status`, value })),
    given(loginType, (value) => ({ column: sql`u.login_type`, value })),
    given(serviceAccount, (value) => ({ column: sql`u.is_service_account`, value })),
  ].filter((fixed) => fixed !== undefined);

const conditionOf = (equal: readonly Fixed[]): Sql | undefined =>
  allGiven(...equal.map(({ column, value }) => sql`${column} = ${value}`));

/** The conditions that may match few users, the most selective first. */
const narrowingsOf = (filter: UserFilter, organizationId: string | undefined, equal?: Sql): Narrowing[] =>
  [
    given(filter.search || undefined, (text) => searchOf(text)),
    given(filter.role, (role) => holders(role, organizationId)),
    given(equal, listedUsers),
    given(seenBetween(filter.lastSeenAfter, filter.lastSeenBefore), listedUsers),
    given(createdBetween(filter), listedUsers),
  ].filter((narrowing) => narrowing !== undefined);

/** Users who hold a role in the deployment or in an organization: any, or the given one. */
function holders(role: Role, organizationId: string | undefined): Narrowing | undefined {
  if (role === "member") return undefined;
  const isMember = given(organizationId, (id) => sql`organization_id = ${id}`);
  const hasRole = role === "organization-member" ? undefined : sql`roles <> '{}' and ${role} = any(roles)`;
  const candidates = sql`
    select id from users where site_roles <> '{}' and ${role} = any(site_roles)
    union all select user_id from organization_members where ${allOf(isMember, hasRole)}`;
  return { matches: sql`u.id in (${candidates})`, candidates };
}

const createdBetween = ({ createdAfter, createdBefore }: UserFilter): Sql | undefined =>
  allGiven(
    given(createdAfter, (time) => sql`u.created_at >= ${time}`),
    given(createdBefore, (time) => sql`u.created_at <= ${time}`),
  );
