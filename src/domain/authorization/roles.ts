/** Roles in the deployment, as stored and sent. Every signed-in user is also a `member`. */
export const siteRoles = ["owner", "template-admin", "user-admin", "auditor"] as const;
export type SiteRole = (typeof siteRoles)[number];

/** Roles in an organization. Every member is also an `organization-member`. */
export const organizationRoles = [
  "organization-admin",
  "organization-template-admin",
  "organization-user-admin",
  "organization-auditor",
] as const;
export type OrganizationRole = (typeof organizationRoles)[number];

/** Roles implied by an account or a membership. They are not stored, listed or assigned. */
export type ImpliedRole = "member" | "organization-member";

export type Role = SiteRole | OrganizationRole | ImpliedRole;

/** Display names. */
export const roleNames: Readonly<Record<Role, string>> = {
  owner: "Owner",
  "template-admin": "Template admin",
  "user-admin": "User admin",
  auditor: "Auditor",
  member: "Member",
  "organization-admin": "Organization admin",
  "organization-template-admin": "Organization template admin",
  "organization-user-admin": "Organization user admin",
  "organization-auditor": "Organization auditor",
  "organization-member": "Organization member",
};

export const isSiteRole = (name: string): name is SiteRole => (siteRoles as readonly string[]).includes(name);

export const isOrganizationRole = (name: string): name is OrganizationRole =>
  (organizationRoles as readonly string[]).includes(name);
