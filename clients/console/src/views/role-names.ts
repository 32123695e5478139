import type { RoleName } from "./invitations.gql";

/** Roles in the deployment as a whole, in the order in which they are shown. */
export const siteRoles: readonly RoleName[] = ["OWNER", "USER_ADMIN", "TEMPLATE_ADMIN", "AUDITOR"];

/** Roles of members of an organization, in the order in which they are shown. */
export const organizationRoles: readonly RoleName[] = [
  "ORGANIZATION_ADMIN",
  "ORGANIZATION_USER_ADMIN",
  "ORGANIZATION_TEMPLATE_ADMIN",
  "ORGANIZATION_AUDITOR",
];
