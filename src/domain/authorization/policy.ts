import type { MachineActor } from "../kernel/actor.js";
import {
  beyondTheirOrganization,
  type InputOf,
  type Grant,
  holders,
  ifTheyEnterWorkspaces,
  only,
  onMembers,
  type Who,
} from "./permission-grants.js";

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

/** Gives several actions the same holders. */
const each = <Name extends string, W extends readonly Who[]>(
  actions: readonly Name[],
  ...who: W
): Record<NoInfer<Name>, Array<W[number]>> =>
  Object.fromEntries(actions.map((action) => [action, who])) as unknown as Record<Name, Array<W[number]>>;

/**
 * The permissions of users: the holders of each action on each resource. Site roles hold them on all objects,
 * organization roles on objects of their organization. Everything else is forbidden. An account is `dominated` by
 * callers who may assign every role that it holds; only they can change it or act through it.
 */
const policy = {
  // Administrators of an organization read all users, to find new members.
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
  // Invitations create accounts. What they give is judged like an account that holds it.
  invitation: {
    ...each(writes, owner, only("dominated", userAdmin)),
    read: [owner, userAdmin],
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
  // Other members read id, username, real name and avatar; other fields require `user:read`.
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
  // Offers belong to those who may accept them. Owners of workspaces do not create any: their files stay inside.
  workspace_transfer: {
    create: [owner, only("dominated", organizationAdmin)],
    ...each(["read", "update"], theOwner),
  },
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
  // Endpoints receive what the audit log has: who makes one needs `audit_log:read` as well.
  event_endpoint: each(crud, admins),
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
    update: [admins, templateAdmins, only("cancelableByOwner", anyUser)],
  },

  oauth2_app: { ...each(writes, owner), read: [owner, only("adminMade", anyUser), only("granted", anyUser)] },
  oauth2_app_secret: each(["create", "read", "delete"], owner),
  oauth2_grant: each(["read", "delete"], owner, userAdmin, theOwner),
  scim_key: each(["create", "read", "delete"], owner),
  sign_in_provider: each(crud, owner),

  notification_template: { read: [anyUser], update: [owner] },
  notification_preference: each(["read", "update"], owner, theOwner),
  // Messages that users send to themselves have an owner; test messages have none.
  notification_message: {
    create: [owner, theOwner],
    read: [owner, auditor],
    update: [owner],
  },
  inbox_notification: each(["read", "update"], theOwner),
} satisfies Record<string, Record<string, Who[]>>;

/**
 * The permissions whose use takes a recent proof of who the user is, from users whom the deployment asks for one: what
 * gives lasting or wider access.
 */
export const provenPermissions: ReadonlySet<Permission> = new Set<Permission>([
  "api_key:create",
  "assign_role:assign",
  "assign_org_role:assign",
  // What happens in the organization leaves for as long as the endpoint exists.
  "event_endpoint:create",
  "license:create",
  "license:delete",
  "oauth2_app_secret:create",
  "provisioner_key:create",
  "scim_key:create",
  "sign_in_provider:create",
  "sign_in_provider:update",
  "sign_in_provider:delete",
  "workspace_proxy:create",
]);

/** The permissions of machines, by kind. Each machine acts only for itself. */
export const machinePolicy = {
  agent: [
    "connection:record",
    "external_auth_token:read",
    "workspace_agent:report",
    "agent_manifest:read",
    "task_snapshot:upload",
    "resource_alert:report",
  ],
  provisioner: ["provisioner_job:work"],
  proxy: ["connection:record", "workspace_proxy:report", "application:resolve"],
  scim_key: ["scim:provision"],
} as const satisfies Record<MachineActor["kind"], readonly string[]>;

/** An action of machines. */
export type MachineAction = (typeof machinePolicy)[MachineActor["kind"]][number];

/** Whether callers of this kind are machines. */
export const isMachine = (kind: string): kind is MachineActor["kind"] => Object.hasOwn(machinePolicy, kind);

type Policy = typeof policy;

/** A type of objects in the policy. */
export type Resource = keyof Policy;

/** An action on the objects of a resource. */
export type Action<R extends Resource = Resource> = R extends Resource ? keyof Policy[R] & string : never;

/** A resource and one of its actions: `group:update`. */
export type Permission = { [R in Resource]: `${R}:${Action<R>}` }[Resource];

/**
 * The permissions of users that SCIM keys hold as well, by the objects on which they hold them. A key changes only
 * accounts that belong to no other organization, and personal details only of those without a role in the deployment.
 * It assigns no roles.
 */
export const scimKeyPolicy = {
  everyAccount: ["user:create", "user:read"],
  accountsOfNoOtherOrganization: ["user:update"],
  thoseWithoutSiteRoles: ["user:update_personal"],
  itsOrganizations: [
    "organization:read",
    "organization_member:create",
    "organization_member:read",
    "organization_member:delete",
    "group:create",
    "group:read",
    "group:update",
    "group:delete",
    "group_member:read",
  ],
} as const satisfies Record<string, readonly Permission[]>;

type WhoHolds<P extends Permission> = P extends `${infer R extends Resource}:${infer A}`
  ? A extends keyof Policy[R]
    ? Policy[R][A] extends ReadonlyArray<infer W>
      ? W
      : never
    : never
  : never;

/** The values of an object that the rules of a permission read; `unknown` for site-wide permissions. */
export type ObjectOf<P extends Permission> = InputOf<WhoHolds<P>>;

/** The grants of each permission. */
export const grants: ReadonlyMap<Permission, readonly Grant[]> = new Map(
  Object.entries(policy).flatMap(([resource, actions]) =>
    Object.entries<Who[]>(actions).map(([action, who]) => [`${resource}:${action}` as Permission, who.flat()] as const),
  ),
);

export const isPermission = (text: string): text is Permission => grants.has(text as Permission);
