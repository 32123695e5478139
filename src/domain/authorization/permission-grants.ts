import {
  type Actor,
  type OrganizationRole,
  type Role,
  type SiteRole,
  type UserActor,
  isSiteRole,
} from "../kernel/actor.js";

/** An object of a user. An account is its own owner. */
export interface Owned {
  /** Null for objects without an owner. */
  readonly ownerId: string | null;
}

export interface InOrganization {
  readonly organizationId: string;
}

/** An account with every role that it holds, in the deployment and in organizations. */
export interface Account extends Owned {
  readonly siteRoles: readonly SiteRole[];
  readonly memberships: ReadonlyArray<InOrganization & { readonly roles: readonly OrganizationRole[] }>;
}

/** The values of an object that each condition reads. A check that omits a required value does not compile. */
interface ConditionInputs {
  own: Owned;
  themself: Owned;
  dominated: Account;
  dominatedServiceAccount: Account & { readonly isServiceAccount: boolean };
  /** The role to add or remove. */
  userAdminRole: { readonly assignedRole: OrganizationRole };
  /** Whether the caller is in the group. */
  inGroup: { readonly isMember: boolean };
  /**
   * The entry of the caller in the access list of a template or workspace; for tasks and agents, of their workspace.
   */
  sharedForUse: { readonly acl: "use" | "admin" | null };
  sharedForAdministration: { readonly acl: "use" | "admin" | null };
  /** The tag `scope` of a provisioner daemon. */
  userDaemon: { readonly daemonScope: "user" | "organization" };
  /** Whether the template of a job lets its owner cancel it. */
  cancelableByOwner: Owned & { readonly allowsCancel: boolean };
  /** Whether an administrator registered the OAuth2 application. */
  adminMade: { readonly isAdminMade: boolean };
  /** Whether the caller has granted access to the OAuth2 application. */
  granted: { readonly isGranted: boolean };
}

export type Condition = keyof ConditionInputs;

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** A partly known object. Absent values grant nothing. */
export type Target = Partial<Intersection<ConditionInputs[Condition]> & InOrganization>;

/** Whether the actor may assign a role of the site or of an organization. */
export type MayAssign = (actor: UserActor, role: SiteRole | OrganizationRole, organizationId?: string) => boolean;

/** Whether the actor owns the object and, if it belongs to an organization, is a member there. */
const isOwn = ({ ownerId, organizationId }: Target, { userId, organizations }: UserActor) =>
  ownerId === userId && (organizationId === undefined || organizations.has(organizationId));

/** Whether the actor may assign every role of the account. */
const isDominated = ({ siteRoles, memberships }: Target, actor: UserActor, mayAssign: MayAssign): boolean =>
  siteRoles !== undefined &&
  memberships !== undefined &&
  siteRoles.every((role) => mayAssign(actor, role)) &&
  memberships.every(({ organizationId, roles }) => roles.every((role) => mayAssign(actor, role, organizationId)));

/** Conditions of grants on the object, or on the relation between the actor and the object. */
const conditions: Record<Condition, (target: Target, actor: UserActor, mayAssign: MayAssign) => boolean> = {
  own: isOwn,
  themself: ({ ownerId }, { userId }) => ownerId === userId,
  dominated: isDominated,
  dominatedServiceAccount: (target, actor, mayAssign) =>
    target.isServiceAccount === true && isDominated(target, actor, mayAssign),
  userAdminRole: ({ assignedRole }) => assignedRole === "organization-user-admin",
  inGroup: ({ isMember }) => isMember === true,
  sharedForUse: ({ acl }) => acl === "use" || acl === "admin",
  sharedForAdministration: ({ acl }) => acl === "admin",
  userDaemon: ({ daemonScope, organizationId = "" }, { organizations }) =>
    daemonScope === "user" && organizations.has(organizationId),
  cancelableByOwner: (target, actor) => target.allowsCancel === true && isOwn(target, actor),
  adminMade: ({ isAdminMade }) => isAdminMade === true,
  granted: ({ isGranted }) => isGranted === true,
};

/** A way to hold a permission: a role and further conditions. `Input` has the values of the object that they read. */
export interface Grant<in Input = never> {
  readonly role: Role;
  readonly when?: Condition;
  /** The organization role grants the permission on objects outside of its organization, too. */
  readonly reachesBeyond?: true;
  /** The organization role grants the permission on accounts of members of its organization. */
  readonly members?: true;
  /** Requires that the deployment allows administrators to enter workspaces. */
  readonly needsEntry?: true;
  /** Never set: carries the type. */
  readonly reads?: (object: Input) => void;
}

/** An entry of an action in the policy: a grant, or several that belong together. */
export type Who = Grant | readonly Grant[];

type Single<W> = W extends ReadonlyArray<infer G> ? G : W;

/** The values of an object that all of these grants together read. */
export type InputOf<W> = Single<W> extends Grant<infer Input> ? Input : never;

const refine = <Input>(who: readonly Who[], refinement: Omit<Grant, "role" | "reads">) =>
  who.flat().map((grant) => ({ ...grant, ...refinement })) as Array<Grant<Input>>;

type InputOfRole<R extends Role> = R extends OrganizationRole | "organization-member" ? InOrganization : unknown;

export const holders = <R extends Role>(role: R): Grant<InputOfRole<R>> => ({ role });
export const only = <C extends Condition, W extends readonly Who[]>(when: C, ...who: W) =>
  refine<ConditionInputs[C] & InputOf<W[number]>>(who, { when });
export const beyondTheirOrganization = (...who: Who[]) => refine<Owned>(who, { reachesBeyond: true });
export const onMembers = (...who: Who[]) => refine<Account>(who, { members: true });
export const ifTheyEnterWorkspaces = <W extends readonly Who[]>(...who: W) =>
  refine<InputOf<W[number]>>(who, { needsEntry: true });

/** Whether the grant holds for the actor and the object. */
export function gives(grant: Grant, actor: UserActor, target: Target, mayAssign: MayAssign): boolean {
  if (grant.when && !conditions[grant.when](target, actor, mayAssign)) return false;
  if (isSiteWide(grant.role) || (grant.reachesBeyond && target.ownerId !== undefined)) return isHeld(grant, actor);
  if (grant.needsEntry && !actor.entersWorkspaces) return false;
  if (grant.members) return target.memberships?.some((each) => holdsAt(grant, actor, each.organizationId)) ?? false;
  return target.organizationId !== undefined && holdsAt(grant, actor, target.organizationId);
}

/**
 * The objects on which an actor has a permission, for the conditions of statements: all objects, those of some
 * organizations, and those that satisfy a condition, which the statement must check for each row.
 */
export type Permitted = { everywhere: boolean; organizations: string[] } & Record<Condition, boolean>;

const noCondition = Object.fromEntries(Object.keys(conditions).map((name) => [name, false])) as Record<
  Condition,
  false
>;

export const nonePermitted: Readonly<Permitted> = { everywhere: false, organizations: [], ...noCondition };

/** The union of the objects of several grants; empty for machines. */
export function permittedBy(grants: readonly Grant[], actor: Actor): Permitted {
  const found: Permitted = { ...nonePermitted, organizations: [] };
  if (actor.kind !== "user") return found;
  const organizationRoles: Role[] = [];
  for (const grant of grants) {
    if (!isHeld(grant, actor)) continue;
    if (grant.when) found[grant.when] = true;
    else if (isSiteWide(grant.role) || grant.reachesBeyond) found.everywhere = true;
    else organizationRoles.push(grant.role);
  }
  for (const [id, held] of actor.organizations)
    if (organizationRoles.some((role) => holdsIn(held, role))) found.organizations.push(id);
  return found;
}

const isSiteWide = (role: Role) => role === "member" || isSiteRole(role);

const holdsAt = ({ role }: Grant, { organizations }: UserActor, id: string) => holdsIn(organizations.get(id), role);

const holdsIn = (held: readonly OrganizationRole[] | undefined, role: Role): boolean =>
  held !== undefined && (role === "organization-member" || (held as readonly Role[]).includes(role));

/** Whether the actor holds the role in the deployment or in any organization. */
function isHeld({ role, needsEntry }: Grant, actor: UserActor): boolean {
  if (needsEntry && !actor.entersWorkspaces) return false;
  if (role === "member") return true;
  if (isSiteRole(role)) return actor.siteRoles.includes(role);
  return [...actor.organizations.values()].some((held) => holdsIn(held, role));
}
