// The access that an invitation gives: roles in the deployment, memberships with roles, and groups.
import { findGroup, findGroupByName, type GroupRow, isEveryone } from "../groups/groups.js";
import {
  authorize,
  may,
  mayAssign,
  organizationRoles,
  type SiteRole,
  siteRoles,
  requireProofFor,
} from "../authorization/authorization.js";
import type { Role, UserActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError, Problems } from "../kernel/errors.js";
import { choice, type Input, inputOf, list, optional, reference, required } from "../kernel/values.js";
import { findOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { RoleName } from "../users/user-roles.js";
import { invitationTarget, type InvitedMembership } from "./invitations.js";

const mostOrganizations = 100;
const mostGroups = 100;
const mostRoles = 10;

export const InvitedOrganization = inputOf({
  organization: required(reference, "The organization: ID, name, or `default`."),
  roles: optional(list(mostRoles, choice(RoleName), "roles"), "Roles there. Default: none."),
});

/** The fields of inputs that say what a person gets. */
export const accessFields = {
  organizations: optional(
    list(mostOrganizations, InvitedOrganization, "organizations"),
    "The organizations that the person joins, {limits}. Default: the default organization.",
  ),
  groups: optional(
    list(mostGroups, reference, "groups"),
    "Groups of these organizations that the person joins, {limits}: IDs, or names that match only one group.",
  ),
  roles: optional(list(mostRoles, choice(RoleName), "roles"), "Roles in the deployment. Default: none."),
};
const AccessFields = inputOf(accessFields);
export type AccessFields = Input<typeof AccessFields>;

/** The access that a person gets. */
export interface InvitedAccess {
  siteRoles: SiteRole[];
  memberships: InvitedMembership[];
  groupIds: string[];
}

/** Finds organizations and groups by references, each of them once. */
export class References {
  readonly #found = new Map<string, Promise<OrganizationRow | GroupRow | DomainError>>();

  constructor(private readonly ctx: Context) {}

  organization = (ref: string) =>
    this.#find(`organization ${ref}`, () => findOrganization(this.ctx, ref)) as Promise<OrganizationRow | DomainError>;

  group = (ref: string) =>
    this.#find(`group ${ref}`, () => findGroup(this.ctx, ref)) as Promise<GroupRow | DomainError>;

  groupOf = (organization: string, name: string) =>
    this.#find(`group ${organization}/${name}`, () => findGroupByName(this.ctx, organization, name)) as Promise<
      GroupRow | DomainError
    >;

  #find(key: string, find: () => Promise<OrganizationRow | GroupRow>) {
    const found = this.#found.get(key) ?? find().catch(missing);
    this.#found.set(key, found);
    return found;
  }
}

function missing(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  throw error;
}

/**
 * Reads what a person is to get. Adds a fault for each reference without an object, and for each role that is not of its
 * kind. Throws FORBIDDEN for what the caller may not give.
 */
export async function readAccess(
  ctx: Context,
  { organizations, groups, roles }: AccessFields,
  problems: Problems,
  references = new References(ctx),
): Promise<InvitedAccess> {
  const given: InvitedAccess = {
    siteRoles: knownRoles(roles, siteRoles, "roles", problems),
    memberships: [],
    groupIds: [],
  };
  const wanted = organizations ?? [{ organization: "default", roles: [] }];
  problems.add("organizations", wanted.length === 0 ? "Must name at least one organization." : undefined);
  for (const [index, each] of wanted.entries()) {
    const field = `organizations[${index}]`;
    const found = await references.organization(each.organization);
    const held = knownRoles(each.roles, organizationRoles, `${field}.roles`, problems);
    if (found instanceof DomainError) problems.add(`${field}.organization`, "Must be an organization.");
    else if (given.memberships.some(({ organizationId }) => organizationId === found.id))
      problems.add(`${field}.organization`, "Must occur only once.");
    else given.memberships.push({ organizationId: found.id, roles: held });
  }
  const found = await readGroups(references, groups ?? [], given, problems);
  requireGivable(ctx, given, found);
  return given;
}

async function readGroups(
  references: References,
  refs: readonly string[],
  { memberships, groupIds }: InvitedAccess,
  problems: Problems,
): Promise<GroupRow[]> {
  const given: GroupRow[] = [];
  for (const [index, ref] of refs.entries()) {
    const field = `groups[${index}]`;
    const found = await references.group(ref);
    if (found instanceof DomainError)
      problems.add(field, found.code === "CONFLICT" ? "Matches several groups." : "Must be a group.");
    else if (isEveryone(found)) problems.add(field, "All members are in Everyone.");
    else if (!memberships.some(({ organizationId }) => organizationId === found.organizationId))
      problems.add(field, "Must be a group of one of the organizations.");
    else if (groupIds.includes(found.id)) problems.add(field, "Must occur only once.");
    else {
      groupIds.push(found.id);
      given.push(found);
    }
  }
  return given;
}

/** The roles of a kind among names, in the order of `known`. Ignores implied roles. */
function knownRoles<Known extends Role>(
  names: readonly string[] | null | undefined,
  known: readonly Known[],
  field: string,
  problems: Problems,
): Known[] {
  const allowed = new Set<string>([...known, "member", "organization-member"]);
  for (const [index, name] of (names ?? []).entries())
    problems.add(`${field}[${index}]`, allowed.has(name) ? undefined : `Must be one of ${known.join(", ")}.`);
  return known.filter((role) => names?.includes(role));
}

/** Throws FORBIDDEN unless the caller may give all of it. */
export function requireGivable(
  { actor }: Pick<Context, "actor">,
  given: Omit<InvitedAccess, "groupIds">,
  groups: ReadonlyArray<Pick<GroupRow, "organizationId">>,
): void {
  const target = invitationTarget(given);
  authorize(actor, "invitation:create", target);
  for (const { organizationId } of given.memberships)
    authorize(actor, "organization_member:create", { organizationId, ...target });
  const givesRoles = given.siteRoles.length > 0 || given.memberships.some(({ roles }) => roles.length > 0);
  if (givesRoles) requireProofFor(actor, "assign_role:assign");
  for (const { organizationId } of groups) authorize(actor, "group:update", { organizationId });
}

/** Returns the part of the access of an invitation that a user may still give. Groups are left to `mayGiveGroup`. */
export function givableBy(inviter: UserActor, { siteRoles: site, memberships }: Omit<InvitedAccess, "groupIds">) {
  const noRoles = { ownerId: null, siteRoles: [], memberships: [] };
  return {
    siteRoles: site.filter((role) => mayAssign(inviter, role)),
    memberships: memberships
      .filter(({ organizationId }) => may(inviter, "organization_member:create", { organizationId, ...noRoles }))
      .map(({ organizationId, roles }) => ({
        organizationId,
        roles: roles.filter((role) => mayAssign(inviter, role, organizationId)),
      })),
  };
}

export const mayGiveGroup = (inviter: UserActor, { organizationId }: Pick<GroupRow, "organizationId">): boolean =>
  may(inviter, "group:update", { organizationId });
