import { reach } from "../authorization/authorization.js";
import type { Role } from "../authorization/roles.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { countMatches, countUpTo, matchesIn, mostCounted, type Order, rowsIn, type Search } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import { allOf, anyOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findOrganization } from "../organizations/organizations.js";
import { isReadable } from "./readable.js";
import { searchOf, searchProblem } from "./search.js";
import { type LoginType, userColumns, type UserRow, type UserStatus } from "./users.js";

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
  from: sql`from organization_members m join users u on u.id = m.user_id where m.organization_id = ${organizationId}`,
});

interface Listing {
  columns: string;
  roster: Roster;
  /** Selects from the roster; absent, all of it. */
  condition?: Sql | undefined;
  search?: Pick<Search, "matches" | "candidates"> | undefined;
  /** Whether a page may begin at the user `place`, named by id: its position would disclose an unreadable username. */
  isPlace: Sql;
}

/** Reads a page of users by username. `visible` maps each row of `columns` to what the caller may read of it. */
export async function pageByName<Node extends Pick<UserRow, "id" | "username">>(
  ctx: Context,
  range: Range,
  { columns, roster, condition, search, isPlace }: Listing,
  visible: (row: never) => Node,
): Promise<Page<Node>> {
  const place = (id: string) =>
    sql`(select ${raw(foldedSql("place.username"))} from users place where place.id = ${id} and ${isPlace})`;
  const order: Order = { keys: [{ column: roster.username, ofPlace: place }], id: roster.id };
  const from = (more?: Sql) => sql`${roster.from} and ${allOf(more)}`;
  const index = (more?: Sql) => sql`${condition ? roster.from : roster.index} and ${allOf(condition, more)}`;
  const found = search && { columns: raw(columns), from, ...search, matches: allOf(condition, search.matches) };
  const rows = found
    ? matchesIn(range, order, found)
    : rowsIn(range, order, (beyond) => sql`select ${raw(columns)} ${from(allOf(condition, beyond))}`, index);
  return pageOf(range, (await ctx.select<never>(rows)).map(visible), {
    cursor: ({ id, username }) => cursor(id, folded(username)),
    count: () => ctx.count(found ? countMatches(order, found) : countUpTo(mostCounted, sql`select ${index()}`)),
  });
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
  const listing = {
    columns: userColumns,
    roster: readableRoster(ctx, organizationId),
    condition: matching(filter ?? {}, organizationId),
    search: filter?.search ? searchOf(filter.search) : undefined,
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

function matching(filter: UserFilter, organizationId: string | undefined): Sql | undefined {
  const conditions = [
    given(filter.status, (status) => sql`u.status = ${status}`),
    given(filter.role, (role) => holds(role, organizationId)),
    given(filter.loginType, (loginType) => sql`u.login_type = ${loginType}`),
    given(filter.createdAfter, (time) => sql`u.created_at >= ${time}`),
    given(filter.createdBefore, (time) => sql`u.created_at <= ${time}`),
    given(filter.lastSeenAfter, (time) => sql`u.last_seen_at >= ${time}`),
    given(filter.lastSeenBefore, (time) => sql`u.last_seen_at <= ${time}`),
    given(filter.serviceAccount, (isOne) => sql`u.is_service_account = ${isOne}`),
  ].filter((condition) => condition !== undefined);
  return conditions.length > 0 ? allOf(...conditions) : undefined;
}

/** The condition that the user `u` holds a role in the deployment or in an organization: any, or the given one. */
function holds(role: Role, organizationId: string | undefined): Sql {
  if (role === "member") return sql`true`;
  const inOne = allOf(
    role === "organization-member" ? undefined : sql`${role} = any(held.roles)`,
    given(organizationId, (id) => sql`held.organization_id = ${id}`),
  );
  return anyOf(
    sql`${role} = any(u.site_roles)`,
    sql`exists(select from organization_members held where held.user_id = u.id and ${inOne})`,
  );
}
