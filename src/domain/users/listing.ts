import { reach } from "../authorization/authorization.js";
import type { Role } from "../authorization/roles.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { countIn, countMatches, type Fixed, matchesIn, type Order, rowsIn, type Search } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findOrganization } from "../organizations/organizations.js";
import { isReadable } from "./readable.js";
import { searchOf, searchProblem } from "./search.js";
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

/** The users among which a list selects, with an index by folded username and id. */
interface Roster {
  username: Sql;
  id: Sql;
  /** `from … where …` with only the columns of the index. */
  index: Sql;
  /** `from … where …` with the user `u`. */
  from: Sql;
}

const allUsers: Roster = {
  username: raw(foldedSql("u.username")),
  id: raw("u.id"),
  index: sql`from users u where u.deleted_at is null and not u.is_system`,
  from: sql`from users u where u.deleted_at is null and not u.is_system`,
};

/** The roster of an organization, with the memberships `m`. Deleted users and system identities have none. */
export const membersOf = (organizationId: string): Roster => ({
  username: raw(`m.username collate "C"`),
  id: raw("m.user_id"),
  index: sql`from organization_members m where m.organization_id = ${organizationId}`,
  // `offset 0` forces a nested loop, which reads no more members than a page needs.
  from: sql`from organization_members m cross join lateral (select * from users where id = m.user_id offset 0) u
    where m.organization_id = ${organizationId}`,
});

/** A condition on the users `u` of a roster, and the ids that an index finds for it. */
export type Narrowing = Pick<Search, "matches" | "candidates">;

interface Listing {
  columns: string;
  roster: Roster;
  /** The column by which a filter selects from all users. */
  fixed?: readonly Fixed[];
  /** Selects from the roster; absent, all of it. */
  condition?: Sql | undefined;
  /** Conditions that may match few users. */
  narrowings?: readonly Narrowing[];
  /** Whether a page may begin at the user `place`, named by id: its position would disclose an unreadable username. */
  isPlace: Sql;
}

/** Reads a page of users by username. `visible` maps each row of `columns` to what the caller may read of it. */
export async function pageByName<Node extends Pick<UserRow, "id" | "username">>(
  ctx: Context,
  range: Range,
  { columns, roster, fixed = [], condition, narrowings = [], isPlace }: Listing,
  visible: (row: never) => Node,
): Promise<Page<Node>> {
  const place = (id: string) =>
    sql`(select ${raw(foldedSql("place.username"))} from users place where place.id = ${id} and ${isPlace})`;
  const order: Order = { fixed, keys: [{ column: roster.username, ofPlace: place }], id: roster.id };
  const from = (more?: Sql) => sql`${roster.from} and ${allOf(condition, more)}`;
  const index = (more?: Sql) => (condition ? from(more) : sql`${roster.index} and ${allOf(more)}`);
  const found = searchFor(narrowings, { columns: raw(columns), from });
  const rows = found
    ? matchesIn(range, order, found)
    : rowsIn(range, order, (beyond) => sql`select ${raw(columns)} ${from(beyond)}`, index);
  return pageOf(range, (await ctx.select<never>(rows)).map(visible), {
    cursor: ({ id, username }) => cursor(id, folded(username)),
    count: () => ctx.count(found ? countMatches(order, found) : countIn(order, (more) => sql`select ${index(more)}`)),
  });
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

/** Lists the users that the caller may read, by username. Omits deleted users and system identities. */
export async function listUsers(
  ctx: Context,
  filter: UserFilter | null | undefined,
  page: PageArguments,
): Promise<Page<UserRow>> {
  const problems = new Problems();
  problems.add("filter.search", searchProblem(filter?.search));
  const range = readRange(page, ["text"], problems);
  problems.throwIfAny();
  const organizationId = filter?.organization ? (await findOrganization(ctx, filter.organization)).id : undefined;
  const roster = readableRoster(ctx, organizationId);
  const equal = equalTo(filter ?? {});
  const fixed = roster === allUsers ? equal.slice(0, 1) : [];
  const listing = {
    columns: foundColumns,
    roster,
    fixed,
    condition: conditionOf(equal.slice(fixed.length)),
    narrowings: narrowingsOf(filter ?? {}, organizationId),
    isPlace: isReadable(ctx, "place"),
  };
  return pageByName(ctx, range, listing, (user: UserRow) => user);
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

/** The filters by a value that each have an index in the order of all users. */
const equalTo = ({ status, loginType, serviceAccount }: UserFilter): Fixed[] =>
  [
    given(status, (value) => ({ column: sql`u.status`, value })),
    given(loginType, (value) => ({ column: sql`u.login_type`, value })),
    given(serviceAccount, (value) => ({ column: sql`u.is_service_account`, value })),
  ].filter((fixed) => fixed !== undefined);

function conditionOf(equal: readonly Fixed[]): Sql | undefined {
  return equal.length > 0 ? allOf(...equal.map(({ column, value }) => sql`${column} = ${value}`)) : undefined;
}

/** The conditions that may match few users, the most selective first. */
const narrowingsOf = (filter: UserFilter, organizationId: string | undefined): Narrowing[] =>
  [
    given(filter.search || undefined, (text) => searchOf(text)),
    given(filter.role, (role) => holders(role, organizationId)),
    atTimes(filter),
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

/** Users by times. Those of activity have no index, which every activity would have to update. */
function atTimes({ createdAfter, createdBefore, lastSeenAfter, lastSeenBefore }: UserFilter): Narrowing | undefined {
  if (![createdAfter, createdBefore, lastSeenAfter, lastSeenBefore].some(Boolean)) return undefined;
  const matches = allOf(
    given(createdAfter, (time) => sql`u.created_at >= ${time}`),
    given(createdBefore, (time) => sql`u.created_at <= ${time}`),
    given(lastSeenAfter, (time) => sql`u.last_seen_at >= ${time}`),
    given(lastSeenBefore, (time) => sql`u.last_seen_at <= ${time}`),
  );
  return {
    matches,
    candidates: sql`select u.id from users u where u.deleted_at is null and not u.is_system and ${matches}`,
  };
}
