import { type Expression, type RawBuilder, sql, type SqlBool } from "kysely";
import { may, siteRoles } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { containing } from "../kernel/queries.js";
import { foldCase } from "../../runtime/text.js";
import { flag, type Input, inputOf, optional } from "../kernel/values.js";
import { defineListOfEach, text } from "../kernel/lists.js";
import { anyText, moment, oneOf, parseSearch, searchQuery, yesOrNo } from "../search-text.js";
import { listArguments, orderOf, type Page } from "../kernel/paging.js";
import { isReadableUser, type UserRow, userFields } from "../users/users.js";
import { type GroupRow, isEveryone, membersAtOnce } from "./groups.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const u = columnsOf("users", "u");

/** A user in a group. */
export interface GroupMemberRow {
  user: Pick<UserRow, "id" | "username" | "name" | "avatarUrl">;
  /** The same user: callers who may read a member may read its whole account. */
  account: UserRow;
  /** When the user was added. Null in Everyone. */
  addedAt: string | null;
}

/** Filters of members. An absent filter does not narrow. */
export const GroupMemberFilter = inputOf({
  search: optional(
    searchQuery,
    "Words that must each occur in the username or email address, and terms of the form `key:value`. Keys: name, status, login_type, role, service_account, created_before, created_after, last_seen_before, last_seen_after.",
  ),
});
export type GroupMemberFilter = Input<typeof GroupMemberFilter>;

const GroupMemberOrderField = { USERNAME: "username" } as const;
type GroupMemberOrderField = (typeof GroupMemberOrderField)[keyof typeof GroupMemberOrderField];

export const GroupMemberOrder = orderOf(GroupMemberOrderField);

/** A page of the members of a group. */
export const MembersQuery = inputOf({
  ...listArguments(GroupMemberFilter, GroupMemberOrder, "by username, ascending").shape,
  complete: optional(
    flag,
    "Returns all members instead of a page: up to 10000 for a single group, up to 1000 for each group in a list. Cannot be combined with pagination arguments.",
  ),
});
export type MembersQuery = Input<typeof MembersQuery>;

const membersOfGroups = (ctx: Context, group: Expression<string>) =>
  ctx.db
    .selectFrom("groupMembers as m")
    .innerJoin("users as u", "u.id", "m.userId")
    .where("m.groupId", "=", group)
    .select(userFields)
    .select(sql<string | null>`m.created_at`.as("addedAt"))
    .$castTo<Row>();

/** Everyone has no rows of its own: its members are those of its organization. */
const membersOfEveryone = (ctx: Context, group: Expression<string>) =>
  ctx.db
    .selectFrom("organizationMembers as m")
    .innerJoin("users as u", "u.id", "m.userId")
    .where("m.organizationId", "=", group)
    .select(userFields)
    .select(sql<string | null>`null`.as("addedAt"))
    .$castTo<Row>();

type Row = UserRow & { addedAt: string | null };

const definition = {
  id: { column: "m.userId", of: ({ id }: Row) => id },
  // group_members_list_index, organization_members_list_index
  orders: {
    [GroupMemberOrderField.USERNAME]: {
      username: text<Row>("m.username", { of: ({ username }) => foldCase(username), collation: "C" }),
    },
  },
  filters: { search: (_: unknown, search: string) => matches(search) },
  planned: ["search"] as const,
  // A member may have left the group since its page was read.
  formerRows: (ctx: Context) => sql`(
    select lower(u.username collate "C") as username, u.id as user_id from users u where ${isReadableUser(ctx)}) m`,
};

/** The condition that the membership `m` is the caller's own. */
const isOwn = ({ actor }: Context) => sql<SqlBool>`m.user_id = ${userIdOf(actor) ?? null}`;

const lists = {
  everyone: {
    all: defineListOfEach(membersOfEveryone, definition),
    own: defineListOfEach((ctx, group) => membersOfEveryone(ctx, group).where(isOwn(ctx)), definition),
  },
  others: {
    all: defineListOfEach(membersOfGroups, definition),
    own: defineListOfEach((ctx, group) => membersOfGroups(ctx, group).where(isOwn(ctx)), definition),
  },
};

/**
 * Reads the members of a group that the caller may read, by lower-case username: all, or only the caller. Counts the
 * members who match a search up to `mostCounted`, unless the exact number is requested.
 */
export async function membersOf(ctx: Context, group: GroupRow, query: MembersQuery): Promise<Page<GroupMemberRow>> {
  const { filter, complete, orderBy, ...page } = query;
  const most = complete ? (group.membersAtOnce ?? membersAtOnce.alone) : undefined;
  const readsAll = may(ctx.actor, "group_member:read", { organizationId: group.organizationId, ownerId: null });
  const list = lists[isEveryone(group) ? "everyone" : "others"][readsAll ? "all" : "own"];
  const found = await list.pageOf(ctx, group.id, { filter, orderBy, page, most });
  return {
    ...found,
    nodes: found.nodes.map(({ addedAt, ...user }) => ({ user, account: user, addedAt })),
    cursor: ({ account, addedAt }) => found.cursor({ ...account, addedAt }),
    count: async (isExact) => {
      if (filter?.search) return found.count(isExact);
      // A caller who may read the group but not all of its members is a member.
      return readsAll ? group.totalMemberCount : 1;
    },
  };
}

const keys = {
  name: anyText,
  status: oneOf("active", "suspended"),
  login_type: oneOf("github", "none", "oidc", "password", "token"),
  role: oneOf(...siteRoles, "member"),
  service_account: yesOrNo,
  created_before: moment,
  created_after: moment,
  last_seen_before: moment,
  last_seen_after: moment,
};

/** The condition that a user `u` matches a search. Throws BAD_USER_INPUT. */
function matches(search: string) {
  const { words, terms } = parseSearch(search, keys, "Invalid member search query.");
  return sql<SqlBool>`(${sql.join(
    [
      // As in the partial indexes of users.
      sql`${u.deletedAt} is null and not ${u.isSystem}`,
      ...words.map((word) =>
        either(word.flatMap((part) => [username, email].map((column) => contains(column, foldCase(part))))),
      ),
      ...terms.name.map((name) =>
        either(name.map((part) => sql<SqlBool>`lower(u.name) collate "C" like lower(${containing(part)}::text)`)),
      ),
      ...terms.status.map((status) => sql<SqlBool>`u.status = any(${status}::text[])`),
      ...terms.login_type.map((type) => sql<SqlBool>`${u.loginType} = any(${type}::text[])`),
      ...terms.service_account.map((is) => sql<SqlBool>`${u.isServiceAccount} = any(${is}::bool[])`),
      // Every user has the role member.
      ...terms.role
        .filter((role) => !role.includes("member"))
        .map((role) => sql<SqlBool>`${u.siteRoles} <> '{}' and ${u.siteRoles} && ${role}::text[]`),
      ...terms.created_before.map((times) => sql<SqlBool>`${u.createdAt} <= ${latest(times)}::timestamptz`),
      ...terms.created_after.map((times) => sql<SqlBool>`${u.createdAt} >= ${earliest(times)}::timestamptz`),
      ...terms.last_seen_before.map((times) => sql<SqlBool>`${u.lastSeenAt} <= ${latest(times)}::timestamptz`),
      ...terms.last_seen_after.map((times) => sql<SqlBool>`${u.lastSeenAt} >= ${earliest(times)}::timestamptz`),
    ],
    sql` and `,
  )})`;
}

const username = sql`lower(u.username collate "C")`;
const email = sql`lower(u.email collate "C")`;
const contains = (column: RawBuilder<unknown>, part: string) => sql<SqlBool>`${column} like ${containing(part)}`;
const either = (conditions: ReadonlyArray<RawBuilder<SqlBool>>) => sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;

const earliest = (times: readonly string[]) => times.reduce((a, b) => (a < b ? a : b));
const latest = (times: readonly string[]) => times.reduce((a, b) => (a > b ? a : b));
