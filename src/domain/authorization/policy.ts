import {
  beyondTheirOrganization,
  type InputOf,
  type Grant,
  holders,
  ifTheyEnterWorkspaces,
  only,
  onMembers,
  type Who,
} from "./grants.js";

const owner = holders("owner");
const templateAdmin = holders("template-admin");
const userAdmin = holders("user-admin");
const auditor = holders("auditor");
const anyUser = holders("member");
const organizationAdmin = holders("organization-admin");
const organizationTemplateAdmin = holders("organization-template-admin");
const organizationUserAdmin = holders("organization-user-admin");
const organizationAuditor = holders("organization-auditor");
const organizationMember = holders("organization-member");

const admins = [owner, organizationAdmin];
const templateAdmins = [templateAdmin, organizationTemplateAdmin];
const userAdmins = [userAdmin, organizationUserAdmin];
const auditors = [auditor, organizationAuditor];
const siteStaff = [owner, templateAdmin, userAdmin, auditor];
const staff = [...admins, ...templateAdmins, ...userAdmins, ...auditors];

const theOwner = only("own", anyUser);
const usersItIsSharedWith = only("sharedForUse", anyUser);
const administratorsByShare = only("sharedForAdministration", anyUser);
const enteringAdmins = ifTheyEnterWorkspaces(admins);

const writes = ["create", "update", "delete"] as const;
const crud = ["read", ...writes] as const;

/** The same holders for several actions. */
const each = <Name extends string, W extends readonly Who[]>(
  actions: readonly Name[],
  ...who: W
): Record<NoInfer<Name>, Array<W[number]>> =>
  Object.fromEntries(actions.map((action) => [action, who])) as unknown as Record<Name, Array<W[number]>>;

/**
 * Who may do what: each resource with its actions, and behind each action those who hold it. Site roles hold it
 * everywhere, organization roles on what belongs to their organization. What is not written here is refused. An account
 * is `dominated` by callers who may give every role that it holds: others cannot change it or act through it.
 */
const policy = {
  // Administrators of an organization see everybody, to find those who shall join it.
  user: {
    create: [owner, userAdmin],
    ...each(["update", "delete"], owner, only("dominated", userAdmin)),
    read: [
      siteStaff,
      theOwner,
      beyondTheirOrganization(organizationAdmin, organizationUserAdmin),
      onMembers(organizationTemplateAdmin, organizationAuditor),
    ],
    read_personal: [owner, userAdmin, theOwner],
    update_personal: [owner, only("dominated", userAdmin), theOwner],
  },
  assign_role: {
    ...each(["assign", "unassign"], owner),
    read: [owner, userAdmin, auditor],
  },
  assign_org_role: {
    ...each(["assign", "unassign"], admins, only("userAdminRole", userAdmins)),
    read: [staff, organizationMember],
  },

  organization: {
    ...each(["create", "delete"], owner),
    read: [staff, organizationMember],
    update: [admins],
  },
  // Mere members see id, username, real name and avatar; the rest of a person takes `user:read`.
  organization_member: {
    ...each(
      writes,
      owner,
      only("dominated", organizationAdmin, userAdmins),
      only("themself", organizationAdmin, userAdmins),
    ),
    read: [staff, organizationMember],
  },
  group: {
    ...each(writes, admins, userAdmins),
    read: [staff, only("inGroup", organizationMember)],
  },
  group_member: { read: [staff, only("own", organizationMember)] },
  group_ai_budget: {
    ...each(writes, admins, userAdmins),
    read: [admins, userAdmins, auditors],
  },

  template: {
    ...each(writes, admins, templateAdmins, administratorsByShare),
    read: [admins, templateAdmins, auditors, usersItIsSharedWith],
    use: [admins, templateAdmins, usersItIsSharedWith],
    view_insights: [admins, templateAdmins, auditors, administratorsByShare],
  },
  file: each(["create", "read"], admins, templateAdmins),
  workspace: {
    ...each(["create", "delete"], admins, theOwner),
    ...each(["update", "start", "stop"], admins, theOwner, administratorsByShare),
    read: [admins, templateAdmins, theOwner, usersItIsSharedWith],
    ...each(["ssh", "application_connect"], theOwner, usersItIsSharedWith, enteringAdmins),
    share: [theOwner],
  },
  prebuilt_workspace: each([...crud, "read_credentials"], admins, templateAdmins),
  workspace_agent: {
    read: [admins, templateAdmins, theOwner, usersItIsSharedWith],
    read_credentials: [theOwner, enteringAdmins],
  },
  task: {
    ...each(["create", "delete"], admins, theOwner),
    read: [admins, templateAdmins, theOwner, usersItIsSharedWith],
    update: [admins, theOwner, administratorsByShare],
  },

  user_secret: each(crud, theOwner),
  api_key: {
    create: [theOwner, only("dominatedServiceAccount", owner, userAdmin)],
    read: [owner, userAdmin, theOwner],
    update: [theOwner],
    delete: [owner, only("dominated", userAdmin), theOwner],
  },
  external_auth_link: each(["read", "update", "delete"], theOwner),

  license: each(["create", "read", "delete"], owner),
  deployment_config: { read: [owner, auditor], update: [owner] },
  system: each(["read", "update"], owner),
  connection_log: { read: [admins, auditors] },
  audit_log: { read: [admins, auditors] },
  workspace_proxy: { ...each(writes, owner), read: [anyUser] },

  provisioner_key: {
    ...each(["create", "delete"], admins, templateAdmins),
    read: [admins, templateAdmins, auditors],
  },
  provisioner_daemon: {
    create: [admins, templateAdmins, only("userDaemon", anyUser)],
    read: [staff, organizationMember],
  },
  provisioner_job: {
    read: [admins, templateAdmins, auditors, theOwner],
    update: [admins, templateAdmins],
  },

  oauth2_app: { ...each(writes, owner), read: [owner, only("adminMade", anyUser), only("granted", anyUser)] },
  oauth2_app_secret: each(["create", "read", "delete"], owner),
  oauth2_grant: each(["read", "delete"], owner, userAdmin, theOwner),
  scim_key: each(["create", "read", "delete"], owner),

  notification_template: { read: [anyUser], update: [owner] },
  notification_preference: each(["read", "update"], owner, theOwner),
  // Messages have an owner if users write them for themselves; tests have none.
  notification_message: {
    create: [owner, theOwner],
    read: [owner, auditor],
    update: [owner],
  },
  inbox_notification: each(["read", "update"], theOwner),
} satisfies Record<string, Record<string, Who[]>>;

type Policy = typeof policy;

/** A kind of object that the policy speaks of. */
export type Resource = keyof Policy;

/** What can be done with the objects of a resource. */
export type Action<R extends Resource = Resource> = R extends Resource ? keyof Policy[R] & string : never;

/** A resource and an action that the policy has: `group:update`. */
export type Permission = { [R in Resource]: `${R}:${Action<R>}` }[Resource];

type WhoHolds<P extends Permission> = P extends `${infer R extends Resource}:${infer A}`
  ? A extends keyof Policy[R]
    ? Policy[R][A] extends ReadonlyArray<infer W>
      ? W
      : never
    : never
  : never;

/** An object as far as the rules of a permission read it; `unknown` where they read nothing: it concerns the site. */
export type ObjectOf<P extends Permission> = InputOf<WhoHolds<P>>;

/** Who holds each permission, one row per permission. */
export const grants: ReadonlyMap<Permission, readonly Grant[]> = new Map(
  Object.entries(policy).flatMap(([resource, actions]) =>
    Object.entries<Who[]>(actions).map(([action, who]) => [`${resource}:${action}` as Permission, who.flat()] as const),
  ),
);

export const isPermission = (text: string): text is Permission => grants.has(text as Permission);
