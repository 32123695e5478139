import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { auditedAs } from "../audit/audit.js";
import {
  authorize,
  mayAssign,
  organizationRoles,
  type OrganizationRole,
  reach,
  sees,
} from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, forbidden, notFound, Problems } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import { endMembership } from "./leaving.js";
import { findOrganization, maxOrganizationsPerUser, tooManyOrganizations } from "./organizations.js";
import type { Page } from "../kernel/page.js";
import { type OrderBy, OrderDirection, type OrderKeys, type PageArguments, readRange } from "../kernel/paging.js";
import type { Narrowing } from "../kernel/list.js";
import { anyOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";
import {
  type FoundUser,
  lockUser,
  membershipsNow,
  rejectSystemIdentity,
  userColumns,
  type UserRow,
  userTarget,
} from "../users/users.js";
import { byUsername, membersOf, pageOfUsers, type Sorting } from "../users/pages.js";
import { isReadable } from "../users/readable.js";
import { type HeldRole, heldRoles, readRoles } from "../users/roles.js";
import { searchOf, searchProblem } from "../users/search.js";

/** A member of an organization. The optional fields are present if the caller may read the user. */
export interface OrganizationMember extends Pick<UserRow, "id" | "username" | "name" | "avatarUrl"> {
  user?: UserRow;
  roles?: HeldRole[];
  joinedAt?: string;
}

export const memberColumns = `${userColumns}, m.organization_id as "organizationId", m.roles,
  m.created_at as "joinedAt"`;

export type MemberRow = UserRow & { organizationId: string; roles: OrganizationRole[]; joinedAt: string };

/** Filters of members. An absent filter does not narrow. */
export interface OrganizationMemberFilter {
  /** Part of the username, email or real name, in any letter case. */
  search?: string | null;
  role?: OrganizationRole | null;
}

export const OrganizationMemberOrderField = { USERNAME: "username", JOINED_AT: "joinedAt" } as const;
export type OrganizationMemberOrderField =
  (typeof OrganizationMemberOrderField)[keyof typeof OrganizationMemberOrderField];

const orders = {
  username: { username: "text" },
  joinedAt: { joinedAt: "time" },
} as const satisfies Record<OrganizationMemberOrderField, OrderKeys>;

/** Sorts by the time of joining, which only callers who may read all members of the organization may read of all. */
const byJoining = (organizationId: string): Sorting<OrganizationMember> => ({
  name: "joinedAt",
  column: sql`m.created_at`,
  ofPlace: sql`(
    select m.created_at from organization_members m where m.organization_id = ${organizationId} and m.user_id = place.id)`,
  ofNode: ({ joinedAt }) => joinedAt!,
});

/** Lists the members of an organization, by default by username. */
export async function listOrganizationMembers(
  ctx: Context,
  ref: string,
  filter: OrganizationMemberFilter | null | undefined,
  page: PageArguments,
  orderBy: OrderBy<OrganizationMemberOrderField> | null | undefined,
): Promise<Page<OrganizationMember>> {
  const organization = await findOrganization(ctx, ref);
  authorize(ctx.actor, "organization_member:read", { organizationId: organization.id });
  const field = orderBy?.field ?? OrganizationMemberOrderField.USERNAME;
  const isByUsername = field === OrganizationMemberOrderField.USERNAME;
  if (!isByUsername && !readsAll(ctx, organization.id)) throw forbidden("You cannot read when members joined.");
  const problems = new Problems();
  problems.add("filter.search", searchProblem(filter?.search));
  const range = readRange(page, orders[field], problems);
  problems.throwIfAny();
  const roster = membersOf(organization.id);
  const { search, role } = filter ?? {};
  // Filters and searches must not disclose fields that the response omits.
  const isReadableMember = readsAll(ctx, organization.id) ? sql`true` : sql`u.id = ${userIdOf(ctx.actor)}`;
  const isMember = sql`exists(
    select from organization_members m where m.organization_id = ${organization.id} and m.user_id = place.id)`;
  const listing = {
    columns: raw(memberColumns),
    roster,
    by: isByUsername ? byUsername(roster) : byJoining(organization.id),
    isDescending: orderBy?.direction === OrderDirection.DESC,
    narrowings: [
      given(search || undefined, (text) => searchOf(text, isReadableMember)),
      given(role, (held) => holders(held, organization.id, isReadableMember)),
    ].filter((narrowing) => narrowing !== undefined),
    isPlace: anyOf(isMember, isReadable(ctx, "place")),
  };
  return pageOfUsers(ctx, range, listing, async (rows) =>
    (await ctx.select<MemberRow>(rows)).map((member) => visiblePart(ctx, member)),
  );
}

/** Members with a role that the caller may read. */
const holders = (role: OrganizationRole, organizationId: string, isReadableMember: Sql): Narrowing => ({
  matches: sql`${isReadableMember} and ${role} = any(m.roles)`,
  candidates: sql`
    select user_id from organization_members
    where organization_id = ${organizationId} and roles <> '{}' and ${role} = any(roles)`,
});

/** Whether the caller may read every user who is a member of the organization. */
function readsAll({ actor }: Context, organizationId: string): boolean {
  const { everywhere, organizations } = reach(actor, "user:read");
  return everywhere || organizations.includes(organizationId);
}

/** The part of a member that the caller may read. */
export function visiblePart(ctx: Context, member: MemberRow): OrganizationMember {
  const { id, username, name, avatarUrl, organizationId, joinedAt } = member;
  const whole = id === userIdOf(ctx.actor) || readsAll(ctx, organizationId);
  const seen = { id, username, name, avatarUrl };
  return whole ? { ...seen, user: member, roles: heldRoles(member.roles, organizationId), joinedAt } : seen;
}

/** A reference to a membership. */
export interface MemberRef {
  organization: string;
  user: string;
}

const memberById = statement<MemberRow>(`
  select ${memberColumns} from organization_members m join users u on u.id = m.user_id
  where m.organization_id = $1 and m.user_id = $2`);

/** Reads a member by ids, in an organization that the caller may read. Throws NOT_FOUND. */
export async function readOrganizationMember(
  ctx: Context,
  { organization, user }: MemberRef,
): Promise<OrganizationMember> {
  const member = await ctx.row(memberById, organization, user);
  if (!member) throw notFound();
  return visiblePart(ctx, member);
}

const insertMember = statement<{ memberships: number; isMember: boolean; joined: boolean }>(`
  with before as (
    select count(*) as memberships, coalesce(bool_or(organization_id = $1), false) as "isMember"
    from organization_members where user_id = $2
  ), organization as (
    select id from organizations where id = $1 and deleted_at is null for share
  ), joined as (
    insert into organization_members (organization_id, user_id, created_at)
    select organization.id, $2, now() from organization, before where memberships < $3 and not "isMember"
    returning user_id
  )
  select before.*, exists(select from joined) as joined from before`);

/** Adds a user to an organization, without roles. Returns the ids of the organization and the user. */
export async function addOrganizationMember(ctx: Context, input: MemberRef): Promise<MemberRef> {
  const { id: organizationId } = await findOrganization(ctx, input.organization);
  // Callers who cannot add any account are rejected before the user is looked up.
  const anyAccount = { organizationId, ownerId: null, siteRoles: [], memberships: [] };
  authorize(ctx.actor, "organization_member:create", anyAccount);
  // The lock on the user keeps the number of memberships constant.
  const user = await lockUser(ctx, input.user);
  authorize(ctx.actor, "organization_member:create", { organizationId, ...userTarget(user) });
  rejectSystemIdentity(user);

  const result = await ctx.row(insertMember, organizationId, user.id, maxOrganizationsPerUser);
  if (result?.isMember) throw conflict("The user is already a member of the organization.");
  if (result && result.memberships >= maxOrganizationsPerUser) throw tooManyOrganizations();
  if (!result?.joined) throw notFound();
  ctx.audit({ action: "create", ...identified({ ...user, organizationId }) });
  ctx.publish(userHint(user.id));
  return { organization: organizationId, user: user.id };
}

const memberByNames = (lock: string) =>
  statement<MemberRow>(`
  select ${memberColumns}
  from organization_members m join organizations o on o.id = m.organization_id join users u on u.id = m.user_id
  where o.deleted_at is null and (o.id = $1 or lower(o.name) = lower($2) or (o.is_default and $3))
    and u.deleted_at is null and (u.id = $4 or ${foldedSql("u.username")} = ${foldedSql("$5")})
  ${lock}`);

const foundMember = memberByNames("");
const lockedMember = memberByNames("for no key update of u for update of m");

/** A member with all memberships of the user. */
type MemberWithRoles = MemberRow & FoundUser;

async function findMember(ctx: Context, ref: MemberRef, wanted: typeof foundMember): Promise<MemberWithRoles> {
  const { organization } = ref;
  const user = ref.user === "me" ? userIdOf(ctx.actor) : ref.user;
  const member = await ctx.row(wanted, ...idOrName(organization), organization === "default", ...idOrName(user));
  if (!member || !sees(ctx.actor, "organization_member:read", member)) throw notFound();
  return { ...member, memberships: await membershipsNow(ctx, member.id) };
}

/** A member as the target of a permission check. */
const memberTarget = (member: MemberWithRoles) => ({ ...userTarget(member), organizationId: member.organizationId });

/**
 * Finds a member and locks the user and the membership until the transaction ends. Throws for callers without
 * `permission`, before it locks anything.
 */
async function lockMember(
  ctx: Context,
  ref: MemberRef,
  permission: "organization_member:update" | "organization_member:delete",
): Promise<MemberWithRoles> {
  if (!reach(ctx.actor, permission).everywhere)
    authorize(ctx.actor, permission, memberTarget(await findMember(ctx, ref, foundMember)));
  const member = await findMember(ctx, ref, lockedMember);
  authorize(ctx.actor, permission, memberTarget(member));
  rejectSystemIdentity(member);
  return member;
}

const idOrName = (ref: string | undefined) => (ref !== undefined && isUuid(ref) ? [ref, undefined] : [undefined, ref]);

/**
 * Deletes a membership with its roles, groups, and entries of access lists. Throws CONFLICT for owners of workspaces of
 * the organization. Returns the member before the deletion.
 */
export async function removeOrganizationMember(ctx: Context, input: MemberRef): Promise<OrganizationMember> {
  const member = await lockMember(ctx, input, "organization_member:delete");
  await endMembership(ctx, member, member);
  return visiblePart(ctx, member);
}

const replaceRoles = statement(
  "update organization_members set roles = $3 where organization_id = $1 and user_id = $2",
);

/** Replaces the roles of a member. Throws FORBIDDEN if the caller may not assign one of the added or removed roles. */
export async function setOrganizationMemberRoles(
  ctx: Context,
  input: MemberRef & { roles?: string[] | null },
): Promise<MemberRef> {
  const member = await lockMember(ctx, input, "organization_member:update");
  const { organizationId } = member;
  const roles = readRoles(input.roles, organizationRoles);
  const changed = organizationRoles.filter((role) => roles.includes(role) !== member.roles.includes(role));
  for (const role of changed)
    if (!mayAssign(ctx.actor, role, organizationId)) throw forbidden(`You cannot give or take the role ${role}.`);

  if (changed.length > 0) {
    await ctx.row(replaceRoles, organizationId, member.id, roles);
    ctx.audit({ action: "update", ...identified(member), diff: { roles: { old: member.roles, new: roles } } });
    ctx.publish(userHint(member.id));
  }
  return { organization: organizationId, user: member.id };
}

export const identified = ({ id, username, organizationId }: Pick<MemberRow, "id" | "username" | "organizationId">) =>
  auditedAs("organization_member", id, username, organizationId);
