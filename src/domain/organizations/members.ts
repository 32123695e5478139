import type { Context } from "../kernel/context.js";
import {
  authorize,
  mayAssign,
  organizationRoles,
  type OrganizationRole,
  reach,
  sees,
} from "../authorization/authorization.js";
import { plannedEachTime, statement } from "../kernel/database.js";
import { conflict, forbidden, notFound, Problems } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import { findOrganization, maxOrganizationsPerUser, tooManyOrganizations } from "./organizations.js";
import type { Page } from "../kernel/page.js";
import { type PageArguments, readRange } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";
import {
  type FoundUser,
  lockUser,
  membershipsNow,
  refuseSystemIdentity,
  userColumns,
  type UserRow,
  userTarget,
} from "../users/users.js";
import { inOrderOfNames, pageByName, searchProblem } from "../users/listing.js";
import { type HeldRole, heldRoles, readRoles } from "../users/roles.js";

/** A member of an organisation. Those who may not read the user learn no more than id, names and avatar. */
export interface OrganizationMember extends Pick<UserRow, "id" | "username" | "name" | "avatarUrl"> {
  user?: UserRow;
  roles?: HeldRole[];
  joinedAt?: string;
}

type MemberRow = UserRow & { organizationId: string; roles: OrganizationRole[]; joinedAt: string };

const memberColumns = `${userColumns}, m.organization_id as "organizationId", m.roles,
  m.created_at as "joinedAt"`;

// A plain member must not find out by searching what the answer would not show.
const matching = `from organization_members m join users u on u.id = m.user_id
  where m.organization_id = $1 and u.deleted_at is null and not u.is_system
    and ($4::text is null or strpos(${foldedSql("u.username")}, ${foldedSql("$4")}) > 0 or strpos(lower(u.name), lower($4)) > 0
      or (($2 or u.id = $3) and strpos(${foldedSql("u.email")}, ${foldedSql("$4")}) > 0))
    and ($5::text is null or (($2 or u.id = $3) and $5 = any(m.roles)))`;

const members = {
  ...inOrderOfNames<MemberRow>(
    `select ${memberColumns} ${matching}`,
    5,
    "exists(select from organization_members m where m.organization_id = $1 and m.user_id = place.id)",
  ),
  count: plannedEachTime<{ count: number }>(`select count(*) ${matching}`),
};

/** Which members are wanted. What is absent does not narrow. */
export interface OrganizationMemberFilter {
  /** A part of the username, the real name or the e-mail, in any letter case. */
  search?: string | null;
  role?: OrganizationRole | null;
}

/** The members of an organisation, by username. */
export async function listOrganizationMembers(
  ctx: Context,
  ref: string,
  filter: OrganizationMemberFilter | null | undefined,
  page: PageArguments,
): Promise<Page<OrganizationMember>> {
  const organization = await findOrganization(ctx, ref);
  authorize(ctx.actor, "organization_member:read", { organizationId: organization.id });
  const problems = new Problems();
  problems.add("filter.search", searchProblem(filter?.search));
  const range = readRange(page, ["text"], problems);
  problems.throwIfAny();
  const values = [organization.id, readsAll(ctx, organization.id), ctx.actor.userId, filter?.search, filter?.role];
  return pageByName(ctx, members, values, range, (member) => asSeen(ctx, member));
}

/** Whether the caller may read every user who is a member of the organisation. */
function readsAll({ actor }: Context, organizationId: string): boolean {
  const { everywhere, organizations } = reach(actor, "user:read");
  return everywhere || organizations.includes(organizationId);
}

function asSeen(ctx: Context, member: MemberRow): OrganizationMember {
  const { id, username, name, avatarUrl, organizationId, joinedAt } = member;
  const whole = id === ctx.actor.userId || readsAll(ctx, organizationId);
  const seen = { id, username, name, avatarUrl };
  return whole ? { ...seen, user: member, roles: heldRoles(member.roles, organizationId), joinedAt } : seen;
}

/** A membership, named by organisation and user. */
export interface MemberRef {
  organization: string;
  user: string;
}

const memberById = statement<MemberRow>(`
  select ${memberColumns} from organization_members m join users u on u.id = m.user_id
  where m.organization_id = $1 and m.user_id = $2`);

/** One member of an organisation that the caller may read. */
export async function readOrganizationMember(
  ctx: Context,
  { organization, user }: MemberRef,
): Promise<OrganizationMember> {
  const member = await ctx.row(memberById, organization, user);
  if (!member) throw notFound();
  return asSeen(ctx, member);
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

/** Makes somebody a member of an organisation, without roles. */
export async function addOrganizationMember(ctx: Context, input: MemberRef): Promise<MemberRef> {
  const { id: organizationId } = await findOrganization(ctx, input.organization);
  // Callers who may add no account at all are told so before the user is looked up.
  const anyAccount = { organizationId, ownerId: null, siteRoles: [], memberships: [] };
  authorize(ctx.actor, "organization_member:create", anyAccount);
  // Under the lock on the user the memberships can be counted.
  const user = await lockUser(ctx, input.user);
  authorize(ctx.actor, "organization_member:create", { organizationId, ...userTarget(user) });
  refuseSystemIdentity(user);

  const result = await ctx.row(insertMember, organizationId, user.id, maxOrganizationsPerUser);
  if (result?.isMember) throw conflict("The user is a member of the organisation already.");
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

/** A member with all roles that the user holds. */
type MemberWithRoles = MemberRow & FoundUser;

async function findMember(ctx: Context, ref: MemberRef, wanted: typeof foundMember): Promise<MemberWithRoles> {
  const { organization } = ref;
  const user = ref.user === "me" ? ctx.actor.userId : ref.user;
  const member = await ctx.row(wanted, ...idOrName(organization), organization === "default", ...idOrName(user));
  if (!member || !sees(ctx.actor, "organization_member:read", member)) throw notFound();
  return { ...member, memberships: await membershipsNow(ctx, member.id) };
}

/** What the policy asks about a member. */
const memberTarget = (member: MemberWithRoles) => ({ ...userTarget(member), organizationId: member.organizationId });

/**
 * Finds a member for a caller who has a permission on it: no other transaction changes the user or the membership until
 * this one ends. Throws for all other callers, and locks nothing for them.
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
  refuseSystemIdentity(member);
  return member;
}

const idOrName = (ref: string | undefined) => (ref !== undefined && isUuid(ref) ? [ref, undefined] : [undefined, ref]);

const deleteMember = statement("delete from organization_members where organization_id = $1 and user_id = $2");

/** Ends a membership, and with it the roles and groups in the organisation. Gives the member as it was. */
export async function removeOrganizationMember(ctx: Context, input: MemberRef): Promise<OrganizationMember> {
  const member = await lockMember(ctx, input, "organization_member:delete");

  await ctx.row(deleteMember, member.organizationId, member.id);
  ctx.audit({ action: "delete", ...identified(member), diff: { roles: { old: member.roles } } });
  ctx.publish(userHint(member.id));
  return asSeen(ctx, member);
}

const replaceRoles = statement(
  "update organization_members set roles = $3 where organization_id = $1 and user_id = $2",
);

/** Replaces the roles that a member holds in an organisation. Callers give and take only what they may assign. */
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

/** What the audit log calls a member. */
const identified = ({ id, username, organizationId }: Pick<MemberRow, "id" | "username" | "organizationId">) => ({
  resourceType: "organization_member",
  resourceId: id,
  resourceLabel: username,
  organizationId,
});
