import { sql, type SqlBool } from "kysely";
import { User } from "../../entities/users.js";
import type { Context } from "../kernel/context.js";
import {
  authorize,
  mayAssign,
  type OrganizationRole,
  organizationRoles,
  roleNames,
  type SiteRole,
  siteRoles,
} from "../authorization/authorization.js";
import type { Role } from "../kernel/actor.js";
import { conflict, Problems } from "../kernel/errors.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { choice, inputOf, type Input, listOf, reference, required } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import { userHint } from "../tokens/hints.js";
import { lockUser, type Membership, membershipsOf, rejectSystemIdentity, type UserRow } from "./users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const users = columnsOf("users");

/** The roles by their names in GraphQL. */
export const RoleName = {
  OWNER: "owner",
  TEMPLATE_ADMIN: "template-admin",
  USER_ADMIN: "user-admin",
  AUDITOR: "auditor",
  MEMBER: "member",
  ORGANIZATION_ADMIN: "organization-admin",
  ORGANIZATION_TEMPLATE_ADMIN: "organization-template-admin",
  ORGANIZATION_USER_ADMIN: "organization-user-admin",
  ORGANIZATION_AUDITOR: "organization-auditor",
  ORGANIZATION_MEMBER: "organization-member",
} as const satisfies Record<string, Role>;

/** A role of a user: in an organization, or in the deployment if `organizationId` is empty. */
export interface HeldRole {
  name: SiteRole | OrganizationRole;
  displayName: string;
  organizationId: string;
}

/** The roles of a user, first those in the deployment, then those in organizations, without implied roles. */
export function rolesOf(ctx: Context, user: UserRow): HeldRole[] | Promise<HeldRole[]> {
  // A list of users needs no promise for each.
  return user.memberships
    ? allRoles(user, user.memberships)
    : membershipsOf(ctx, user).then((all) => allRoles(user, all));
}

const allRoles = ({ siteRoles: roles }: UserRow, memberships: readonly Membership[]): HeldRole[] => [
  ...heldRoles(roles),
  ...memberships.flatMap(({ organizationId, roles: held }) => heldRoles(held, organizationId)),
];

export const heldRoles = (names: ReadonlyArray<SiteRole | OrganizationRole>, organizationId = ""): HeldRole[] =>
  names.map((name) => ({ name, displayName: roleNames[name], organizationId }));

/**
 * Parses a list of roles, in the order of `known`. Ignores implied roles and repetitions. Throws BAD_USER_INPUT for
 * unknown roles.
 */
export function readRoles<Known extends SiteRole | OrganizationRole>(
  names: readonly string[],
  known: readonly Known[],
): Known[] {
  const allowed = new Set<string>([...known, "member", "organization-member"]);
  const problems = new Problems();
  for (const [index, name] of names.entries())
    problems.add(`roles[${index}]`, allowed.has(name) ? undefined : `Must be one of ${known.join(", ")}.`);
  problems.throwIfAny();
  return known.filter((role) => names.includes(role));
}

export const SetUserRoles = inputOf({
  user: required(reference, "The user: ID, username, or `me`."),
  roles: required(listOf(choice(RoleName)), "Replaces all roles held in the deployment."),
});
export type SetUserRoles = Input<typeof SetUserRoles>;

/** Replaces the roles of a user in the deployment. Returns the id of the user. */
export async function setUserRoles(ctx: Context, { user: ref, roles: names }: SetUserRoles): Promise<string> {
  const user = await lockUser(ctx, ref, "assign_role:assign");
  authorize(ctx.actor, "assign_role:assign");
  rejectSystemIdentity(user);
  const roles = readRoles(names, siteRoles);
  if (!roles.includes("owner")) await requireAnotherOwner(ctx, user);

  ctx.em.assign(await ctx.em.findOneOrFail(User, user.id), { siteRoles: roles });
  await ctx.em.flush();
  ctx.publish(userHint(user.id));
  return user.id;
}

/**
 * Throws CONFLICT if `user` is the last active owner, service accounts not counted. To be called before the user is
 * deleted or suspended or loses the role. Serializes such transactions, so that two of them cannot remove the last two.
 */
export async function requireAnotherOwner(ctx: Context, user: UserRow): Promise<void> {
  if (!user.siteRoles.includes("owner") || user.status !== "active" || user.isServiceAccount) return;
  await takeTurn(ctx, "owners");
  const another = await ctx.db
    .selectFrom("users")
    .select("id")
    .where(sql<SqlBool>`${users.siteRoles} <> '{}' and 'owner' = any(${users.siteRoles})`)
    .where("status", "=", "active")
    .where("isServiceAccount", "=", false)
    .where("deletedAt", "is", null)
    .where("id", "<>", user.id)
    .limit(1)
    .executeTakeFirst();
  if (!another) throw conflict("This is the last active owner. Make another user an owner first.");
}

/** A role, and whether the caller may assign it. */
export interface AssignableRole extends Omit<HeldRole, "organizationId"> {
  assignable: boolean;
}

/** Lists the roles of an organization, or those of the deployment if `ref` is null or absent. */
export async function listAssignableRoles(ctx: Context, ref: string | null | undefined): Promise<AssignableRole[]> {
  const organizationId = ref == null ? undefined : (await findOrganization(ctx, ref)).id;
  if (organizationId === undefined) authorize(ctx.actor, "assign_role:read");
  else authorize(ctx.actor, "assign_org_role:read", { organizationId });
  const roles = organizationId ? organizationRoles : siteRoles;
  return roles.map((name) => ({
    name,
    displayName: roleNames[name],
    assignable: mayAssign(ctx.actor, name, organizationId),
  }));
}
