import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { Group } from "../../entities/groups.js";
import { authorize, type Reach, reach, sight } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { lookup } from "../kernel/database.js";
import { conflict, notFound } from "../kernel/errors.js";
import { findOrganization, type OrganizationRow, organizationsById } from "../organizations/organizations.js";
import { allOf, anyOf, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { type GroupOfMembers, membersAtOnce, type MembersQuery, pagesColumn } from "./members.js";
import { memberships } from "./memberships.js";

/** The origin of a group: created by a user, or by an identity provider. */
export const GroupSource = { USER: "user", OIDC: "oidc" } as const;
export type GroupSource = (typeof GroupSource)[keyof typeof GroupSource];

const columns = columnsOf(Group, "g", [
  "id",
  "createdAt",
  "updatedAt",
  "organizationId",
  "name",
  "displayName",
  "avatarUrl",
  "quotaAllowance",
  "source",
]);

/** A group with the fields that all of its readers may read. */
export interface GroupRow extends RowOf<typeof columns>, GroupOfMembers {
  organizationId: string;
  organizationName: string;
  organizationDisplayName: string;
}

/** The columns of a group `g` and its organization `o`. Groups are deleted with their organization. */
export const groupColumns = `${columns}, g.member_count as "totalMemberCount", o.name as "organizationName",
  o.display_name as "organizationDisplayName"`;
export const groupsWithOrganization = "groups g join organizations o on o.id = g.organization_id";

/** Whether the group is Everyone, which has all members of its organization. */
export const isEveryone = ({ id, organizationId }: Pick<GroupRow, "id" | "organizationId">): boolean =>
  id === organizationId;

/** The condition that the caller may read the group `g`; absent if the caller may read all groups. */
export function isReadableGroup({ actor }: Context): Sql | undefined {
  const { everywhere, organizations, inGroup } = sight(actor, "group:read");
  if (everywhere) return undefined;
  const isTheirs = sql`g.organization_id = any(${organizations}::uuid[])`;
  if (!inGroup) return isTheirs;
  return organizations.length > 0 ? sql`(${isTheirs} or ${isIn(userIdOf(actor))})` : isIn(userIdOf(actor));
}

/** The condition that a user is in the group `g`. Evaluates the groups of the user once. */
export const isIn = (userId: string | Sql | undefined): Sql =>
  sql`g.id = any(array(select group_id from ${raw(memberships)} m where user_id = ${userId ?? null}))`;

/**
 * The condition that the caller may read the membership of a user, given by an id or in SQL, in the group `g`; absent if
 * it always holds.
 */
export function isReadableMembership({ actor }: Context, userId: string | Sql): Sql | undefined {
  const { everywhere, organizations } = reach(actor, "group_member:read");
  const ownId = userIdOf(actor);
  if (everywhere || userId === ownId) return undefined;
  const isTheirs = sql`g.organization_id = any(${organizations}::uuid[])`;
  return typeof userId === "string" ? isTheirs : anyOf(sql`${userId} = ${ownId ?? null}`, isTheirs);
}

/** Selects groups that the caller may read, with pages of members. */
const select = (ctx: Context, members: readonly MembersQuery[], condition: Sql): Sql => sql`
  select ${raw(groupColumns)}${pagesColumn(ctx, members, membersAtOnce.alone)}
  from ${raw(groupsWithOrganization)} where ${allOf(isReadableGroup(ctx), condition)}`;

const anyById = lookup<GroupRow>(`select ${groupColumns} from ${groupsWithOrganization} where g.id = $1`);

function byId(ctx: Context, id: string, members: readonly MembersQuery[]): Promise<GroupRow[]> {
  const isPlain = members.length === 0 && sight(ctx.actor, "group:read").everywhere;
  return isPlain ? ctx.rows(anyById, id) : ctx.select(select(ctx, members, sql`g.id = ${id}`));
}

/**
 * Finds a group by id, or by a name that is unambiguous among the groups that the caller may read. Reads pages of
 * members in the same snapshot. Throws NOT_FOUND if the group is not readable, CONFLICT if the name is ambiguous.
 */
export async function findGroup(ctx: Context, ref: string, members: readonly MembersQuery[] = []): Promise<GroupRow> {
  const [group, another] = isUuid(ref)
    ? await byId(ctx, ref, members)
    : await ctx.select<GroupRow>(sql`${select(ctx, members, sql`g.name = ${ref}`)} order by g.id limit 2`);
  if (!group) throw notFound();
  if (another) throw conflict("The group name is ambiguous.");
  return group;
}

/** Finds a group of an organization by its exact name, Everyone included. Does not interpret the name as an id. */
export async function findGroupByName(
  ctx: Context,
  organizationRef: string,
  name: string,
  members: readonly MembersQuery[] = [],
): Promise<GroupRow> {
  const { id } = await findOrganization(ctx, organizationRef);
  const isNamed = sql`g.organization_id = ${id} and g.name = ${name}`;
  const [group] = await ctx.select<GroupRow>(select(ctx, members, isNamed));
  if (!group) throw notFound();
  return group;
}

/** The organization of a group that the caller may read. */
export const organizationOf = (ctx: Context, group: GroupRow): Promise<OrganizationRow | undefined> =>
  ctx.load(organizationsById, group.organizationId);

/** A locked group, with the users to be added that are members of its organization, whose memberships are locked. */
export interface LockedGroup extends GroupRow {
  eligible: string[];
}

// Locks memberships before the group, in the order of `lockMemberships`. Not `for update`, which would block inserts of
// rows that refer to the group.
const locking = (
  {
    id,
    everywhere,
    organizations,
    joining,
  }: { id: string; joining: readonly string[] } & Pick<Reach, "everywhere" | "organizations">,
  more?: Sql,
): Sql => {
  const isLockable = allOf(
    sql`g.id = ${id}`,
    everywhere ? undefined : sql`g.organization_id = any(${organizations}::uuid[])`,
  );
  return sql`
    with eligible as materialized (
      select m.user_id from groups g join organization_members m on m.organization_id = g.organization_id
      where ${isLockable} and m.user_id = any(${joining}::uuid[]) order by m.user_id for key share of m
    ), locked as materialized (
      select ${raw(groupColumns)}, array(select user_id from eligible) as eligible
      from ${raw(groupsWithOrganization)}
      where ${isLockable} and (select count(*) from eligible) >= 0 for no key update of g
    )
    select locked.*${more ? sql`, ${more}` : sql``} from locked`;
};

/**
 * Locks a group until the transaction ends: no other transaction changes the group or its members, or removes the users
 * `joining` from the organization. Throws for callers without `permission`, and locks nothing for them. `more` are further
 * columns, selected from `locked`.
 */
export async function lockGroup<More = unknown>(
  ctx: Context,
  ref: string,
  permission: `${"group" | "group_ai_budget"}:${"update" | "delete"}`,
  joining: readonly string[] = [],
  more?: Sql,
): Promise<LockedGroup & More> {
  const id = isUuid(ref) ? ref : (await findGroup(ctx, ref)).id;
  const { everywhere, organizations } = reach(ctx.actor, permission);
  const mayHold = everywhere || organizations.length > 0;
  const locked = mayHold ? locking({ id, everywhere, organizations, joining }, more) : undefined;
  const [group] = locked ? await ctx.select<LockedGroup & More>(locked) : [];
  if (group) return group;
  authorize(ctx.actor, permission, await findGroup(ctx, id));
  throw notFound();
}
