import { type Expression, type InferResult, sql, type SqlBool } from "kysely";
import { auditedAs } from "../kernel/audit.js";
import {
  authorize,
  mayAssign,
  organizationRoles,
  type OrganizationRole,
  selectPermitted,
  sees,
  requireProofFor,
} from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { lockMemberships } from "../groups/memberships.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, notFound, Problems } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import {
  check,
  choice,
  type Input,
  inputOf,
  listOf,
  optional,
  reference,
  required,
  searchText,
} from "../kernel/values.js";
import { anyOf } from "../kernel/queries.js";
import { defineListOfEach, mostCounted, text, time } from "../kernel/lists.js";
import { listArguments, type OrderBy, orderOf, type Page, type PageArguments } from "../kernel/paging.js";
import { sumUncounted } from "./member-counts.js";
import { userHint } from "../tokens/hints.js";
import { isListed, userContains } from "../users/listing.js";
import { requireNoWorkspaces } from "../users/owned-workspaces.js";
import { type HeldRole, heldRoles, readRoles, RoleName } from "../users/user-roles.js";
import {
  type FoundUser,
  foldedUsername,
  isReadableUser,
  isUserNamed,
  lockUser,
  lockUsers,
  type Membership,
  readMemberships,
  rejectSystemIdentity,
  userFields,
  type UserRoles,
  type UserRow,
  userTarget,
} from "../users/users.js";
import {
  findOrganization,
  isOrganizationNamed,
  maxOrganizationsPerUser,
  type OrganizationRow,
  tooManyOrganizations,
} from "./organizations.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const m = columnsOf("organizationMembers", "m");

/** A member of an organization. The optional fields are present if the caller may read the user. */
export interface OrganizationMember extends Pick<UserRow, "id" | "username" | "name" | "avatarUrl"> {
  user?: UserRow;
  roles?: HeldRole[];
  joinedAt?: string;
}

const members = ({ db }: Context) =>
  db
    .selectFrom("organizationMembers as m")
    .innerJoin("users as u", "u.id", "m.userId")
    .select(userFields)
    .select(["m.organizationId", "m.roles", "m.createdAt as joinedAt"])
    .$narrowType<UserRoles & { roles: OrganizationRole[] }>();

type MemberRow = InferResult<ReturnType<typeof members>>[number];

/** Filters of members. An absent filter does not narrow. */
export const OrganizationMemberFilter = inputOf({
  search: optional(
    searchText,
    "Substring of the username, the real name, or (if the caller may read it) the email address, case-insensitive.",
  ),
  role: optional(
    choice(RoleName),
    "Role held in the organization. Matches only members whose roles the caller may read.",
  ),
});
export type OrganizationMemberFilter = Input<typeof OrganizationMemberFilter>;

export const OrganizationMemberOrderField = { USERNAME: "username", JOINED_AT: "joinedAt" } as const;
export type OrganizationMemberOrderField =
  (typeof OrganizationMemberOrderField)[keyof typeof OrganizationMemberOrderField];

export const OrganizationMemberOrder = orderOf(OrganizationMemberOrderField);
export const OrganizationMembersQuery = inputOf({
  ...listArguments(OrganizationMemberFilter, OrganizationMemberOrder, "by username, ascending").shape,
  organization: required(reference, "The organization: ID, name, or `default`."),
});
export type OrganizationMembersQuery = Input<typeof OrganizationMembersQuery>;

/** The condition that the caller may read the user who is the member `m`: filters must not disclose what is not shown. */
function isReadable({ actor }: Context) {
  const { everywhere, organizations } = selectPermitted(actor, "user:read");
  if (everywhere) return sql<SqlBool>`true`;
  return sql<SqlBool>`(${m.userId} = ${userIdOf(actor) ?? null} or ${m.organizationId} = ${anyOf(organizations)})`;
}

const membersOf = (ctx: Context, organization: Expression<string>) =>
  members(ctx).where("m.organizationId", "=", organization);

const memberList = defineListOfEach(membersOf, {
  id: { column: "m.userId", of: ({ id }) => id },
  orders: {
    // organization_members_list_index
    [OrganizationMemberOrderField.USERNAME]: {
      username: text("m.username", { of: ({ username }) => foldCase(username), collation: "C" }),
    },
    // organization_members_joined_index
    [OrganizationMemberOrderField.JOINED_AT]: { joinedAt: time("m.createdAt", { of: ({ joinedAt }) => joinedAt }) },
  },
  filters: {
    search: (eb, part: string, ctx) => eb.and([isListed, userContains(part, isReadable(ctx))]),
    role: (eb, role: string, ctx) =>
      eb.and([isReadable(ctx), sql<SqlBool>`m.roles <> '{}' and ${role} = any(m.roles)`]),
  },
  planned: ["search", "role"],
  // Users who are not members have no time of joining: a page can begin after them only in the order of usernames.
  formerRows: (ctx) => sql`(
    select ${foldedUsername} as username, null::timestamptz as created_at, u.id as user_id
    from users u where ${isReadableUser(ctx)}) m`,
});

/** Lists the members of an organization, by default by username. */
export async function listOrganizationMembers(
  ctx: Context,
  ref: string,
  filter: OrganizationMemberFilter | null | undefined,
  page: PageArguments,
  orderBy: OrderBy<OrganizationMemberOrderField> | null | undefined,
): Promise<Page<OrganizationMember>> {
  const { id } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "organization_member:read", { organizationId: id });
  if (orderBy?.field === OrganizationMemberOrderField.JOINED_AT && !readsAll(ctx, id))
    throw forbidden("You cannot read when members joined.");
  const problems = new Problems();
  check(OrganizationMemberFilter, filter ?? {}, problems, "filter");
  const found = await memberList.pageOf(ctx, id, { filter, orderBy, page }, problems);
  return visiblePage(ctx, found);
}

/** Lists the members of an organization, by username: one statement for all organizations of a request. */
export async function membersOfOrganization(
  ctx: Context,
  { id }: OrganizationRow,
  page: PageArguments,
): Promise<Page<OrganizationMember>> {
  authorize(ctx.actor, "organization_member:read", { organizationId: id });
  const found = visiblePage(ctx, await memberList.pageOf(ctx, id, { page }));
  return { ...found, count: async () => Math.min(await ctx.load(countMembers, id), mostCounted) };
}

/** The number of members of an organization. */
export function memberCountOf(ctx: Context, { id }: OrganizationRow): Promise<number> {
  authorize(ctx.actor, "organization_member:read", { organizationId: id });
  return ctx.load(countMembers, id);
}

/** The group Everyone has the id of its organization and keeps a count, without the latest changes. Deleted organizations have no groups. */
async function countMembers({ db }: Context, ids: readonly string[]): Promise<number[]> {
  const groups = await db
    .selectFrom("groups as g")
    .select((eb) => ["g.id", eb("g.memberCount", "+", sumUncounted(eb.ref("g.id"))).as("count")])
    .where("g.id", "=", anyOf(ids))
    .execute();
  const counts = new Map(groups.map(({ id, count }) => [id, count]));
  return ids.map((id) => counts.get(id) ?? 0);
}

/** Whether the caller may read every user who is a member of the organization. */
function readsAll({ actor }: Context, organizationId: string): boolean {
  const { everywhere, organizations } = selectPermitted(actor, "user:read");
  return everywhere || organizations.includes(organizationId);
}

/** The part of a member that the caller may read. */
function visiblePart(ctx: Context, member: MemberRow): OrganizationMember {
  const { id, username, name, avatarUrl, organizationId, joinedAt } = member;
  const whole = id === userIdOf(ctx.actor) || readsAll(ctx, organizationId);
  const seen = { id, username, name, avatarUrl };
  return whole ? { ...seen, user: member, roles: heldRoles(member.roles, organizationId), joinedAt } : seen;
}

function visiblePage(ctx: Context, page: Page<MemberRow>): Page<OrganizationMember> {
  const parts = new Map(page.nodes.map((member) => [visiblePart(ctx, member), member]));
  return { ...page, nodes: [...parts.keys()], cursor: (part) => page.cursor(parts.get(part)!) };
}

/** A reference to a membership. */
export interface MemberRef {
  organization: string;
  user: string;
}

/** Reads a member by ids, in an organization that the caller may read. Throws NOT_FOUND. */
export async function readOrganizationMember(
  ctx: Context,
  { organization, user }: MemberRef,
): Promise<OrganizationMember> {
  const isIt = members(ctx).where("m.organizationId", "=", organization).where("m.userId", "=", user);
  const member = await isIt.executeTakeFirst();
  if (!member) throw notFound();
  return visiblePart(ctx, member);
}

export const AddOrganizationMember = inputOf({
  organization: required(reference, "The organization: ID, name, or `default`."),
  user: required(reference, "The user: ID, username, or `me`."),
});
export type AddOrganizationMember = Input<typeof AddOrganizationMember>;

/** Adds a user to an organization, without roles. Returns the ids of the organization and the user. */
export async function addOrganizationMember(ctx: Context, input: MemberRef): Promise<MemberRef> {
  const { id: organizationId } = await findOrganization(ctx, input.organization);
  // Callers who cannot add any account are rejected before the user is looked up.
  const anyAccount = { organizationId, ownerId: null, siteRoles: [], memberships: [] };
  authorize(ctx.actor, "organization_member:create", anyAccount);
  const user = await lockUser(ctx, input.user);
  authorize(ctx.actor, "organization_member:create", { organizationId, ...userTarget(user) });
  rejectSystemIdentity(user);
  if (isMemberOf(user, organizationId)) throw conflict("The user is already a member of the organization.");
  await join(ctx, organizationId, [user]);
  return { organization: organizationId, user: user.id };
}

const isMemberOf = ({ memberships }: FoundUser, organizationId: string): boolean =>
  memberships.some((membership) => membership.organizationId === organizationId);

/** Adds locked users, who are not members, to an organization. Throws CONFLICT for a user with too many memberships. */
async function join(ctx: Context, organizationId: string, users: readonly FoundUser[]): Promise<void> {
  if (users.some(({ memberships }) => memberships.length >= maxOrganizationsPerUser)) throw tooManyOrganizations();
  const exists = await ctx.db
    .selectFrom("organizations")
    .select("id")
    .where("id", "=", organizationId)
    .where("deletedAt", "is", null)
    .forShare()
    .executeTakeFirst();
  if (!exists) throw notFound();
  const userIds = users.map(({ id }) => id);
  await ctx.db
    .insertInto("organizationMembers")
    .columns(["organizationId", "userId", "createdAt"])
    .expression(sql`select ${organizationId}::uuid, unnest(${userIds}::uuid[]), now()`)
    .execute();
  for (const user of users) {
    ctx.audit({ action: "create", ...nameForAudit({ ...user, organizationId }) });
    ctx.publish(userHint(user.id));
  }
}

/**
 * Adds users to an organization, without roles. Members stay as they are. Returns the ids of the given users that
 * exist. Throws CONFLICT for a user with too many memberships.
 */
export async function joinOrganization(
  ctx: Context,
  organizationId: string,
  userIds: readonly string[],
): Promise<string[]> {
  const users = await lockUsers(ctx, userIds);
  const joining = users.filter((user) => !isMemberOf(user, organizationId));
  for (const user of joining)
    authorize(ctx.actor, "organization_member:create", { organizationId, ...userTarget(user) });
  if (joining.length > 0) await join(ctx, organizationId, joining);
  return users.map(({ id }) => id);
}

/** A member with all memberships of the user. */
type MemberWithRoles = MemberRow & FoundUser;

/** The member whom names or ids refer to. */
const memberNamed = (ctx: Context, { organization, user }: MemberRef) =>
  members(ctx)
    .innerJoin("organizations as o", "o.id", "m.organizationId")
    .where(isOrganizationNamed(organization))
    .where(isUserNamed(ctx, user));

async function findMember(ctx: Context, wanted: ReturnType<typeof memberNamed>): Promise<MemberWithRoles> {
  const member = await wanted.executeTakeFirst();
  if (!member || !sees(ctx.actor, "organization_member:read", member)) throw notFound();
  // A statement of its own: the snapshot of the one above is older than its wait for a lock.
  return { ...member, memberships: await readMemberships(ctx, [member.id]) };
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
  const named = memberNamed(ctx, ref);
  if (!selectPermitted(ctx.actor, permission).everywhere)
    authorize(ctx.actor, permission, memberTarget(await findMember(ctx, named)));
  const member = await findMember(ctx, named.forNoKeyUpdate("u").forUpdate("m"));
  authorize(ctx.actor, permission, memberTarget(member));
  rejectSystemIdentity(member);
  return member;
}

export const RemoveOrganizationMember = inputOf({
  organization: required(reference, "The organization: ID, name, or `default`."),
  user: required(reference, "The user: ID, username, or `me`."),
});
export type RemoveOrganizationMember = Input<typeof RemoveOrganizationMember>;

/**
 * Deletes a membership with its roles, groups, and entries of access lists. Throws CONFLICT for owners of workspaces of
 * the organization. Returns the member before the deletion.
 */
export async function removeOrganizationMember(ctx: Context, input: MemberRef): Promise<OrganizationMember> {
  const member = await lockMember(ctx, input, "organization_member:delete");
  await endMembership(ctx, member, member);
  return visiblePart(ctx, member);
}

/** Removes a locked user from the given organizations of which it is a member. */
export async function leaveOrganizations(
  ctx: Context,
  user: FoundUser,
  organizationIds: readonly string[],
): Promise<void> {
  for (const membership of user.memberships) {
    const { organizationId } = membership;
    if (!organizationIds.includes(organizationId)) continue;
    authorize(ctx.actor, "organization_member:delete", { organizationId, ...userTarget(user) });
    await endMembership(ctx, user, membership);
  }
}

/** Deletes a membership of a locked user, with what depends on it. The caller was authorized. Throws CONFLICT before any change. */
export async function endMembership(
  ctx: Context,
  user: Pick<UserRow, "id" | "username">,
  { organizationId, roles }: Membership,
): Promise<void> {
  const userId = user.id;
  await lockMemberships(ctx, { organizationId, userId });
  await requireNoWorkspaces(ctx, userId, organizationId);
  await ctx.db
    .deleteFrom("templateAclEntries as e")
    .using("templates as t")
    .whereRef("t.id", "=", "e.templateId")
    .where("t.organizationId", "=", organizationId)
    .where("e.userId", "=", userId)
    .execute();
  await ctx.db
    .deleteFrom("workspaceAclEntries as e")
    .using("workspaces as w")
    .whereRef("w.id", "=", "e.workspaceId")
    .where("w.organizationId", "=", organizationId)
    .where("e.userId", "=", userId)
    .execute();
  await ctx.db
    .deleteFrom("organizationMembers")
    .where("organizationId", "=", organizationId)
    .where("userId", "=", userId)
    .execute();
  ctx.audit({ action: "delete", ...nameForAudit({ ...user, organizationId }), diff: { roles: { old: roles } } });
  ctx.publish(userHint(userId));
}

/** Takes the roles in all organizations from a locked user. Checks no permission. */
export async function endRoles(ctx: Context, user: FoundUser): Promise<void> {
  const held = user.memberships.filter(({ roles }) => roles.length > 0);
  if (held.length === 0) return;
  await ctx.db.updateTable("organizationMembers").set({ roles: [] }).where("userId", "=", user.id).execute();
  for (const { organizationId, roles } of held)
    ctx.audit({
      action: "update",
      ...nameForAudit({ ...user, organizationId }),
      diff: { roles: { old: roles, new: [] } },
    });
  ctx.publish(userHint(user.id));
}

export const SetOrganizationMemberRoles = inputOf({
  organization: required(reference, "The organization: ID, name, or `default`."),
  user: required(reference, "The user: ID, username, or `me`."),
  roles: required(listOf(choice(RoleName)), "Replaces all roles held in the organization."),
});
export type SetOrganizationMemberRoles = Input<typeof SetOrganizationMemberRoles>;

/** Replaces the roles of a member. Throws FORBIDDEN if the caller may not assign one of the added or removed roles. */
export async function setOrganizationMemberRoles(
  ctx: Context,
  input: MemberRef & { roles: string[] },
): Promise<MemberRef> {
  const member = await lockMember(ctx, input, "organization_member:update");
  const { organizationId } = member;
  const roles = readRoles(input.roles, organizationRoles);
  const changed = organizationRoles.filter((role) => roles.includes(role) !== member.roles.includes(role));
  for (const role of changed)
    if (!mayAssign(ctx.actor, role, organizationId)) throw forbidden(`You cannot give or take the role ${role}.`);

  if (changed.length > 0) {
    requireProofFor(ctx.actor, "assign_org_role:assign");
    await ctx.db
      .updateTable("organizationMembers")
      .set({ roles })
      .where("organizationId", "=", organizationId)
      .where("userId", "=", member.id)
      .execute();
    ctx.audit({ action: "update", ...nameForAudit(member), diff: { roles: { old: member.roles, new: roles } } });
    ctx.publish(userHint(member.id));
  }
  return { organization: organizationId, user: member.id };
}

const nameForAudit = ({ id, username, organizationId }: Pick<MemberRow, "id" | "username" | "organizationId">) =>
  auditedAs("organization_member", id, username, organizationId);
