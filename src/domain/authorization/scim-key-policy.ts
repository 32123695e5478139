import type { ScimKeyActor } from "../kernel/actor.js";
import { nonePermitted, type Permitted, type Target } from "./permission-grants.js";
import { type Permission, scimKeyPolicy } from "./policy.js";

const { everyAccount, accountsOfNoOtherOrganization, thoseWithoutSiteRoles, itsOrganizations } = scimKeyPolicy;

const isIn = (permissions: readonly Permission[], permission: Permission) => permissions.includes(permission);

/** Whether a SCIM key has the permission on an object. Absent values grant nothing. */
export function keyMay({ organizationIds }: ScimKeyActor, permission: Permission, target: Target): boolean {
  if (isIn(everyAccount, permission)) return true;
  const { siteRoles, memberships, organizationId = "" } = target;
  const isTheirs = memberships?.every((each) => organizationIds.includes(each.organizationId)) === true;
  if (isIn(accountsOfNoOtherOrganization, permission)) return isTheirs;
  if (isIn(thoseWithoutSiteRoles, permission)) return isTheirs && siteRoles?.length === 0;
  return isIn(itsOrganizations, permission) && organizationIds.includes(organizationId);
}

/** The objects on which a SCIM key has the permission, whatever the object holds. */
export const permittedToKey = ({ organizationIds }: ScimKeyActor, permission: Permission): Permitted => ({
  ...nonePermitted,
  everywhere: isIn(everyAccount, permission),
  organizations: isIn(itsOrganizations, permission) ? [...organizationIds] : [],
});
