import { type Expression, expressionBuilder, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { selectPermitted } from "../authorization/authorization.js";
import { isSiteRole, type Role } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { containing, type Match } from "../kernel/queries.js";
import { foldCase } from "../../runtime/text.js";
import {
  check,
  choice,
  dateTime,
  flag,
  type Input,
  inputOf,
  optional,
  reference,
  searchText,
} from "../kernel/values.js";
import { defineList, defineListOfEach, text, time } from "../kernel/lists.js";
import { listArguments, type OrderBy, orderOf, type Page, type PageArguments } from "../kernel/paging.js";
import { findOrganization } from "../organizations/organizations.js";
import {
  allUsers,
  foldedUsername,
  isReadableUser,
  LoginType,
  membershipsOfUser,
  userFields,
  type UserRoles,
  type UserRow,
  UserStatus,
} from "./users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { RoleName } from "./user-roles.js";

const organizationMembers = columnsOf("organizationMembers");
const u = columnsOf("users", "u");

/** Filters of users. An absent filter does not narrow. */
export const UserFilter = inputOf({
  search: optional(searchText, "Substring of the username, email address, or real name, case-insensitive."),
  status: optional(choice(UserStatus), "Status of the user."),
  role: optional(choice(RoleName), "Role held in the deployment or in any organization."),
  loginType: optional(choice(LoginType), "How the user signs in."),
  organization: optional(reference, "Organization that the user is a member of: ID, name, or `default`."),
  createdAfter: optional(dateTime, "Users created at or after this time."),
  createdBefore: optional(dateTime, "Users created at or before this time."),
  lastSeenAfter: optional(dateTime, "Users last seen at or after this time."),
  lastSeenBefore: optional(dateTime, "Users last seen at or before this time."),
  serviceAccount: optional(flag, "Whether the user is a service account."),
});
export type UserFilter = Input<typeof UserFilter>;

/** Orders of users. None by activity, since each activity would then write all indexes of the user. */
export const UserOrderField = { USERNAME: "username", CREATED_AT: "createdAt" } as const;
export type UserOrderField = (typeof UserOrderField)[keyof typeof UserOrderField];

export const UserOrder = orderOf(UserOrderField);
export const UsersQuery = listArguments(UserFilter, UserOrder, "by username, ascending");
export type UsersQuery = Input<typeof UsersQuery>;

/** The condition that a user `u` appears in lists, as in the partial indexes of users. */
export const isListed = sql<SqlBool>`${u.deletedAt} is null and not ${u.isSystem}`;

/**
 * The condition that the username, the real name or, where `showsEmail` holds, the email of a user `u` contains a text or
 * begins with it, in any letter case. The trigram index has its form; it has to look at all users to find texts of one
 * or two characters anywhere.
 */
export function userContains(part: string, showsEmail: Expression<SqlBool> = sql`true`, match: Match = containing) {
  const pattern = match(part);
  const foldedPattern = match(foldCase(part));
  return sql<SqlBool>`(${foldedUsername} like ${foldedPattern}
    or (${showsEmail} and lower(u.email collate "C") like ${foldedPattern})
    or lower(u.name) collate "C" like lower(${pattern}::text))`;
}

/** A role in the deployment or in an organization: any, or the given one. */
interface Held {
  role: Exclude<Role, "member">;
  organization?: string | undefined;
}

function holds({ role, organization }: Held) {
  if (isSiteRole(role)) return sql<SqlBool>`${u.siteRoles} <> '{}' and ${role} = any(${u.siteRoles})`;
  const isThere = organization === undefined ? sql`true` : sql`${organizationMembers.organizationId} = ${organization}`;
  const hasRole = role === "organization-member" ? sql`true` : sql`roles <> '{}' and ${role} = any(roles)`;
  return sql<SqlBool>`u.id in (select ${organizationMembers.userId} from organization_members where ${isThere} and ${hasRole})`;
}

const eb = expressionBuilder<{ u: Schema["users"] }, "u">();

/** The day of a time in UTC: activity has an index of days. */
const dayOf = (moment: string) => sql`(${moment}::timestamptz at time zone 'UTC')::date`;

/** Which index is best for a filter depends on its value, so the statements are planned for their values. */
const filtersBy = (createdAt: RawBuilder<unknown>) => ({
  search: (_: unknown, part: string) => userContains(part),
  status: (_: unknown, status: UserStatus) => eb("u.status", "=", status),
  held: (_: unknown, held: Held) => holds(held),
  loginType: (_: unknown, type: LoginType) => eb("u.loginType", "=", type),
  createdAfter: (_: unknown, moment: string) => sql<SqlBool>`${createdAt} >= ${moment}`,
  createdBefore: (_: unknown, moment: string) => sql<SqlBool>`${createdAt} <= ${moment}`,
  lastSeenAfter: (_: unknown, moment: string) =>
    sql<SqlBool>`${u.lastSeenOn} >= ${dayOf(moment)} and ${u.lastSeenAt} >= ${moment}`,
  lastSeenBefore: (_: unknown, moment: string) =>
    sql<SqlBool>`${u.lastSeenOn} <= ${dayOf(moment)} and ${u.lastSeenAt} <= ${moment}`,
  serviceAccount: (_: unknown, is: boolean) => eb("u.isServiceAccount", "=", is),
  isReadable: (_: unknown, _is: true, ctx: Context) => isReadableUser(ctx),
});

const planned = [
  "search",
  "status",
  "held",
  "loginType",
  "createdAfter",
  "createdBefore",
  "lastSeenAfter",
  "lastSeenBefore",
  "serviceAccount",
] as const;

/** Almost every list of users selects their roles. */
const pageColumn = membershipsOfUser("page.id");

const foldedName = { of: ({ username }: UserRow) => foldCase(username) };

const readableUsers = (ctx: Context) => allUsers(ctx.db).where(isListed).where(isReadableUser(ctx));

/** The users that the caller may read whose names or email match a text. */
export const usersNamed = (ctx: Context, part: string, match: Match) =>
  readableUsers(ctx).where(userContains(part, undefined, match));

/** The users of the deployment. */
const userList = defineList(readableUsers, {
  id: { column: "u.id", of: ({ id }) => id },
  orders: {
    [UserOrderField.USERNAME]: { username: text(foldedUsername, foldedName) }, // users_list_index
    [UserOrderField.CREATED_AT]: { createdAt: time("u.createdAt") }, // users_created_index
  },
  filters: filtersBy(sql.ref("u.createdAt")),
  planned,
  pageColumn,
  formerRows: (ctx) => sql`(select * from users u where ${isReadableUser(ctx)}) u`,
});

const usersOfOrganization = (ctx: Context, organization: Expression<string>) =>
  ctx.db
    .selectFrom("organizationMembers as m")
    .innerJoin("users as u", "u.id", "m.userId")
    .where("m.organizationId", "=", organization)
    .where(isListed)
    .select(userFields)
    .$narrowType<UserRoles>();

/** The users of an organization. */
const organizationList = defineListOfEach(usersOfOrganization, {
  id: { column: "m.userId", of: ({ id }) => id },
  orders: {
    [UserOrderField.USERNAME]: { username: text("m.username", { ...foldedName, collation: "C" }) }, // organization_members_list_index
    [UserOrderField.CREATED_AT]: { createdAt: time("m.userCreatedAt", { of: ({ createdAt }) => createdAt }) }, // organization_members_user_created_index
  },
  filters: filtersBy(sql.ref("m.userCreatedAt")),
  planned,
  pageColumn,
  formerRows: (ctx) => sql`(
    select ${foldedUsername} as username, ${u.createdAt} as user_created_at, u.id as user_id
    from users u where ${isReadableUser(ctx)}) m`,
});

/** Lists the users that the caller may read, by default by username. Omits deleted users and system identities. */
export async function listUsers(
  ctx: Context,
  filter: UserFilter | null | undefined,
  page: PageArguments,
  orderBy: OrderBy<UserOrderField> | null | undefined,
): Promise<Page<UserRow>> {
  const { organization: ref, role, ...others } = filter ?? {};
  const problems = new Problems();
  check(UserFilter, others, problems, "filter");
  const organization = ref ? (await findOrganization(ctx, ref)).id : undefined;
  const { everywhere, organizations } = selectPermitted(ctx.actor, "user:read");
  const [first, ...further] = everywhere ? [] : organizations;
  const within = organization ?? (further.length === 0 ? first : undefined);
  const held = role && role !== "member" ? { role, organization } : null;
  const matching = { ...others, held };
  if (within === undefined) return userList.page(ctx, { filter: matching, orderBy, page }, problems);
  const isReadable = everywhere || organizations.includes(within) ? null : (true as const);
  return organizationList.pageOf(ctx, within, { filter: { ...matching, isReadable }, orderBy, page }, problems);
}
