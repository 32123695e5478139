import { reach } from "../authorization/authorization.js";
import type { Role } from "../authorization/roles.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import type { Fixed, Narrowing } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { type OrderBy, OrderDirection, type OrderKeys, type PageArguments, readRange } from "../kernel/paging.js";
import { allGiven, allOf, given, type Sql, sql } from "../kernel/sql.js";
import { findOrganization } from "../organizations/organizations.js";
import {
  allUsers,
  byCreation,
  byUsername,
  type Listing,
  membersOf,
  pageOfUsers,
  readAccounts,
  type Roster,
  wholeAccounts,
} from "./pages.js";
import { isReadable } from "./readable.js";
import { createdBetween, listedUsers, searchOf, searchProblem, seenBetween } from "./search.js";
import type { LoginType, UserRow, UserStatus } from "./users.js";

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
    columns: wholeAccounts,
    roster,
    isDescending: orderBy?.direction === OrderDirection.DESC,
    isPlace: isReadable(ctx, "place"),
  };
  const select = filter ?? {};
  const byName = { ...shared, by: byUsername(roster), ...selectByUsername(select, roster, organizationId) };
  const byTime = { ...shared, by: byCreation(roster), ...selectByCreation(select, roster, organizationId) };
  const counted = equalTo(select).length > 0 ? byName : byTime;
  const listing = field === UserOrderField.USERNAME ? byName : byTime;
  return pageOfUsers<UserRow>(ctx, range, listing, (rows) => readAccounts(ctx, rows), counted);
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

/** The conditions that may match few users. */
const narrowingsOf = (filter: UserFilter, organizationId: string | undefined, equal?: Sql): Narrowing[] =>
  [
    given(filter.search || undefined, (text) => searchOf(text)),
    given(filter.role, (role) => holders(role, organizationId)),
    given(equal, listedUsers),
    given(seenBetween(filter.lastSeenAfter, filter.lastSeenBefore), listedUsers),
    given(createdBetween(filter.createdAfter, filter.createdBefore), listedUsers),
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
