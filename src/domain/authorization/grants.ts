import type { Actor } from "../kernel/actor.js";
import { isSiteRole, type OrganizationRole, type Role, type SiteRole } from "./roles.js";

/** Belongs to a user; an account belongs to itself. */
export interface Owned {
  /** Null for what belongs to no user. */
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

/**
 * What each condition reads of an object. The types of the policy hand it on to every check: one that leaves out a
 * value does not compile.
 */
interface ConditionInputs {
  own: Owned;
  themself: Owned;
  dominated: Account;
  dominatedServiceAccount: Account & { readonly isServiceAccount: boolean };
  /** The role that is given or taken. */
  userAdminRole: { readonly assignedRole: OrganizationRole };
  /** Whether the caller is in the group. */
  inGroup: { readonly isMember: boolean };
  /** What the access list of a template or workspace gives the caller; for tasks and agents, that of their workspace. */
  sharedForUse: { readonly acl: "use" | "admin" | null };
  sharedForAdministration: { readonly acl: "use" | "admin" | null };
  /** The tag `scope` of a provisioner daemon. */
  userDaemon: { readonly daemonScope: "user" | "organization" };
  /** Whether an administrator registered the OAuth2 application. */
  adminMade: { readonly isAdminMade: boolean };
  /** Whether the caller has granted access to the OAuth2 application. */
  granted: { readonly isGranted: boolean };
}

export type Condition = keyof ConditionInputs;

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** An object as far as it is known. What is absent grants nothing. */
export type Target = Partial<Intersection<ConditionInputs[Condition]> & InOrganization>;

/** Whether the actor may give a role: of the site, or of an organization. */
export type MayGive = (actor: Actor, role: SiteRole | OrganizationRole, organizationId?: string) => boolean;

/** Whether the actor owns it; what lies in an organization, as long as the caller belongs to that organization. */
const isOwn = ({ ownerId, organizationId }: Target, { userId, organizations }: Actor) =>
  userId !== undefined && ownerId === userId && (organizationId === undefined || organizations.has(organizationId));

/** The rule of dominance: the actor may give every role that the account holds. */
const isDominated = ({ siteRoles, memberships }: Target, actor: Actor, mayGive: MayGive): boolean =>
  siteRoles !== undefined &&
  memberships !== undefined &&
  siteRoles.every((role) => mayGive(actor, role)) &&
  memberships.every(({ organizationId, roles }) => roles.every((role) => mayGive(actor, role, organizationId)));

/** What has to be true of an object, or of the caller's tie to it, besides the role. */
const conditions: Record<Condition, (target: Target, actor: Actor, mayGive: MayGive) => boolean> = {
  own: isOwn,
  themself: ({ ownerId }, { userId }) => userId !== undefined && ownerId === userId,
  dominated: isDominated,
  dominatedServiceAccount: (target, actor, mayGive) =>
    target.isServiceAccount === true && isDominated(target, actor, mayGive),
  userAdminRole: ({ assignedRole }) => assignedRole === "organization-user-admin",
  inGroup: ({ isMember }) => isMember === true,
  sharedForUse: ({ acl }) => acl === "use" || acl === "admin",
  sharedForAdministration: ({ acl }) => acl === "admin",
  userDaemon: ({ daemonScope, organizationId = "" }, { organizations }) =>
    daemonScope === "user" && organizations.has(organizationId),
  adminMade: ({ isAdminMade }) => isAdminMade === true,
  granted: ({ isGranted }) => isGranted === true,
};

/** One way to hold a permission: a role, and what else has to be true. `Input` is what they read of the object. */
export interface Grant<in Input = never> {
  readonly role: Role;
  readonly when?: Condition;
  /** For any existing object, the organization role counts beyond its organization. */
  readonly beyond?: true;
  /** The object is an account: the organization role counts for the members of its organization. */
  readonly members?: true;
  /** Holds only where the deployment lets administrators enter workspaces. */
  readonly entering?: true;
  /** Never set: it tells the compiler what is read. */
  readonly reads?: (object: Input) => void;
}

/** Whoever is written behind an action in the policy: one grant, or several that belong together. */
export type Who = Grant | readonly Grant[];

type Single<W> = W extends ReadonlyArray<infer G> ? G : W;

/** What all of these grants together read of an object. */
export type InputOf<W> = Single<W> extends Grant<infer Input> ? Input : never;

const refined = <Input>(who: readonly Who[], refinement: Omit<Grant, "role" | "reads">) =>
  who.flat().map((grant) => ({ ...grant, ...refinement })) as Array<Grant<Input>>;

type InputOfRole<R extends Role> = R extends OrganizationRole | "organization-member" ? InOrganization : unknown;

export const holders = <R extends Role>(role: R): Grant<InputOfRole<R>> => ({ role });
export const only = <C extends Condition, W extends readonly Who[]>(when: C, ...who: W) =>
  refined<ConditionInputs[C] & InputOf<W[number]>>(who, { when });
export const beyondTheirOrganization = (...who: Who[]) => refined<Owned>(who, { beyond: true });
export const onMembers = (...who: Who[]) => refined<Account>(who, { members: true });
export const ifTheyEnterWorkspaces = <W extends readonly Who[]>(...who: W) =>
  refined<InputOf<W[number]>>(who, { entering: true });

/** Whether the grant gives the actor its permission on the object. */
export function gives(grant: Grant, actor: Actor, target: Target, mayGive: MayGive): boolean {
  if (grant.when && !conditions[grant.when](target, actor, mayGive)) return false;
  if (isSiteWide(grant.role) || (grant.beyond && target.ownerId !== undefined)) return isHeld(grant, actor);
  if (grant.entering && !actor.entersWorkspaces) return false;
  if (grant.members) return target.memberships?.some((each) => holdsAt(grant, actor, each.organizationId)) ?? false;
  return target.organizationId !== undefined && holdsAt(grant, actor, target.organizationId);
}

/**
 * The objects that somebody has a permission on, for statements that list them: all of them, those of some
 * organizations, and those that meet a condition, which the statement checks row by row.
 */
export type Reach = { everywhere: boolean; organizations: string[] } & Record<Condition, boolean>;

const noCondition = Object.fromEntries(Object.keys(conditions).map((name) => [name, false])) as Record<
  Condition,
  false
>;

/** What several grants reach together. */
export function reachOf(grants: readonly Grant[], actor: Actor): Reach {
  const reach: Reach = { everywhere: false, organizations: [], ...noCondition };
  const organizationRoles: Role[] = [];
  for (const grant of grants) {
    if (!isHeld(grant, actor)) continue;
    if (grant.when) reach[grant.when] = true;
    else if (isSiteWide(grant.role) || grant.beyond) reach.everywhere = true;
    else organizationRoles.push(grant.role);
  }
  for (const [id, held] of actor.organizations)
    if (organizationRoles.some((role) => holdsIn(held, role))) reach.organizations.push(id);
  return reach;
}

const isSiteWide = (role: Role) => role === "member" || isSiteRole(role);

const holdsAt = ({ role }: Grant, { organizations }: Actor, id: string) => holdsIn(organizations.get(id), role);

const holdsIn = (held: readonly OrganizationRole[] | undefined, role: Role): boolean =>
  held !== undefined && (role === "organization-member" || (held as readonly Role[]).includes(role));

/** Whether the actor holds the role at all: in the deployment, or in some organization. */
function isHeld({ role, entering }: Grant, actor: Actor): boolean {
  if (entering && !actor.entersWorkspaces) return false;
  if (role === "member") return actor.userId !== undefined;
  if (isSiteRole(role)) return actor.siteRoles.includes(role);
  return [...actor.organizations.values()].some((held) => holdsIn(held, role));
}
