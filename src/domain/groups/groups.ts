import { type Expression, type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { prepare } from "../../infrastructure/database/prepared.js";
import { authorize, selectPermitted, visible } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { anyOf, type Match } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { conflict, DomainError, notFound, Problems } from "../kernel/errors.js";
import { contains, defineList, defineListOfEach, idNamed, text } from "../kernel/lists.js";
import { listArguments, orderOf, type Page, type PageArguments } from "../kernel/paging.js";
import { isUuid } from "../../runtime/text.js";
import {
  check,
  choice,
  flag,
  further,
  idList,
  type Input,
  inputOf,
  optional,
  reference,
  searchText,
  urlName,
} from "../kernel/values.js";
import { sumUncounted } from "../organizations/member-counts.js";
import { findOrganization } from "../organizations/organizations.js";
import { findUser, type UserRow } from "../users/users.js";
import { groupIdsOf, lockMembers } from "./memberships.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { longestGroupName } from "../../entities/groups.js";

const g = columnsOf("groups", "g");

/** Description of inputs that name a group. */
export const groupReference = "The group: ID, or a name that matches only one group the caller may read.";

/** Names of groups. */
export const groupName = further(urlName(longestGroupName), (given) =>
  given.toLowerCase() === "everyone" ? "The name Everyone is reserved." : undefined,
);

/** The origin of a group: created by a user, or by an identity provider. */
export const GroupSource = { USER: "user", OIDC: "oidc" } as const;
export type GroupSource = (typeof GroupSource)[keyof typeof GroupSource];

export const groups = (db: Db) =>
  db
    .selectFrom("groups as g")
    .innerJoin("organizations as o", "o.id", "g.organizationId")
    .select([
      "g.id",
      "g.createdAt",
      "g.updatedAt",
      "g.organizationId",
      "g.organizationName",
      "o.displayName as organizationDisplayName",
      "g.name",
      "g.displayName",
      "g.avatarUrl",
      "g.quotaAllowance",
      "g.source",
    ])
    .select((eb) =>
      eb(
        "g.memberCount",
        "+",
        sql<number>`
        case when g.id = ${g.organizationId} then ${sumUncounted(eb.ref("g.id"))} else 0 end`,
      ).as("totalMemberCount"),
    );

/** A group with the fields that all of its readers may read. */
export interface GroupRow extends Row {
  /** Maximum number of members in a complete list. Default: the limit of a single group. */
  membersAtOnce?: number;
}
type Row = InferResult<ReturnType<typeof groups>>[number];

/** Whether the group is Everyone, which has all members of its organization. */
export const isEveryone = ({ id, organizationId }: Pick<GroupRow, "id" | "organizationId">): boolean =>
  id === organizationId;

/** The groups that the caller may read. */
function readableGroups(ctx: Context) {
  const { everywhere, organizations, inGroup } = visible(ctx.actor, "group:read");
  if (everywhere) return groups(ctx.db);
  const isTheirs = sql<SqlBool>`${g.organizationId} = ${anyOf(organizations)}`;
  const own = userIdOf(ctx.actor) ?? null;
  return groups(ctx.db).where((eb) => (inGroup ? eb.or([isTheirs, hasMember(own)]) : isTheirs));
}

const isNamed = (part: string, match?: Match) =>
  sql<SqlBool>`(${contains("g.name", part, match)} or ${contains("g.displayName", part, match)})`;

/** The groups that the caller may read whose names match a text. */
export const groupsNamed = (ctx: Context, part: string, match: Match) =>
  readableGroups(ctx).where(isNamed(part, match));

const groupById = prepare<{ id: string }, Row>((db, { id }) => groups(db).where("g.id", "=", id));

/** The condition that the group `g` has a member, by the groups of that user. */
export const hasMember = (user: string | null | Expression<string>) =>
  sql<SqlBool>`g.id = any(array(${groupIdsOf(user)}))`;

/** The condition that the caller may read the membership of a user in the group `g`. */
function isReadableMembership({ actor }: Context, user: string | Expression<string>) {
  const { everywhere, organizations } = selectPermitted(actor, "group_member:read");
  const own = userIdOf(actor) ?? null;
  if (everywhere || user === own) return sql<SqlBool>`true`;
  return sql<SqlBool>`(${g.organizationId} = ${anyOf(organizations)} or ${user} = ${own})`;
}

/**
 * Finds a group by id, or by a name that is unambiguous among the groups that the caller may read. Throws NOT_FOUND if the
 * group is not readable, CONFLICT if the name is ambiguous.
 */
export async function findGroup(ctx: Context, ref: string): Promise<GroupRow> {
  const named = isUuid(ref) ? "g.id" : "g.name";
  const isPlain = named === "g.id" && visible(ctx.actor, "group:read").everywhere;
  const [group, another] = isPlain
    ? await groupById(ctx.db, { id: ref })
    : await readableGroups(ctx).where(named, "=", ref).limit(2).execute();
  if (!group) throw notFound();
  if (another) throw conflict("The group name is ambiguous.");
  return group;
}

/** Finds a group of an organization by its exact name, Everyone included. Does not interpret the name as an id. */
export async function findGroupByName(ctx: Context, organizationRef: string, name: string): Promise<GroupRow> {
  const { id } = await findOrganization(ctx, organizationRef);
  const ofOrganization = readableGroups(ctx).where("g.organizationId", "=", id);
  const group = await ofOrganization.where("g.name", "=", name).executeTakeFirst();
  if (!group) throw notFound();
  return group;
}

/** Filters of groups. An absent filter does not narrow. */
export const GroupFilter = inputOf({
  organization: optional(reference, "Organization of the group: ID, name, or `default`."),
  hasMember: optional(
    reference,
    "User who is a member: ID, username, or `me`. Matches only memberships that the caller may read.",
  ),
  ids: optional(idList(200), "IDs of the groups, {limits}."),
  source: optional(choice(GroupSource), "How the group was created."),
  search: optional(searchText, "Substring of the name or display name, case-insensitive."),
});
export type GroupFilter = Input<typeof GroupFilter>;

/** Orders of groups. None by member count, since each new member would then write all indexes of its groups. */
export const GroupOrderField = { NAME: "name" } as const;
export type GroupOrderField = (typeof GroupOrderField)[keyof typeof GroupOrderField];

export const GroupOrder = orderOf(GroupOrderField);

export const GroupsQuery = inputOf({
  ...listArguments(GroupFilter, GroupOrder, "by name, ascending").shape,
  complete: optional(flag, "Returns all groups instead of a page. Cannot be combined with pagination arguments."),
});
export type GroupsQuery = Input<typeof GroupsQuery>;

/** Maximum numbers of members in a complete list: of a single group, and of each group in a list. */
export const membersAtOnce = { alone: 10_000, listed: 1000 } as const;

const selectListed = (ctx: Context) => readableGroups(ctx).select(sql.lit(membersAtOnce.listed).as("membersAtOnce"));

const byName = { organization: text<GroupRow>("g.organizationName"), name: text<GroupRow>("g.name") };
const groupId = { column: "g.id", of: (group: GroupRow) => group.id };

const groupList = defineList(selectListed, {
  id: groupId,
  orders: { [GroupOrderField.NAME]: byName }, // groups_list_index
  filters: {
    organization: (eb, organization: string) => eb("g.organizationId", "=", organization),
    hasMember: (eb, user: string, ctx) => eb.and([hasMember(user), isReadableMembership(ctx, user)]),
    ids: (eb, ids: string[]) => eb("g.id", "=", anyOf(ids)),
    source: (eb, source: GroupSource) => eb("g.source", "=", source),
    search: (_, part: string) => isNamed(part),
  },
  planned: ["search"],
});

/** Maximum number of groups in a complete list. */
const mostGroups = 1_000_000;

/** Lists the groups that the caller may read, by name of their organization, name and id. Counts up to `mostCounted`. */
export async function listGroups(ctx: Context, query: GroupsQuery): Promise<Page<GroupRow>> {
  const { filter, complete, orderBy, ...page } = query;
  const problems = new Problems();
  const organization = await idOf(ctx, filter?.organization, findOrganization, "filter.organization", problems);
  const member = await idOf(ctx, filter?.hasMember, findUser, "filter.hasMember", problems);
  check(GroupFilter, filter ?? {}, problems, "filter");
  const matching = { ...filter, organization, hasMember: member };
  return groupList.page(ctx, { filter: matching, orderBy, page, most: complete ? mostGroups : undefined }, problems);
}

/** Lists the groups of one organization, which the caller must be able to read. */
export async function listOrganizationGroups(ctx: Context, ref: string, query: GroupsQuery): Promise<Page<GroupRow>> {
  const { id: organization } = await findOrganization(ctx, ref);
  return listGroups(ctx, { ...query, filter: { ...query.filter, organization } });
}

const groupsOfUsers = defineListOfEach(
  (ctx, user) => selectListed(ctx).where(hasMember(user)).where(isReadableMembership(ctx, user)),
  { id: groupId, orders: { [GroupOrderField.NAME]: byName }, filters: {} },
);

/**
 * Lists the groups of a user by name of their organization, name and id: those that the caller may read, with the
 * membership. Takes one statement for all users of a request.
 */
export const groupsOf = (ctx: Context, user: UserRow, page: PageArguments): Promise<Page<GroupRow>> =>
  groupsOfUsers.pageOf(ctx, user.id, { page });

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

/** A locked group, with those of the users to be added that are members of its organization. */
export interface LockedGroup extends GroupRow {
  eligible: string[];
}

/**
 * Locks a group until the transaction ends: no other transaction changes the group or its members, or removes the users
 * `joining` from the organization. Throws for callers without `permission`, and locks nothing for them.
 */
export async function lockGroup(
  ctx: Context,
  ref: string,
  permission: `${"group" | "group_ai_budget"}:${"update" | "delete"}`,
  joining: readonly string[] = [],
): Promise<LockedGroup> {
  const found = await findGroup(ctx, ref);
  authorize(ctx.actor, permission, found);
  // Memberships before the group, in the order of `lockMemberships`.
  const eligible = await lockMembers(ctx, found.organizationId, joining);
  // Not `for update`, which would block inserts of rows that refer to the group.
  const group = await groups(ctx.db).where("g.id", "=", found.id).forNoKeyUpdate("g").executeTakeFirst();
  if (!group) throw notFound();
  return { ...group, eligible };
}
