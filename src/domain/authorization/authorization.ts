import {
  type Actor,
  type MachineActor,
  type OrganizationRole,
  type SiteRole,
  type UserActor,
  isSiteRole,
  organizationRoles,
  siteRoles,
} from "../kernel/actor.js";
import {
  type Account,
  type Grant,
  gives,
  type MayAssign,
  type Permitted,
  permittedBy,
  type Target,
} from "./permission-grants.js";
import { keyMay, permittedToKey } from "./scim-key-policy.js";
import { grants, isMachine, type MachineAction, machinePolicy, type ObjectOf, type Permission } from "./policy.js";
import { covers, missingScopes, type Need } from "./scopes.js";
import { requireProofFor } from "./step-up.js";
import { forbidden } from "../kernel/errors.js";

export type { Account, Permitted, Target } from "./permission-grants.js";
export { type Action, isMachine, isPermission, type ObjectOf, type Permission, type Resource } from "./policy.js";
export {
  isOrganizationRole,
  isSiteRole,
  type OrganizationRole,
  organizationRoles,
  roleNames,
  type SiteRole,
  siteRoles,
} from "../kernel/actor.js";
export { requireProof, requireProofFor } from "./step-up.js";
export {
  covers,
  isScope,
  missingScopes,
  narrowScopes as narrowed,
  type Need,
  scopeCatalog,
  scopesOf,
} from "./scopes.js";

/** The target of a check, with every value that the rules of the permission read; none for site-wide permissions. */
type On<P extends Permission> = unknown extends ObjectOf<P> ? [] : [object: ObjectOf<P>];

/**
 * Whether the actor has the permission on the object: by role, ownership or access list, and within the scopes of the
 * credential. False for machines other than SCIM keys: `authorizeMachine` checks them.
 */
export const may = <P extends Permission>(actor: Actor, permission: P, ...[object]: On<P>): boolean =>
  mayOn(actor, permission, object ?? {});

/** `may` for a partly known object. Absent values grant nothing. */
export const mayOn = (actor: Actor, permission: Permission, target: Target): boolean =>
  actor.kind === "scim_key"
    ? keyMay(actor, permission, target)
    : actor.kind === "user" && usable(actor, permission).some((grant) => gives(grant, actor, target, mayAssignByRole));

/**
 * Whether the existence of the object may be disclosed to the actor. Ignores scopes, which are checked before any
 * object is looked up.
 */
export const sees = <P extends Permission>(actor: Actor, permission: P, ...[object]: On<P>): boolean =>
  seesOn(actor, permission, object ?? {});

/** `sees` for a partly known object. Absent values grant nothing. */
export const seesOn = (actor: Actor, permission: Permission, target: Target): boolean =>
  actor.kind === "user"
    ? (grants.get(permission) ?? []).some((grant) => gives(grant, actor, target, mayAssignByRole))
    : mayOn(actor, permission, target);

/**
 * Throws FORBIDDEN unless `may`, and STEP_UP_REQUIRED if the permission takes a more recent proof. For objects that the actor can see; lookups throw
 * NOT_FOUND for others.
 */
export function authorize<P extends Permission>(actor: Actor, permission: P, ...[object]: On<P>): void {
  const target: Target = object ?? {};
  if (mayOn(actor, permission, target)) return requireProofFor(actor, permission);
  requireScope(actor, permission);
  if (mayOn(actor, permission, { ...target, siteRoles: [], memberships: [] }))
    throw forbidden("Forbidden.", {
      detail: `The ${permission.startsWith("invitation:") ? "invitation gives" : "account holds"} a role that you may not give.`,
    });
  throw forbidden();
}

/** Returns the actor, a machine whose kind may do the action. Throws FORBIDDEN for all other actors. */
export function authorizeMachine<A extends MachineAction>(actor: Actor, action: A): MachineFor<A> {
  const actions: readonly MachineAction[] = isMachine(actor.kind) ? machinePolicy[actor.kind] : [];
  if (!actions.includes(action)) throw forbidden();
  return actor as MachineFor<A>;
}

type MachineFor<A, Machine = MachineActor> = Machine extends MachineActor
  ? A extends (typeof machinePolicy)[Machine["kind"]][number]
    ? Machine
    : never
  : never;

/** The objects for which `sees` holds, for statements that look up the object of an operation. */
export const visible = (actor: Actor, permission: Permission): Permitted =>
  actor.kind === "scim_key" ? permittedToKey(actor, permission) : permittedBy(grants.get(permission) ?? [], actor);

/** The objects for which `may` holds, for statements that list objects. */
export const selectPermitted = (actor: Actor, permission: Permission): Permitted =>
  actor.kind === "scim_key" ? permittedToKey(actor, permission) : permittedBy(usable(actor, permission), actor);

/** `selectPermitted` for lists that reject actors without the permission instead of returning no rows. Throws FORBIDDEN. */
export function requireAnyPermitted(actor: Actor, permission: Permission): Permitted {
  requireScope(actor, permission);
  const found = selectPermitted(actor, permission);
  const { organizations, ...rest } = found;
  if (organizations.length === 0 && !Object.values(rest).includes(true)) throw forbidden();
  return found;
}

/** Throws FORBIDDEN if the scopes of the credential do not cover the permission. To be called before any lookup. */
export const requireScope = (actor: Actor, permission: Permission): void => requireScopes(actor, [permission]);

/** Throws FORBIDDEN, with all missing scopes, if the scopes of the credential do not cover all needs. */
export function requireScopes(actor: Actor, needs: readonly Need[]): void {
  const scopes = actor.kind === "user" ? actor.scopes : [];
  if (scopes.includes("all")) return;
  const missing = missingScopes(scopes, needs);
  if (missing.length === 0) return;
  const named = `${missing.length === 1 ? "scope" : "scopes"} ${missing.join(", ")}`;
  throw forbidden("Forbidden.", { detail: `The credential lacks the ${named}.`, requiredScopes: missing });
}

/**
 * Throws FORBIDDEN unless the credential is a session with all scopes. For changes of the login outside of the schema,
 * where root fields declare the credentials that they accept.
 */
export function requireFullSession({ credential, scopes }: UserActor): void {
  if (credential.kind === "session" && scopes.includes("all")) return;
  throw forbidden("Forbidden.", { detail: "This requires a session with all scopes; API keys are not accepted." });
}

/** The roles that the actor may assign: those of an organization, or without `organizationId`, of the site. */
export function assignableRoles(actor: Actor, organizationId?: string): Array<SiteRole | OrganizationRole> {
  const roles = organizationId === undefined ? siteRoles : organizationRoles;
  return roles.filter((role) => mayAssign(actor, role, organizationId));
}

/** Whether the actor may assign the role. The policy lets each role assign only roles with no more permissions. */
export const mayAssign = (actor: Actor, role: SiteRole | OrganizationRole, organizationId?: string): boolean =>
  isSiteRole(role)
    ? may(actor, "assign_role:assign")
    : mayOn(actor, "assign_org_role:assign", { organizationId, assignedRole: role });

/** `mayAssign` regardless of scopes, which limit the actions of a credential, not the accounts it may act on. */
const mayAssignByRole: MayAssign = (actor, role, organizationId) =>
  isSiteRole(role)
    ? seesOn(actor, "assign_role:assign", {})
    : seesOn(actor, "assign_org_role:assign", { organizationId, assignedRole: role });

/** The account of the caller as the target of a permission check. */
export const ownAccount = (actor: UserActor): Account => ({
  ownerId: actor.userId,
  siteRoles: actor.siteRoles,
  memberships: Array.from(actor.organizations, ([organizationId, roles]) => ({ organizationId, roles })),
});

/** The grants within the scopes of the credential. Every credential may read its own user. */
function usable(actor: Actor, permission: Permission): readonly Grant[] {
  if (actor.kind !== "user") return [];
  const all = grants.get(permission) ?? [];
  if (covers(actor.scopes, permission)) return all;
  return permission === "user:read" ? all.filter(({ when }) => when === "own") : [];
}
