import type { Actor } from "../../context.js";
import { isSiteRole, type OrganizationRole, type Role, type SiteRole } from "./roles.js";

/**
 * The facts about an object that the policy asks for; rows of the domain are passed as they are. A fact that is left
 * out counts against the caller. No facts at all: the question is about the deployment as a whole.
 */
export interface Target {
  organizationId?: string;
  /** The organizations of a user. */
  organizationIds?: readonly string[];
  /** The user it belongs to; for a user, that user. */
  ownerId?: string;
  /** The site roles of the user it belongs to. */
  siteRoles?: readonly SiteRole[];
  /** Whether the user it belongs to is a service account. */
  isServiceAccount?: boolean;
  /** The role that is given or taken. */
  assignedRole?: OrganizationRole;
  /** Whether the caller is in the group. */
  isMember?: boolean;
  /** What the access list of a template or workspace gives the caller; for tasks and agents, that of their workspace. */
  acl?: "use" | "admin";
  /** The tag `scope` of a provisioner daemon. */
  daemonScope?: "user" | "organization";
  /** Whether an administrator registered the OAuth2 application. */
  isAdminMade?: boolean;
  /** Whether the caller has granted access to the OAuth2 application. */
  isGranted?: boolean;
}

const holdsNoSiteRole = ({ siteRoles, ownerId }: Target) =>
  siteRoles ? siteRoles.length === 0 : ownerId === undefined;

/** Whether the caller owns it; what lies in an organization, as long as the caller belongs to that organization. */
const isOwn = ({ ownerId, organizationId }: Target, actor: Actor) =>
  ownerId !== undefined &&
  ownerId === actor.userId &&
  (organizationId === undefined || actor.organizations.has(organizationId));

/** What has to be true of an object, or of the caller's tie to it, besides the role. */
const conditions = {
  own: isOwn,
  ordinaryUser: holdsNoSiteRole,
  serviceAccount: (target: Target) => holdsNoSiteRole(target) && target.isServiceAccount === true,
  userAdminRole: ({ assignedRole = "organization-user-admin" }: Target) => assignedRole === "organization-user-admin",
  inGroup: ({ isMember }: Target) => isMember === true,
  sharedForUse: ({ acl }: Target) => acl === "use" || acl === "admin",
  sharedForAdministration: ({ acl }: Target) => acl === "admin",
  userDaemon: ({ daemonScope, organizationId = "" }: Target, actor: Actor) =>
    daemonScope === "user" && actor.organizations.has(organizationId),
  adminMade: ({ isAdminMade }: Target) => isAdminMade === true,
  granted: ({ isGranted }: Target) => isGranted === true,
} satisfies Record<string, (target: Target, actor: Actor) => boolean>;

export type Condition = keyof typeof conditions;

/** One way to hold a permission: a role, and what else has to be true. */
export interface Grant {
  readonly role: Role;
  readonly when?: Condition;
  /** For any existing object, the organization role counts beyond its organization. */
  readonly beyond?: true;
  /** Holds only where the deployment lets administrators enter workspaces. */
  readonly entering?: true;
}

/** Whoever is written behind an action in the policy: one grant, or several that belong together. */
export type Who = Grant | readonly Grant[];

const refined = (who: Who[], refinement: Partial<Grant>): Grant[] =>
  who.flat().map((grant) => ({ ...grant, ...refinement }));

export const holders = (role: Role): Grant => ({ role });
export const only = (when: Condition, ...who: Who[]): Grant[] => refined(who, { when });
export const beyondTheirOrganization = (...who: Who[]): Grant[] => refined(who, { beyond: true });
export const ifTheyEnterWorkspaces = (...who: Who[]): Grant[] => refined(who, { entering: true });

/** Whether the grant gives the actor its permission on the object. */
export function gives(grant: Grant, actor: Actor, target: Target): boolean {
  if (grant.when && !conditions[grant.when](target, actor)) return false;
  if (isSiteWide(grant.role) || (grant.beyond && target.ownerId !== undefined)) return isHeld(grant, actor);
  if (grant.entering && !actor.entersWorkspaces) return false;
  const organizations = target.organizationId === undefined ? target.organizationIds : [target.organizationId];
  return organizations?.some((id) => holdsIn(actor.organizations.get(id), grant.role)) ?? false;
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

const holdsIn = (held: readonly OrganizationRole[] | undefined, role: Role): boolean =>
  held !== undefined && (role === "organization-member" || (held as readonly Role[]).includes(role));

/** Whether the actor holds the role at all: in the deployment, or in some organization. */
function isHeld({ role, entering }: Grant, actor: Actor): boolean {
  if (entering && !actor.entersWorkspaces) return false;
  if (role === "member") return actor.userId !== undefined;
  if (isSiteRole(role)) return actor.siteRoles.includes(role);
  return [...actor.organizations.values()].some((held) => holdsIn(held, role));
}
