// The values of arguments. Those of the types Boolean and enum are all that there are, if they are not named here.
import { numbered } from "../data.js";
import { customTemplate } from "./fill-protocols.js";
import { known, type Role, users } from "./known.js";

const member = `user-${users.member}`;
const app = numbered("c", 0);
const job = numbered("c", 0);

/** Words for lists whose objects have names: that of one object, and one that all names have. */
const words = (usual: string) => ["zebulon", usual];

/** By name, or by field or path and name. `null` leaves an argument out: it takes what others name, or makes a list complete. */
const values: Readonly<Record<string, readonly unknown[] | null>> = {
  actor: [known.user(users.member)],
  after: [known.user(users.ordinary)],
  app: [app],
  before: [known.user(users.ordinary)],
  checks: [
    [
      { key: "a", action: "read", object: { resourceType: "group", organizationId: "default" } },
      { key: "b", action: "read", object: { resourceType: "workspace", ownerId: "me" } },
    ],
    [{ key: "a", action: "read", object: { resourceType: "group", resourceId: known.fiftyMembers } }],
  ],
  complete: null,
  count: [50],
  cursor: [""],
  days: [90],
  first: [50],
  group: [known.group(0), known.fiftyMembers, known.sideGroup(0), "group-10"],
  hasMember: [member],
  initiator: ["me"],
  key: ["scim000001"],
  last: [50],
  offset: [400],
  organization: ["default", known.sideOrganization],
  owner: ["me", member],
  resourceId: [known.group(40)],
  resourceType: ["license", "group"],
  scimKey: ["aaaaaaaaaa"],
  search: words("user"),
  sortBy: ["id"],
  sortOrder: ["ascending"],
  startIndex: [1, 400],
  tags: [{ scope: "organization" }],
  targets: [[known.target(0)], [known.target(1)]],
  task: [known.task(0)],
  template: [known.template(1)],
  templateId: [known.template(1)],
  templates: [[known.template(1)]],
  templateVersionId: [known.template(2)],
  text: ["zebulon", "user", "us", "no-such-name"],
  timeZone: ["Europe/Berlin"],
  user: ["me", member],
  workspaceProxy: ["proxy-1"],
  workspaceproxy: ["proxy-1"],

  // Of REST.
  after_id: [known.user(users.ordinary + 20)],
  exclude_members: [true],
  group_ids: [`${known.fiftyMembers},${known.group(11)}`],
  groupName: ["Everyone", "group-10"],
  has_member: [member],
  limit: [50],
  name: ["secret-1"],
  q: words("user"),
  read_status: ["unread", "read"],
  starting_before: [known.notification(201)],
  user_id: [known.user(users.member)],
  "/api/v2/connectionlog.q": ["type:jetbrains"],
  "/api/v2/oauth2-provider/apps.after_id": [app],
  "/api/v2/oauth2-provider/apps.limit": [20],
  "/api/v2/oauth2-provider/apps.q": ["app 1"],
  "/api/v2/tasks.q": ["status:active"],

  "connectionLogs.q": [
    "organization:default",
    `workspace_owner:${member}`,
    `username:${member}`,
    "type:ssh",
    "type:jetbrains",
    "status:ongoing",
    "status:completed",
    "connected_after:2026-10-20 connected_before:2026-10-21",
    `workspace_id:${known.workspace(0)}`,
    `connection_id:${known.connection(4)}`,
  ],
  "deliveries.type": ["group.update"],
  "eventDelivery.id": [known.eventEndpoint],
  "eventEndpoint.id": [known.eventEndpoint],
  "groupByName.name": ["Everyone", "group-10"],
  "groups.ids": [[known.fiftyMembers, known.group(11), known.group(12)]],
  "groups.search": words("group"),
  "inboxNotification.id": [known.notification(1)],
  "invitations.search": words("invited"),
  "members.search": [...words("user"), "status:suspended", "user zebulon", "status:active zebulon"],
  "notificationMessage.id": [numbered("e", 1)],
  "notificationMessages.template": [customTemplate],
  "notificationTemplate.id": [customTemplate],
  "oauth2App.id": [app],
  "oauth2Apps.q": ["app 1"],
  "organizationGroups.ids": [[known.fiftyMembers, known.group(11), known.group(12)]],
  "organizationGroups.search": words("group"),
  "organizationGroups.filter.organization": null,
  "provisionerJob.id": [job, numbered("7", 0)],
  "provisionerJobs.ids": [[job]],
  "scimGroup.id": [known.fiftyMembers],
  "scimGroups.filter": ['displayName eq "Group 10"', `members.value eq "${known.user(users.member)}"`],
  "scimResources.cursor": null,
  "scimResources.filter": [`externalId eq "ext-${users.ordinary}"`],
  "scimResourceType.name": ["User"],
  "scimResourceTypes.filter": null,
  "scimSchema.urn": ["urn:ietf:params:scim:schemas:core:2.0:User"],
  "scimSchemas.filter": null,
  // With a link, and without one.
  "scimUser.id": [known.user(users.ordinary), known.user(users.ordinary + 1)],
  "scimUsers.filter": [
    `userName eq "Linked-${users.ordinary}@example.com"`,
    `userName eq "${member}"`,
    'userName eq "unknown@example.org"',
    `externalId eq "ext-${users.ordinary}"`,
    `emails.value eq "user-${users.ordinary}@example.com"`,
    'userName co "zebul"',
    'userName sw "zebul"',
    'emails.value co "user-105@"',
  ],
  "tasks.q": ["status:active,paused"],
  "tasks.search": words("task"),
  "template.id": [known.template(1)],
  "templateAclAvailable.last": null,
  "templateAclAvailable.before": null,
  "templateByName.name": ["box"],
  "templates.search": words("box"),
  "templateVersion.id": [known.template(2)],
  "user.user": [member, known.user(users.zebulon)],
  "workspace.id": [known.workspace(0)],
  "workspaceAgent.id": [numbered("8", 0)],
  "workspaceBuild.id": [numbered("b", 0)],
  "workspaceByName.name": ["box-0"],
  "workspaces.search": words("box"),

  // Of enums with many values: a usual and a rare one.
  AuditAction: ["UPDATE", "REVOKE"],
  AgentStatus: ["CONNECTED", "TIMEOUT"],
  NotificationMessageState: ["SENT", "PENDING"],
  ProvisionerJobStatus: [["SUCCEEDED"], ["PENDING"]],
  RoleName: ["AUDITOR", "ORGANIZATION_AUDITOR"],
  WorkspaceStatus: ["RUNNING", "FAILED"],
};

/** A range of times that has some rows in every database. */
export const range = { from: "2026-10-01T00:00:00Z", until: "2026-10-02T00:00:00Z" };

/** Who reads a list, by the root field. */
export const readers: Readonly<Record<string, readonly Role[]>> = {
  inboxNotifications: ["member", "reader"],
  other: ["owner", "administrator", "sideAdministrator", "member"],
};

/** The values that are known of the first of these names that has any. */
export function valuesOf(...names: readonly string[]): readonly unknown[] | null | undefined {
  const name = names.find((each) => each in values);
  return name === undefined ? undefined : values[name];
}

/** Fields and operations without cases, and why. */
export const exempt: Readonly<Record<string, string>> = {
  "Query.applicationTarget": "for proxies and application hosts only",
  "Query.agentManifest": "for agents only",
  "Query.externalAgentCredentials": "one credential by the id of its agent",
  "Query.externalAuth": "asks the provider",
  "Query.externalAuthAccessToken": "for agents only, asks the provider",
  "Query.identityProvider": "one of few rows",
  "Query.invitation": "one row by its id, of at most 10,000",
  "Query.invitationOffer": "one row by the token of a link",
  "Query.notificationUnsubscription": "opens a token without a row",
  "Query.oauth2AuthorizationRequest": "for the consent page, by the id of an application",
  "Query.oauth2ClientConfiguration": "for clients that registered themselves",
  "Query.oauth2DeviceRequest": "one code that lives for minutes",
  "Query.oauth2Introspection": "see the bench oauth2",
  "GET /api/v2/notifications/inbox/watch": "a stream",
  "GET /api/v2/audit/stream": "a stream",
  "GET /api/v2/applications/auth-redirect": "makes a key",
  "GET /api/v2/init-script/{os}/{arch}": "a constant",
  "GET /api/v2/external-auth/{externalauth}": "asks the provider",
  "GET /api/v2/external-auth/{externalauth}/device": "asks the provider",
  "GET /oauth2/authorize": "a page; reads what Query.oauth2AuthorizationRequest reads",
  "GET /oauth2/clients/{client_id}": "for clients that registered themselves",
  "GET /api/v2/organizations/{organization}/provisionerdaemons/serve": "a socket",
  "GET /api/v2/workspaces/{workspace}/external-agent/{agent}/credentials": "one credential by the id of its agent",
};
