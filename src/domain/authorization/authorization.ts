import type { Actor } from "../kernel/actor.js";
import { type Account, type Grant, gives, type MayGive, type Reach, reachOf, type Target } from "./grants.js";
import { type ObjectOf, grants, type Permission } from "./policy.js";
import { isSiteRole, type OrganizationRole, organizationRoles, type SiteRole, siteRoles } from "./roles.js";
import { covers, missingScopes, type Need } from "./scopes.js";
import { forbidden } from "../kernel/errors.js";

export type { Account, Reach, Target } from "./grants.js";
export { type Action, type ObjectOf, isPermission, type Permission, type Resource } from "./policy.js";
export {
  isOrganizationRole,
  isSiteRole,
  type OrganizationRole,
  organizationRoles,
  roleNames,
  type SiteRole,
  siteRoles,
} from "./roles.js";
export { covers, isScope, narrowed, type Need, scopeCatalogue, scopesOf } from "./scopes.js";

/** The object of a check with all that the rules of the permission read; none where the permission concerns the site. */
type On<P extends Permission> = unknown extends ObjectOf<P> ? [] : [object: ObjectOf<P>];

/**
 * Whether the actor may do this to the object: by a role, by owning it or by its access list, and within the scopes of
 * the credential. Only users hold roles; what machines may do is said where their areas are.
 */
export const may = <P extends Permission>(actor: Actor, permission: P, ...[object]: On<P>): boolean =>
  mayOn(actor, permission, object ?? {});

/** The same for an object that is known in part: what is absent grants nothing. */
export const mayOn = (actor: Actor, permission: Permission, target: Target): boolean =>
  usable(actor, permission).some((grant) => gives(grant, actor, target, mayGive));

/**
 * Whether the actor gets to know that the object is there, by roles, ownership and access lists alone: what the
 * credential's scopes must cover is checked before any object is looked up.
 */
export const sees = <P extends Permission>(actor: Actor, permission: P, ...[object]: On<P>): boolean =>
  seesOn(actor, permission, object ?? {});

/** The same for an object that is known in part: what is absent shows nothing. */
export const seesOn = (actor: Actor, permission: Permission, target: Target): boolean =>
  (grants.get(permission) ?? []).some((grant) => gives(grant, actor, target, mayGive));

/** Throws unless the actor may. For objects the caller can see: what they cannot see is "not found". */
export function authorize<P extends Permission>(actor: Actor, permission: P, ...[object]: On<P>): void {
  const target: Target = object ?? {};
  if (mayOn(actor, permission, target)) return;
  requireScope(actor, permission);
  if (mayOn(actor, permission, { ...target, siteRoles: [], memberships: [] }))
    throw forbidden("Forbidden.", { detail: "The account holds a role that you may not give." });
  throw forbidden();
}

/**
 * Which objects the actor gets to know of, by roles, ownership and access lists alone: for statements that find what an
 * operation names, whose scopes were checked before.
 */
export const sight = (actor: Actor, permission: Permission): Reach => reachOf(grants.get(permission) ?? [], actor);

/** Which objects the actor has the permission on. Lists show these and no others. */
export const reach = (actor: Actor, permission: Permission): Reach => reachOf(usable(actor, permission), actor);

/** The same for lists that are refused, rather than empty, to whoever could see no row by any role. */
export function requireAnyReach(actor: Actor, permission: Permission): Reach {
  requireScope(actor, permission);
  const found = reach(actor, permission);
  const { organizations, ...rest } = found;
  if (organizations.length === 0 && !Object.values(rest).includes(true)) throw forbidden();
  return found;
}

/** Throws if the credential's scopes leave the permission out, whoever holds it. Comes before any object is looked up. */
export const requireScope = (actor: Actor, permission: Permission): void => requireScopes(actor, [permission]);

/** The same for several permissions. Names all scopes that are missing at once. */
export function requireScopes({ scopes }: Actor, needs: readonly Need[]): void {
  if (scopes.includes("all")) return;
  const missing = missingScopes(scopes, needs);
  if (missing.length === 0) return;
  const named = `${missing.length === 1 ? "scope" : "scopes"} ${missing.join(", ")}`;
  throw forbidden("Forbidden.", { detail: `The credential lacks the ${named}.`, requiredScopes: missing });
}

/**
 * Throws unless the credential is a session that nothing narrows: for what changes how a user signs in, where no root
 * field says which credentials it takes.
 */
export function requireFullSession({ credential, scopes }: Actor): void {
  if (credential?.kind === "session" && scopes.includes("all")) return;
  throw forbidden("Forbidden.", { detail: "This takes a session with all scopes; keys cannot be used for it." });
}

/** The roles that the actor may give and take: those of an organization, or the site's. */
export function assignableRoles(actor: Actor, organizationId?: string): Array<SiteRole | OrganizationRole> {
  const roles = organizationId === undefined ? siteRoles : organizationRoles;
  return roles.filter((role) => mayAssign(actor, role, organizationId));
}

/** Nobody gives away more than they hold: the policy lets each role assign only roles that can do no more. */
export const mayAssign = (actor: Actor, role: SiteRole | OrganizationRole, organizationId?: string): boolean =>
  isSiteRole(role)
    ? may(actor, "assign_role:assign")
    : mayOn(actor, "assign_org_role:assign", { organizationId, assignedRole: role });

/** Whether the roles of the actor let it give a role. Scopes narrow what a credential does, not to which accounts. */
const mayGive: MayGive = (actor, role, organizationId) =>
  isSiteRole(role)
    ? seesOn(actor, "assign_role:assign", {})
    : seesOn(actor, "assign_org_role:assign", { organizationId, assignedRole: role });

/** What the policy asks about the account that acts. */
export const ownAccount = (actor: Actor): Account => ({
  ownerId: actor.userId ?? null,
  siteRoles: actor.siteRoles,
  memberships: Array.from(actor.organizations, ([organizationId, roles]) => ({ organizationId, roles })),
});

/** Every credential may read its own user, however narrow its scopes. */
function usable(actor: Actor, permission: Permission): readonly Grant[] {
  const all = grants.get(permission) ?? [];
  if (covers(actor.scopes, permission)) return all;
  return permission === "user:read" ? all.filter(({ when }) => when === "own") : [];
}
