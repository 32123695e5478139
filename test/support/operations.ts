// The operations of both surfaces, each with the permission and the scopes that the specification requires.
import { newId } from "./ids.js";
import type { Stage } from "./stage.js";
import type { Client } from "./world.js";

/** Whose objects an operation names: the caller's own, those of others there, or those of another organization. */
export type Where = "own" | "other" | "away";

/** Ids of the objects that an operation uses. */
export interface Place extends Stage {
  user: string;
}
type Request = [method: string, path: string, body?: unknown];

export interface Operation {
  /** The permission, the objects it is tried on, and the permissions to see them, without which they are not found. */
  permission: string;
  on: Where[];
  seen?: string[];
  /** Whose objects count as the caller's own, if not everyone's. */
  own: string;
  /** The expected result when the operation is allowed, if that is not success. */
  outcome: string;
  /** The failure for users of an operation for machines. */
  refusal: string;
  scopes: string[];
  /** Scopes of the REST row, which may show more than the document selects. */
  restScopes: string[];
  /** The scopes that are checked first, if the arguments demand others. */
  checkedFirst?: string[];
  kinds: string[];
  /** Whether it uses the workspaces of the stage. */
  workspaces?: true;
  /** Whether the accepted kinds depend on the arguments, which are checked after the scopes. */
  byArguments?: true;
  document?: (place: Place) => string;
  rest?: (place: Place) => Request;
}

export const operations = new Map<string, Operation>();

/** Adds an operation. `scopes` are separated by spaces; those of the REST row follow a slash if they differ. */
function operation(
  name: string,
  permission: string,
  scopes: string,
  document?: string | ((place: Place) => string),
  rest?: (place: Place) => Request,
  more: Partial<Operation> = {},
): void {
  const [graphql = "", row = graphql] = scopes.split("/");
  const named = (text: string) => text.split(" ").filter(Boolean);
  operations.set(name, {
    permission,
    on: ["own"],
    own: "OTUAotuamxn",
    outcome: "done",
    refusal: "FORBIDDEN",
    scopes: named(graphql),
    restScopes: named(row),
    kinds: ["session", "token", "oauth"],
    document: typeof document === "string" ? () => document : document,
    rest,
    ...more,
  });
}

const change = (verb: string, input: (place: Place) => string) => (place: Place) =>
  `mutation { ${verb}(input: { ${input(place)} }) { __typename } }`;
const api =
  (method: string, path: (place: Place) => string, body?: unknown) =>
  (place: Place): Request => [method, `/api/v2${path(place)}`, body];
const exactly = (method: string, path: string, body?: unknown) => (): Request => [method, path, body];
const fixed = (method: string, path: string, body?: unknown) => api(method, () => path, body);

const others: Where[] = ["other", "away"];
const everywhere: Where[] = ["own", "other", "away"];
const onUser = { on: others, seen: ["user:read"] };
const inOrganization = { on: others, seen: ["organization:read"] };
const onGroup = { on: everywhere, own: "otuam", seen: ["group:read"] };
const onTemplate = { on: others, seen: ["template:read"] };
const onWorkspace = (): Partial<Operation> => ({
  on: everywhere,
  own: "otuam",
  seen: ["workspace_agent:read"],
  workspaces: true,
});
const onSession = { kinds: ["session"] };
/** Operations that create, show, or end keys are closed to OAuth2 access tokens. */
const onKeys = { kinds: ["session", "token"] };
const open = { kinds: ["open"] };
const name = () => `n${newId().slice(-12)}`;
const rule = "seven-lamps-beside-the-old-canal";

// oxfmt-ignore
{
  operation("me", "signed in", "", "{ me { id email roles { name } } }");
  operation("user", "user:read", "user:read", ({ user }) => `{ user(user: "${user}") { id email } }`, undefined, { on: everywhere, seen: ["user:read"] });
  operation("users", "signed in", "user:read", "{ users(first: 1) { nodes { id } } }");
  operation("createUser", "user:create", "user:create", change("createUser", () => `email: "${name()}@example.com", username: "${name()}", isServiceAccount: true`));
  operation("createUser with a password", "user:create", "user:create", change("createUser", () => `email: "${name()}@example.com", username: "${name()}", password: "${rule}"`), undefined, { ...onKeys, byArguments: true });
  operation("updateUser", "user:update", "user:update", change("updateUser", ({ user }) => `user: "${user}", name: "x"`), undefined, onUser);
  operation("updateUser with an email address", "user:update", "user:update", change("updateUser", ({ user }) => `user: "${user}", email: "${name()}@example.com"`), undefined, { ...onUser, ...onSession, byArguments: true });
  operation("updateProfile", "signed in", "user:update_personal", change("updateProfile", () => `name: "x"`));
  for (const verb of ["suspendUser", "activateUser"]) operation(verb, "user:update", "user:update", change(verb, ({ user }) => `user: "${user}"`), undefined, onUser);
  operation("deleteUser", "user:delete", "user:delete", change("deleteUser", ({ user }) => `user: "${user}"`), undefined, onUser);
  operation("setUserRoles", "assign_role:assign", "user:*", change("setUserRoles", ({ user }) => `user: "${user}", roles: [AUDITOR]`), undefined, { ...onUser, kinds: ["session", "token"] });
  operation("resetUserPassword", "user:update", "user:update", change("resetUserPassword", ({ user }) => `user: "${user}", password: "${rule}"`), undefined, { ...onUser, ...onSession });
  operation("invitations", "invitation:read", "user:read", "{ invitations(first: 1) { nodes { id } } }");
  operation("invitation", "invitation:read", "user:read", () => `{ invitation(id: "${newId()}") { id } }`, undefined, { outcome: "NOT_FOUND" });
  operation("inviteUser", "invitation:create", "organization_member:create user:create", change("inviteUser", () => `email: "${name()}@example.com", delivery: LINK`), undefined, onKeys);
  operation("resendInvitation", "invitation:create", "group:update organization_member:create user:create user:update", change("resendInvitation", () => `id: "${newId()}"`), undefined, { ...onKeys, outcome: "NOT_FOUND" });
  operation("revokeInvitation", "invitation:create", "user:delete", change("revokeInvitation", () => `id: "${newId()}"`), undefined, { ...onKeys, outcome: "NOT_FOUND" });
  operation("importInvitations", "invitation:create", "group:update organization_member:* user:*", change("importInvitations", () => `csv: "email\\n${name()}@example.com", delivery: LINK`), undefined, onKeys);
  operation("invitationOffer", "signed in", "", `{ invitationOffer(token: "x") { email } }`, undefined, { ...open, outcome: "NOT_FOUND" });
  operation("acceptInvitation", "signed in", "", change("acceptInvitation", () => `token: "x", username: "x", password: "x"`), undefined, { ...open, outcome: "NOT_FOUND" });
  operation("firstSteps", "deployment_config:read", "deployment_config:read", "{ firstSteps { isDismissed } }");
  operation("dismissFirstSteps", "deployment_config:update", "deployment_config:update", "mutation { dismissFirstSteps { __typename } }");
  operation("userIdentities", "user:read_personal", "user:read_personal", ({ user }) => `{ userIdentities(user: "${user}") { subject } }`, undefined, { on: everywhere, seen: ["user:read"] });
  operation("unlinkUserIdentity", "user:update", "user:update", change("unlinkUserIdentity", ({ user }) => `user: "${user}"`), undefined, { ...onUser, ...onSession });
  operation("linkUserIdentity", "user:update", "user:update", change("linkUserIdentity", ({ user }) => `user: "${user}", subject: "${name()}"`), undefined, { ...onUser, ...onSession, outcome: "BAD_USER_INPUT" });
  operation("changePassword", "signed in", "user:update_personal", change("changePassword", () => `currentPassword: "x", newPassword: "x"`), undefined, { ...onSession, outcome: "BAD_USER_INPUT" });
  operation("convertLogin", "signed in", "user:update_personal", change("convertLogin", () => `user: "me", toType: GITHUB, password: ""`), fixed("POST", "/users/me/convert-login", { to_type: "github", password: "" }), { ...onSession, outcome: "BAD_USER_INPUT" });
  operation("validatePassword", "signed in", "", change("validatePassword", () => `password: "x"`), fixed("POST", "/users/validate-password", { password: "x" }), onKeys);
  operation("logout", "signed in", "", "mutation { logout { __typename } }", undefined, { kinds: ["session", "token", "application"] });
  operation("revokeSessions", "signed in", "api_key:delete", "mutation { revokeSessions { __typename } }", undefined, onSession);

  operation("organization", "organization:read", "organization:read", ({ organization }) => `{ organization(organization: "${organization}") { id description } }`, undefined, inOrganization);
  operation("organizations", "signed in", "organization:read", "{ organizations { id } }");
  operation("organizationMembers", "organization_member:read", "organization_member:read", ({ organization }) => `{ organizationMembers(organization: "${organization}") { nodes { id } } }`, undefined, inOrganization);
  operation("assignableRoles", "assign_role:read", "user:read", "{ assignableRoles { name } }");
  operation("assignableRoles of an organization", "assign_org_role:read", "organization_member:read", ({ organization }) => `{ assignableRoles(organization: "${organization}") { name } }`, undefined, inOrganization);
  operation("createOrganization", "organization:create", "organization:create", change("createOrganization", () => `name: "${name()}"`));
  operation("updateOrganization", "organization:update", "organization:update", change("updateOrganization", ({ organization }) => `organization: "${organization}", description: "x"`), undefined, inOrganization);
  operation("deleteOrganization", "organization:delete", "organization:delete", change("deleteOrganization", ({ organization }) => `organization: "${organization}"`), undefined, { ...inOrganization, outcome: "CONFLICT" });
  operation("addOrganizationMember", "organization_member:create", "organization_member:create", change("addOrganizationMember", ({ organization, newcomer }) => `organization: "${organization}", user: "${newcomer}"`), undefined, inOrganization);
  operation("removeOrganizationMember", "organization_member:delete", "organization_member:delete", change("removeOrganizationMember", ({ organization, user }) => `organization: "${organization}", user: "${user}"`), undefined, inOrganization);
  operation("setOrganizationMemberRoles", "assign_org_role:assign", "organization_member:*", change("setOrganizationMemberRoles", ({ organization, user }) => `organization: "${organization}", user: "${user}", roles: []`), undefined, { ...inOrganization, kinds: ["session", "token"] });

  operation("apiKeys", "api_key:read", "api_key:read", ({ user }) => `{ apiKeys(user: "${user}") { id ip } }`, undefined, { ...onKeys, on: everywhere, seen: ["user:read"] });
  operation("createApiKey", "api_key:create", "api_key:create", change("createApiKey", () => `name: "${name()}"`), undefined, { kinds: ["session", "token"] });
  operation("createApiKey for a service account", "api_key:create for a service account", "api_key:create", change("createApiKey", ({ bot }) => `name: "${name()}", user: "${bot}"`), undefined, { ...onUser, kinds: ["session", "token"] });
  operation("updateApiKey", "api_key:update", "api_key:update", change("updateApiKey", ({ key }) => `id: "${key}", name: "${name()}"`), undefined, { ...onKeys, on: everywhere, seen: ["api_key:read"] });
  operation("revokeApiKey", "api_key:delete", "api_key:delete", change("revokeApiKey", ({ key }) => `id: "${key}"`), undefined, { ...onKeys, on: everywhere, seen: ["api_key:read"] });

  operation("group", "group:read", "group:read", ({ group }) => `{ group(group: "${group}") { id source } }`, api("GET", ({ group }) => `/groups/${group}`), onGroup);
  operation("group with its members", "group:read", "group:read", ({ group }) => `{ group(group: "${group}") { members { totalCount } } }`, api("GET", ({ group }) => `/groups/${group}/members`), onGroup);
  operation("groupByName", "organization:read", "group:read", ({ organization }) => `{ groupByName(organization: "${organization}", name: "Unknown") { id } }`, api("GET", ({ organization }) => `/organizations/${organization}/groups/Unknown`), { ...inOrganization, outcome: "NOT_FOUND" });
  operation("groupByName with its members", "organization:read", "group:read", ({ organization }) => `{ groupByName(organization: "${organization}", name: "Unknown") { members { totalCount } } }`, api("GET", ({ organization }) => `/organizations/${organization}/groups/Unknown/members`), { ...inOrganization, outcome: "NOT_FOUND" });
  operation("groups", "signed in", "group:read", "{ groups(first: 1) { nodes { id } } }", fixed("GET", "/groups?group_ids=" + newId()));
  operation("organizationGroups", "organization:read", "group:read", ({ organization }) => `{ organizationGroups(organization: "${organization}") { nodes { id } } }`, api("GET", ({ organization }) => `/organizations/${organization}/groups`), inOrganization);
  operation("createGroup", "group:create", "group:create/group:create group:read", change("createGroup", ({ organization }) => `organization: "${organization}", name: "${name()}"`), (place) => api("POST", ({ organization }) => `/organizations/${organization}/groups`, { name: name() })(place), inOrganization);
  operation("updateGroup", "group:update", "group:update/group:read group:update", change("updateGroup", ({ group }) => `group: "${group}", displayName: "x"`), api("PATCH", ({ group }) => `/groups/${group}`, { display_name: "x" }), onGroup);
  operation("deleteGroup", "group:delete", "group:delete/group:delete group:read", change("deleteGroup", ({ group }) => `group: "${group}"`), api("DELETE", ({ group }) => `/groups/${group}`), onGroup);
  operation("groupAiBudget", "group_ai_budget:read", "group:read", ({ team }) => `{ groupAiBudget(group: "${team}") { spendLimitMicros } }`, api("GET", ({ team }) => `/groups/${team}/ai/budget`), { ...onGroup, on: others, seen: ["group_ai_budget:read"] });
  operation("setGroupAiBudget", "group_ai_budget:update", "group:update", change("setGroupAiBudget", ({ group }) => `group: "${group}", spendLimitMicros: 1`), api("PUT", ({ group }) => `/groups/${group}/ai/budget`, { spend_limit_micros: 1 }), onGroup);
  operation("deleteGroupAiBudget", "group_ai_budget:delete", "group:delete", change("deleteGroupAiBudget", ({ team }) => `group: "${team}"`), api("DELETE", ({ team }) => `/groups/${team}/ai/budget`), { ...onGroup, on: ["own", "away"] });
  operation("recordAiUsage", "group_ai_budget:update", "group:update", change("recordAiUsage", ({ organization }) => `organization: "${organization}", entries: []`), undefined, inOrganization);
  operation("aiSpend", "group_ai_budget:read", "group:read", ({ user, organization }) => `{ aiSpend(user: "${user}", organization: "${organization}") { spentMicros } }`, undefined, { on: others, seen: ["user:read", "organization:read"] });
  operation("workspaceQuota", "organization:read", "organization:read user:read", ({ user, organization }) => `{ workspaceQuota(user: "${user}", organization: "${organization}") { budget } }`, api("GET", ({ user, organization }) => `/organizations/${organization}/members/${user}/workspace-quota`), { on: others, seen: ["user:read", "organization:read"] });
  operation("workspaceQuota in the default organization", "signed in", "organization:read user:read", `{ workspaceQuota(user: "${newId()}") { budget } }`, fixed("GET", `/workspace-quota/${newId()}`), { outcome: "NOT_FOUND" });
  operation("quietHours", "user:read_personal", "user:read_personal", ({ user }) => `{ quietHours(user: "${user}") { time } }`, api("GET", ({ user }) => `/users/${user}/quiet-hours`), { on: everywhere, seen: ["user:read"] });
  operation("setQuietHours", "user:update_personal", "user:update_personal", change("setQuietHours", ({ user }) => `user: "${user}", schedule: "0 1 * * *"`), api("PUT", ({ user }) => `/users/${user}/quiet-hours`, { schedule: "0 1 * * *" }), { on: everywhere, seen: ["user:read"] });

  const secret = { on: everywhere };
  operation("userSecrets", "user_secret:*", "user_secret:read", ({ user }) => `{ userSecrets(user: "${user}") { id } }`, api("GET", ({ user }) => `/users/${user}/secrets`), secret);
  operation("userSecret", "user_secret:*", "user_secret:read", ({ user }) => `{ userSecret(user: "${user}", name: "kept") { id } }`, api("GET", ({ user }) => `/users/${user}/secrets/kept`), secret);
  operation("userSecretUsage", "user_secret:*", "user_secret:read", ({ user }) => `{ userSecretUsage(user: "${user}") { count } }`, undefined, secret);
  operation("createUserSecret", "user_secret:*", "user_secret:create", change("createUserSecret", ({ user }) => `user: "${user}", name: "${name()}", value: "v"`), api("POST", ({ user }) => `/users/${user}/secrets`, { name: "new", value: "v" }), secret);
  operation("updateUserSecret", "user_secret:*", "user_secret:update/user_secret:read user_secret:update", change("updateUserSecret", ({ user }) => `user: "${user}", name: "kept", description: "x"`), api("PATCH", ({ user }) => `/users/${user}/secrets/kept`, { description: "x" }), secret);
  operation("deleteUserSecret", "user_secret:*", "user_secret:delete", change("deleteUserSecret", ({ user }) => `user: "${user}", name: "kept"`), api("DELETE", ({ user }) => `/users/${user}/secrets/kept`), secret);

  operation("inboxNotification", "inbox_notification:*", "inbox_notification:read", ({ note }) => `{ inboxNotification(id: "${note}") { title } }`, undefined, secret);
  operation("inboxNotifications", "signed in", "inbox_notification:read", "{ inboxNotifications { nodes { title } } }", fixed("GET", "/notifications/inbox"));
  operation("inboxEvents", "signed in", "inbox_notification:read", undefined, fixed("HEAD", "/notifications/inbox/watch"));
  operation("markInboxNotification", "inbox_notification:*", "inbox_notification:update/inbox_notification:read inbox_notification:update", change("markInboxNotification", ({ note }) => `id: "${note}", isRead: true`), api("PUT", ({ note }) => `/notifications/inbox/${note}/read-status`, { is_read: true }), secret);
  operation("markAllInboxNotificationsRead", "signed in", "inbox_notification:update", "mutation { markAllInboxNotificationsRead { __typename } }", fixed("PUT", "/notifications/inbox/mark-all-as-read"));

  const onBusy = { on: everywhere, own: "otuam", seen: ["workspace:read"] };
  const busy = { ...onBusy, outcome: "CONFLICT" };
  operation("workspace", "workspace:read", "workspace:read", ({ busyWorkspace }) => `{ workspace(id: "${busyWorkspace}") { name status } }`, undefined, onBusy);
  operation("workspaceByName", "signed in", "workspace:read", `{ workspaceByName(owner: "me", name: "unknown") { id } }`, undefined, { outcome: "NOT_FOUND" });
  operation("workspaces", "signed in", "workspace:read", "{ workspaces(first: 1) { nodes { id } } }");
  operation("workspaceBuild", "signed in", "workspace:read", `{ workspaceBuild(id: "${newId()}") { id } }`, undefined, { outcome: "NOT_FOUND" });
  operation("workspaceBuildUpdated", "signed in", "workspace:read", `subscription { workspaceBuildUpdated(workspaceId: "${newId()}") { id } }`, undefined, { outcome: "BAD_USER_INPUT" });
  operation("createWorkspace", "signed in", "template:use workspace:create", change("createWorkspace", () => `templateId: "${newId()}", name: "x"`), undefined, { outcome: "NOT_FOUND" });
  operation("startWorkspace", "workspace:start", "workspace:start", change("startWorkspace", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`), undefined, busy);
  operation("stopWorkspace", "workspace:stop", "workspace:stop", change("stopWorkspace", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`), undefined, busy);
  operation("deleteWorkspace", "workspace:delete", "workspace:delete", change("deleteWorkspace", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`), undefined, busy);
  operation("deleteWorkspace as an orphan", "workspace:delete as an orphan", "template:update workspace:delete", change("deleteWorkspace", ({ busyWorkspace }) => `workspace: "${busyWorkspace}", orphan: true`), undefined, { ...busy, on: others, checkedFirst: ["workspace:delete"] });
  operation("updateWorkspace", "workspace:update", "workspace:update", change("updateWorkspace", ({ busyWorkspace }) => `workspace: "${busyWorkspace}", ttlSeconds: 60`), undefined, onBusy);
  operation("extendWorkspaceDeadline", "workspace:update", "workspace:update", change("extendWorkspaceDeadline", ({ busyWorkspace }) => `workspace: "${busyWorkspace}", deadline: "2030-01-01T00:00:00Z"`), undefined, busy);
  operation("activateWorkspace", "workspace:update", "workspace:update", change("activateWorkspace", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`), undefined, onBusy);
  operation("updateWorkspaceAcl", "workspace:share", "workspace:share", change("updateWorkspaceAcl", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`), undefined, { ...onBusy, on: others, outcome: "FORBIDDEN" });
  operation("setWorkspaceSecretInjection", "workspace:share", "user_secret:update", change("setWorkspaceSecretInjection", ({ busyWorkspace }) => `workspaceId: "${busyWorkspace}", enabled: true`), undefined, { ...onBusy, on: others, outcome: "FORBIDDEN" });

  const content = `{ schema: "steward.template/1", provisioner: "echo" }`;
  operation("template", "template:read", "template:read", ({ template }) => `{ template(id: "${template}") { id createdAt } }`, undefined, onTemplate);
  operation("templateByName", "organization:read", "template:read", ({ organization }) => `{ templateByName(organization: "${organization}", name: "unknown") { id } }`, undefined, { ...inOrganization, outcome: "NOT_FOUND" });
  operation("templates", "signed in", "template:read", "{ templates(first: 1) { nodes { id } } }");
  operation("templateVersion", "template:read", "template:read", ({ templateVersion }) => `{ templateVersion(id: "${templateVersion}") { id isImported } }`, undefined, onTemplate);
  operation("workspaceCost", "template:read", "template:read user:read", ({ templateVersion }) => `{ workspaceCost(templateVersionId: "${templateVersion}") { needs exceeds } }`, undefined, onTemplate);
  operation("createTemplate", "template:create", "template:create", change("createTemplate", ({ organization }) => `organization: "${organization}", name: "${name()}", document: ${content}`), undefined, inOrganization);
  operation("updateTemplate", "template:update", "template:update", change("updateTemplate", ({ template }) => `templateId: "${template}", description: "x"`), undefined, onTemplate);
  operation("deleteTemplate", "template:delete", "template:delete", change("deleteTemplate", ({ template }) => `templateId: "${template}"`), undefined, onTemplate);
  operation("createTemplateVersion", "template:update", "template:update", change("createTemplateVersion", ({ template }) => `templateId: "${template}", document: ${content}`), undefined, onTemplate);
  operation("setActiveTemplateVersion", "template:update", "template:update", change("setActiveTemplateVersion", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`), undefined, onTemplate);
  operation("archiveTemplateVersion", "template:update", "template:update", change("archiveTemplateVersion", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`), undefined, { ...onTemplate, outcome: "CONFLICT" });
  operation("dryRunTemplateVersion", "template:update", "template:update", change("dryRunTemplateVersion", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`), undefined, onTemplate);
  operation("templateAcl", "template:update", "template:update/group:read template:update", ({ template }) => `{ templateAcl(templateId: "${template}") { users { role } } }`, api("GET", ({ template }) => `/templates/${template}/acl`), onTemplate);
  operation("templateAclAvailable", "template:update", "template:update/group:read template:update user:read", ({ template }) => `{ templateAclAvailable(templateId: "${template}") { groups { id } } }`, api("GET", ({ template }) => `/templates/${template}/acl/available`), onTemplate);
  operation("updateTemplateAcl", "template:update", "template:update", change("updateTemplateAcl", ({ template }) => `templateId: "${template}"`), api("PATCH", ({ template }) => `/templates/${template}/acl`, {}), onTemplate);
  operation("invalidateTemplatePresets", "template:update", "template:update", change("invalidateTemplatePresets", ({ template }) => `templateId: "${template}"`), api("POST", ({ template }) => `/templates/${template}/prebuilds/invalidate`), onTemplate);

  const ofAgent = { kinds: ["agent"] };
  operation("workspaceAgent", "workspace_agent:read", "workspace:read", ({ agent }) => `{ workspaceAgent(id: "${agent}") { status } }`, undefined, onWorkspace());
  operation("workspaceAgentLogAppended", "signed in", "workspace:read", ({ agent }) => `subscription { workspaceAgentLogAppended(agentId: "${agent}") { output } }`, undefined, { outcome: "BAD_USER_INPUT" });
  operation("externalAgentCredentials", "workspace_agent:read_credentials", "workspace:*", ({ workspace }) => `{ externalAgentCredentials(workspaceId: "${workspace}", agentName: "main") { command } }`, api("GET", ({ workspace }) => `/workspaces/${workspace}/external-agent/main/credentials`), { ...onWorkspace(), outcome: "CONFLICT" });
  operation("agentManifest", "signed in", "", "{ agentManifest { agentId } }", undefined, { ...ofAgent, refusal: "UNAUTHENTICATED" });
  operation("agentHeartbeat", "signed in", "", "mutation { agentHeartbeat { shutdown } }", undefined, ofAgent);
  operation("disconnectAgent", "signed in", "", "mutation { disconnectAgent { agent { status } } }", undefined, ofAgent);
  operation("uploadTaskLogSnapshot", "signed in", "", change("uploadTaskLogSnapshot", () => `taskId: "${newId()}", format: "agentapi", content: {}`), fixed("POST", `/workspaceagents/me/tasks/${newId()}/log-snapshot?format=agentapi`, {}), { ...ofAgent, refusal: "UNAUTHENTICATED", outcome: "NOT_FOUND" });
  operation("beginTaskConversation", "signed in", "", change("beginTaskConversation", () => `taskId: "${newId()}", protocol: ACP`), undefined, { ...ofAgent, refusal: "UNAUTHENTICATED", outcome: "NOT_FOUND" });
  operation("reportTaskConversation", "signed in", "", change("reportTaskConversation", () => `taskId: "${newId()}"`), undefined, { ...ofAgent, refusal: "UNAUTHENTICATED", outcome: "NOT_FOUND" });
  operation("taskActionRequested", "signed in", "", `subscription { taskActionRequested(taskId: "${newId()}") { id } }`, undefined, { ...ofAgent, outcome: "BAD_USER_INPUT" });

  const unknown = newId();
  const noTask = { outcome: "NOT_FOUND" };
  const onTask = (path: string) => fixed("POST", `/tasks/me/${unknown}/${path}`, path === "send" ? { input: "x" } : undefined);
  operation("task", "signed in", "task:read", `{ task(task: "${unknown}") { id name status } }`, fixed("GET", `/tasks/me/${unknown}`), noTask);
  operation("task with its logs", "signed in", "task:read", `{ task(task: "${unknown}") { logs { snapshot } } }`, fixed("GET", `/tasks/me/${unknown}/logs`), noTask);
  operation("tasks", "signed in", "task:read", "{ tasks(first: 1) { nodes { id } } }", fixed("GET", "/tasks?limit=1"));
  operation("createTask", "signed in", "task:create template:use/task:create task:read template:use", change("createTask", () => `user: "${unknown}", templateVersionId: "${unknown}"`), fixed("POST", `/tasks/${unknown}`, { template_version_id: unknown }), noTask);
  operation("deleteTask", "signed in", "task:delete", change("deleteTask", () => `task: "${unknown}"`), fixed("DELETE", `/tasks/me/${unknown}`), noTask);
  operation("updateTaskInput", "signed in", "task:update", change("updateTaskInput", () => `task: "${unknown}", input: "x"`), fixed("PATCH", `/tasks/me/${unknown}/input`, { input: "x" }), noTask);
  operation("pauseTask", "signed in", "workspace:stop/provisioner_job:read workspace:read workspace:stop", change("pauseTask", () => `task: "${unknown}"`), onTask("pause"), noTask);
  operation("resumeTask", "signed in", "workspace:start/provisioner_job:read workspace:read workspace:start", change("resumeTask", () => `task: "${unknown}"`), onTask("resume"), noTask);
  operation("sendTaskInput", "signed in", "workspace:application_connect", change("sendTaskInput", () => `task: "${unknown}", input: "x"`), onTask("send"), noTask);
  operation("decideTaskPermission", "signed in", "workspace:application_connect", change("decideTaskPermission", () => `task: "${unknown}", requestId: "x", optionId: "x"`), undefined, noTask);
  operation("interruptTask", "signed in", "workspace:application_connect", change("interruptTask", () => `task: "${unknown}"`), undefined, noTask);
  operation("taskConversationChanged", "signed in", "task:read workspace:application_connect", `subscription { taskConversationChanged(id: "${unknown}") { messages { id } } }`, undefined, { outcome: "BAD_USER_INPUT" });
  operation("editTaskInput", "signed in", "workspace:application_connect", change("editTaskInput", () => `id: "${unknown}", input: "x"`), undefined, noTask);
  operation("cancelTaskInput", "signed in", "task:update", change("cancelTaskInput", () => `id: "${unknown}"`), undefined, noTask);
  operation("taskChanged", "signed in", "task:read", `subscription { taskChanged(id: "${unknown}") { id } }`, undefined, { outcome: "BAD_USER_INPUT" });
  operation("taskMessages", "signed in", "task:read workspace:application_connect", `subscription { taskMessages(id: "${unknown}") { id } }`, undefined, { outcome: "BAD_USER_INPUT" });

  operation("reportAgentStartup", "signed in", "", change("reportAgentStartup", () => `version: "1", expandedDirectory: "/"`), undefined, ofAgent);
  operation("reportAgentLifecycle", "signed in", "", change("reportAgentLifecycle", () => "state: STARTING"), undefined, ofAgent);
  operation("reportAgentResources", "signed in", "", change("reportAgentResources", () => "memoryUsedBytes: 1"), undefined, ofAgent);
  operation("reportAppHealth", "signed in", "", change("reportAppHealth", () => "apps: []"), undefined, ofAgent);
  operation("reportAppStatus", "signed in", "", change("reportAppStatus", () => `appSlug: "x", state: IDLE, message: ""`), undefined, { ...ofAgent, outcome: "BAD_USER_INPUT" });
  operation("reportScriptResult", "signed in", "", change("reportScriptResult", () => `scriptId: "${newId()}", exitCode: 0, status: OK`), undefined, { ...ofAgent, outcome: "BAD_USER_INPUT" });
  operation("appendAgentLogs", "signed in", "", change("appendAgentLogs", () => "logs: []"), undefined, ofAgent);
  operation("agentEventReceived", "signed in", "", "subscription { agentEventReceived { shutdown } }", undefined, { ...ofAgent, outcome: "BAD_USER_INPUT" });

  operation("sendCustomNotification", "signed in", "notification_template:*", change("sendCustomNotification", () => `content: { title: "x" }`), fixed("POST", "/notifications/custom", { content: { title: "x" } }));

  const template = "c425f63e-716a-4bf4-ae24-78348f706c3f";
  operation("notificationTemplates", "signed in", "notification_template:read", "{ notificationTemplates { title } }", fixed("GET", "/notifications/templates/system"));
  operation("notificationTemplate", "signed in", "notification_template:read", `{ notificationTemplate(id: "${template}") { title } }`, fixed("GET", "/notifications/templates/custom"));
  operation("updateNotificationTemplateMethod", "notification_template:update", "notification_template:update", change("updateNotificationTemplateMethod", () => `template: "${template}", method: INBOX`), fixed("PUT", `/notifications/templates/${template}/method`, { method: "inbox" }));
  operation("notificationMethods", "signed in", "", "{ notificationMethods { default } }", fixed("GET", "/notifications/dispatch-methods"));
  operation("notificationSettings", "signed in", "", "{ notificationSettings { notifierPaused } }", fixed("GET", "/notifications/settings"));
  operation("updateNotificationSettings", "deployment_config:update", "deployment_config:update", change("updateNotificationSettings", () => "notifierPaused: true"), fixed("PUT", "/notifications/settings", { notifier_paused: true }));
  operation("notificationPreferences", "notification_preference:read", "notification_preference:read", ({ user }) => `{ notificationPreferences(user: "${user}") { templateId } }`, api("GET", ({ user }) => `/users/${user}/notifications/preferences`), { on: everywhere, seen: ["user:read"] });
  operation("updateNotificationPreferences", "notification_preference:update", "notification_preference:update", change("updateNotificationPreferences", ({ user }) => `user: "${user}", choices: []`), api("PUT", ({ user }) => `/users/${user}/notifications/preferences`, { template_disabled_map: {} }), { on: everywhere, seen: ["user:read"] });
  operation("notificationMessages", "notification_message:read", "notification_template:read", "{ notificationMessages(first: 1) { nodes { state } } }");
  operation("notificationMessage", "notification_message:read", "notification_template:read", `{ notificationMessage(id: "${newId()}") { state } }`, undefined, { outcome: "NOT_FOUND" });
  operation("sendTestNotification", "notification_message:create for a test", "notification_template:*", "mutation { sendTestNotification { messageIds } }", fixed("POST", "/notifications/test"));
  operation("notificationTransports", "deployment_config:update", "deployment_config:update", "{ notificationTransports { webhook { url } } }");
  operation("updateNotificationTransports", "deployment_config:update", "deployment_config:update", change("updateNotificationTransports", () => "smtp: {}"));
  operation("reportAgentResourceAlert", "signed in", "", change("reportAgentResourceAlert", () => "resource: MEMORY, threshold: 90"), undefined, { kinds: ["agent"] });
  operation("notificationUnsubscription", "signed in", "", `{ notificationUnsubscription(token: "x") { templateName } }`, undefined, { ...open, outcome: "NOT_FOUND" });
  operation("unsubscribeFromNotification", "signed in", "", change("unsubscribeFromNotification", () => `token: "x"`), undefined, { ...open, outcome: "NOT_FOUND" });
  for (const verb of ["retryNotificationMessages", "discardNotificationMessages"]) operation(verb, "notification_message:update", "notification_template:update", change(verb, () => "ids: []"));
  const atUnknown = { outcome: "NOT_FOUND" };
  operation("externalAuthProviders", "signed in", "external_auth_link:read", "{ externalAuthProviders { id } }");
  operation("externalAuthLinks", "signed in", "external_auth_link:read", "{ externalAuthLinks { providerId } }");
  operation("externalAuthOverview", "signed in", "external_auth_link:read", "{ externalAuthOverview { authenticated } }", fixed("GET", "/external-auth"));
  operation("externalAuth", "signed in", "external_auth_link:read", `{ externalAuth(id: "x") { authenticated } }`, fixed("GET", "/external-auth/x"), atUnknown);
  operation("externalAuthAccessToken", "signed in", "all", `{ externalAuthAccessToken(providerId: "x") { type } }`, undefined, { ...atUnknown, kinds: ["session", "agent"] });
  operation("externalAuthLinkChanged", "signed in", "external_auth_link:read", `subscription { externalAuthLinkChanged(providerId: "x") { isLinked } }`, undefined, { kinds: ["session", "token", "oauth", "agent"], outcome: "BAD_USER_INPUT" });
  operation("deleteExternalAuth", "signed in", "external_auth_link:delete", change("deleteExternalAuth", () => `providerId: "x"`), fixed("DELETE", "/external-auth/x"), atUnknown);
  operation("startExternalAuthDevice", "signed in", "external_auth_link:update", change("startExternalAuthDevice", () => `providerId: "x"`), fixed("GET", "/external-auth/x/device"), atUnknown);
  operation("completeExternalAuthDevice", "signed in", "external_auth_link:update", change("completeExternalAuthDevice", () => `providerId: "x"`), fixed("POST", "/external-auth/x/device", {}), atUnknown);

  operation("licenses", "license:read", "license:read", "{ licenses { id claims } }", fixed("GET", "/licenses"));
  operation("addLicense", "license:create", "license:create", change("addLicense", () => `license: "x"`), fixed("POST", "/licenses", { license: "x" }), { outcome: "BAD_USER_INPUT" });
  operation("deleteLicense", "license:delete", "license:delete", change("deleteLicense", () => "id: 1"), fixed("DELETE", "/licenses/1"), { outcome: "NOT_FOUND" });
  operation("refreshEntitlements", "license:create", "license:create", "mutation { refreshEntitlements { __typename } }", fixed("POST", "/licenses/refresh-entitlements"));
  operation("entitlements", "signed in", "", "{ entitlements { trial } }", fixed("GET", "/entitlements"));
  operation("appearance", "signed in", "", "{ appearance { docsUrl } }", fixed("GET", "/appearance"), { kinds: ["session", "token", "oauth", "agent"] });
  operation("updateAppearance", "deployment_config:update", "deployment_config:update", change("updateAppearance", () => `applicationName: "x"`), fixed("PUT", "/appearance", { application_name: "x" }));
  operation("prebuildsSettings", "signed in", "", "{ prebuildsSettings { reconciliationPaused } }", fixed("GET", "/prebuilds/settings"));
  operation("workspaceTransfers", "signed in", "workspace:read", "{ workspaceTransfers { id workspaceName } }");
  operation("transferWorkspaces", "signed in", "workspace:create", change("transferWorkspaces", () => `workspaces: ["${newId()}"]`), undefined, { outcome: "NOT_FOUND" });
  for (const verb of ["accept", "decline"]) operation(`${verb}WorkspaceTransfer`, "signed in", "workspace:update", change(`${verb}WorkspaceTransfer`, () => `id: "${newId()}"`), undefined, { outcome: "NOT_FOUND" });
  operation("heldWorkspaces", "deployment_config:read", "deployment_config:read", "{ heldWorkspaces { userCount workspaceCount } }");
  operation("releaseHeldWorkspaces", "deployment_config:update", "deployment_config:update", "mutation { releaseHeldWorkspaces { __typename } }");
  operation("updatePrebuildsSettings", "deployment_config:update", "deployment_config:update", change("updatePrebuildsSettings", () => "reconciliationPaused: true"), fixed("PUT", "/prebuilds/settings", { reconciliation_paused: true }));
  operation("healthChecks", "deployment_config:read", "deployment_config:read", "{ healthChecks { code state } }");
  operation("muteHealthCheck", "deployment_config:update", "deployment_config:update", change("muteHealthCheck", () => "code: CLOCK"), undefined, { outcome: "NOT_FOUND" });
  operation("encryptionStatus", "system:read", "all", "{ encryptionStatus { activeKeyId } }");
  operation("auditEvents", "audit_log:read", "audit_log:read", "{ auditEvents(first: 1) { nodes { id ip } } }");
  operation("dailyCounts", "signed in", "", "{ dailyCounts { days } }");
  operation("connectionLogs", "connection_log:read", "connection_log:read", "{ connectionLogs(first: 1) { nodes { id ip } } }", fixed("GET", "/connectionlog?limit=1"));
  operation("applicationsHost", "signed in", "", "{ applicationsHost }", fixed("GET", "/applications/host"));
  operation("createApplicationRedirect", "signed in", "all", change("createApplicationRedirect", () => `redirectUri: ""`), fixed("GET", "/applications/auth-redirect"), { kinds: ["session", "token"], outcome: "BAD_USER_INPUT" });
  const consent = { kinds: ["session", "token"], outcome: "BAD_USER_INPUT" };
  const consentPage = (method: string) => (): Request => [method, "/oauth2/authorize"];
  const parameters = `responseType: "code", clientId: "x"`;
  operation("oauth2AuthorizationRequest", "signed in", "all", `{ oauth2AuthorizationRequest(input: { ${parameters} }) { redirectUri } }`, consentPage("GET"), consent);
  operation("approveOAuth2Authorization", "signed in", "all", change("approveOAuth2Authorization", () => parameters), consentPage("POST"), consent);
  operation("denyOAuth2Authorization", "signed in", "all", change("denyOAuth2Authorization", () => parameters), undefined, consent);
  operation("oauth2DeviceRequest", "signed in", "all", `{ oauth2DeviceRequest(userCode: "x") { userCode } }`, undefined, { ...consent, outcome: "NOT_FOUND" });
  for (const verb of ["approveOAuth2Device", "denyOAuth2Device"]) operation(verb, "signed in", "all", change(verb, () => `userCode: "x"`), undefined, { ...consent, outcome: "NOT_FOUND" });
  operation("authCheck", "signed in", "", "{ authCheck(checks: []) { allowed } }", fixed("POST", "/authcheck", { checks: {} }));
  operation("workspaceProxies", "signed in", "workspace_proxy:read", "{ workspaceProxies { id version } }", fixed("GET", "/workspaceproxies"));
  operation("workspaceProxy", "signed in", "workspace_proxy:read", `{ workspaceProxy(workspaceProxy: "primary") { version } }`, fixed("GET", "/workspaceproxies/primary"));
  operation("regions", "signed in", "workspace_proxy:read", "{ regions { id } }");
  operation("createWorkspaceProxy", "workspace_proxy:create", "workspace_proxy:create/workspace_proxy:create workspace_proxy:read", change("createWorkspaceProxy", () => `name: "${name()}"`), (place) => api("POST", () => "/workspaceproxies", { name: name() })(place), onKeys);
  operation("updateWorkspaceProxy", "workspace_proxy:update", "workspace_proxy:update/workspace_proxy:read workspace_proxy:update", change("updateWorkspaceProxy", () => `workspaceProxy: "primary", displayName: "x"`), fixed("PATCH", "/workspaceproxies/primary", { display_name: "x" }));
  operation("updateWorkspaceProxy with a new token", "workspace_proxy:update", "workspace_proxy:update/workspace_proxy:read workspace_proxy:update", change("updateWorkspaceProxy", () => `workspaceProxy: "primary", regenerateToken: true`), fixed("PATCH", "/workspaceproxies/primary", { regenerate_token: true }), { ...onKeys, byArguments: true, outcome: "BAD_USER_INPUT" });
  operation("deleteWorkspaceProxy", "workspace_proxy:delete", "workspace_proxy:delete", change("deleteWorkspaceProxy", () => `workspaceProxy: "primary"`), fixed("DELETE", "/workspaceproxies/primary"), { outcome: "BAD_USER_INPUT" });

  const appsPath = "/oauth2-provider/apps";
  const appOf = ({ app }: Place) => `${appsPath}/${app}`;
  const callback = { name: "x", callback_url: "https://app.example.com/" };
  const onApp = { on: ["other"] as Where[], seen: ["signed in"] };
  const notByTokens = { ...onApp, kinds: ["session", "token"] };
  operation("oauth2App", "signed in", "oauth2_app:read", ({ app }) => `{ oauth2App(id: "${app}") { grantTypes } }`, api("GET", appOf), onApp);
  operation("oauth2App with its secrets", "oauth2_app_secret:read", "oauth2_app:read", ({ app }) => `{ oauth2App(id: "${app}") { secrets { id } } }`, api("GET", (place) => `${appOf(place)}/secrets`), onApp);
  operation("oauth2Apps", "signed in", "oauth2_app:read", "{ oauth2Apps(first: 1) { nodes { grantTypes } } }", fixed("GET", `${appsPath}?limit=1`));
  operation("oauth2Apps of a user", "oauth2_grant:read", "oauth2_app:read oauth2_grant:read", ({ user }) => `{ oauth2Apps(user: "${user}") { nodes { grantTypes } } }`, api("GET", ({ user }) => `${appsPath}?user_id=${user}`), { on: everywhere, checkedFirst: ["oauth2_app:read"] });
  operation("createOAuth2App", "oauth2_app:create", "oauth2_app:create", change("createOAuth2App", () => `name: "x", callbackUrl: "https://app.example.com/"`), fixed("POST", appsPath, callback), { kinds: ["session", "token"] });
  operation("updateOAuth2App", "oauth2_app:update", "oauth2_app:update/oauth2_app:read oauth2_app:update", change("updateOAuth2App", ({ app }) => `id: "${app}", name: "x"`), api("PUT", appOf, callback), notByTokens);
  operation("deleteOAuth2App", "oauth2_app:delete", "oauth2_app:delete", change("deleteOAuth2App", ({ app }) => `id: "${app}"`), api("DELETE", appOf), onApp);
  operation("createOAuth2AppSecret", "oauth2_app_secret:create", "oauth2_app:create", change("createOAuth2AppSecret", ({ app }) => `app: "${app}"`), api("POST", (place) => `${appOf(place)}/secrets`), notByTokens);
  operation("deleteOAuth2AppSecret", "oauth2_app_secret:delete", "oauth2_app:delete", change("deleteOAuth2AppSecret", ({ app, appSecret }) => `app: "${app}", id: "${appSecret}"`), api("DELETE", (place) => `${appOf(place)}/secrets/${place.appSecret}`), onApp);
  operation("oauth2Grants", "signed in", "oauth2_grant:read", "{ oauth2Grants(first: 1) { nodes { ip } } }");
  operation("oauth2Grants of a user", "oauth2_grant:read", "oauth2_grant:read", ({ user }) => `{ oauth2Grants(user: "${user}") { nodes { ip } } }`, undefined, { on: everywhere, seen: ["user:read"] });
  operation("revokeOAuth2Grant", "oauth2_grant:delete", "oauth2_grant:delete", change("revokeOAuth2Grant", ({ grant }) => `id: "${grant}"`), undefined, { on: everywhere, seen: ["oauth2_grant:read"], kinds: ["session", "token"] });
  operation("revokeOAuth2AppGrants", "signed in", "oauth2_grant:delete", change("revokeOAuth2AppGrants", ({ app }) => `clientId: "${app}"`), ({ app }) => ["DELETE", `/oauth2/tokens?client_id=${app}`], { kinds: ["session", "token"] });
  operation("oauth2Settings", "deployment_config:read", "deployment_config:read", "{ oauth2Settings { dynamicRegistration } }");
  operation("updateOAuth2Settings", "deployment_config:update", "deployment_config:update", change("updateOAuth2Settings", () => ""));

  const keys = { kinds: ["session", "token"] };
  operation("scimKeys", "scim_key:read", "scim_key:read", "{ scimKeys { nodes { id source } } }");
  operation("scimRequests", "scim_key:read", "scim_key:read", `{ scimRequests(key: "unknown") { nodes { id } } }`, undefined, { outcome: "NOT_FOUND" });
  operation("createScimKey", "scim_key:create", "scim_key:create", change("createScimKey", () => `name: "${name()}", source: "not valid"`), undefined, { ...keys, outcome: "BAD_USER_INPUT" });
  operation("updateScimKey", "scim_key:create", "scim_key:create", change("updateScimKey", () => `id: "unknown"`), undefined, { ...keys, outcome: "NOT_FOUND" });
  operation("revokeScimKey", "scim_key:delete", "scim_key:delete", change("revokeScimKey", () => `id: "unknown"`), undefined, { ...keys, outcome: "NOT_FOUND" });
  const scim = { kinds: ["session", "token", "scim_key"] };
  for (const list of ["scimUsers", "scimGroups", "scimResources"]) operation(list, "user:create", "all", `{ ${list}(count: 1) { totalResults } }`, undefined, scim);
  for (const one of ["scimUser", "scimGroup"]) operation(one, "user:create", "all", `{ ${one}(id: "${newId()}") { id } }`, undefined, { ...scim, outcome: "NOT_FOUND" });
  for (const create of ["createScimUser", "createScimGroup"]) operation(create, "user:create", "all", change(create, () => "document: {}"), undefined, { ...scim, outcome: "BAD_USER_INPUT" });
  for (const type of ["User", "Group"]) {
    const document = type === "User" ? `{ userName: "a@b.example" }` : `{ displayName: "x" }`;
    operation(`replaceScim${type}`, "user:create", "all", change(`replaceScim${type}`, () => `id: "${newId()}", document: ${document}`), undefined, { ...scim, outcome: "NOT_FOUND" });
    operation(`patchScim${type}`, "user:create", "all", change(`patchScim${type}`, () => `id: "${newId()}", document: { Operations: [] }`), undefined, { ...scim, outcome: "NOT_FOUND" });
    operation(`deleteScim${type}`, "user:create", "all", change(`deleteScim${type}`, () => `id: "${newId()}"`), undefined, { ...scim, outcome: "NOT_FOUND" });
  }
  operation("runScimBulk", "user:create", "all", change("runScimBulk", () => "document: { Operations: [] }"), undefined, scim);
  operation("scimServiceProviderConfig", "signed in", "", "{ scimServiceProviderConfig }", undefined, open);
  operation("scimSchemas", "signed in", "", "{ scimSchemas }", undefined, open);
  operation("scimSchema", "signed in", "", `{ scimSchema(urn: "x") }`, undefined, { ...open, outcome: "NOT_FOUND" });
  operation("scimResourceTypes", "signed in", "", "{ scimResourceTypes }", undefined, open);
  operation("scimResourceType", "signed in", "", `{ scimResourceType(name: "x") }`, undefined, { ...open, outcome: "NOT_FOUND" });

  const proxy = { kinds: ["proxy"], outcome: "NOT_FOUND" };
  operation("registerWorkspaceProxy", "signed in", "", change("registerWorkspaceProxy", () => `accessUrl: "x", replicaId: "${newId()}"`), undefined, { ...proxy, outcome: "BAD_USER_INPUT" });
  operation("heartbeatWorkspaceProxy", "signed in", "", change("heartbeatWorkspaceProxy", () => `replicaId: "${newId()}"`), undefined, proxy);
  operation("deregisterWorkspaceProxy", "signed in", "", change("deregisterWorkspaceProxy", () => `replicaId: "${newId()}"`), undefined, proxy);
  operation("applicationTarget", "signed in", "", `{ applicationTarget(owner: "x", workspace: "x", agent: "x", slug: "x") { allowed } }`, undefined, proxy);
  operation("recordConnections", "signed in", "", change("recordConnections", () => "events: []"), undefined, { kinds: ["agent", "proxy"] });

  const keysPath = ({ organization }: Place) => `/organizations/${organization}/provisionerkeys`;
  operation("provisionerKeys", "provisioner_key:read", "provisioner_key:read", ({ organization }) => `{ provisionerKeys(organization: "${organization}") { id tags } }`, api("GET", keysPath), inOrganization);
  operation("provisionerKeyDaemons", "provisioner_key:read", "provisioner_daemon:read provisioner_key:read", ({ organization }) => `{ provisionerKeyDaemons(organization: "${organization}") { key { tags } daemons { status } } }`, api("GET", (place) => `${keysPath(place)}/daemons`), inOrganization);
  operation("createProvisionerKey", "provisioner_key:create", "provisioner_key:create", change("createProvisionerKey", ({ organization }) => `organization: "${organization}"`), api("POST", keysPath), inOrganization);
  operation("rotateProvisionerKey", "provisioner_key:create", "provisioner_key:create", change("rotateProvisionerKey", ({ organization }) => `organization: "${organization}", name: "unknown"`), undefined, { ...inOrganization, outcome: "NOT_FOUND" });
  operation("endProvisionerKeyFormerSecret", "provisioner_key:delete", "provisioner_key:delete", change("endProvisionerKeyFormerSecret", ({ organization }) => `organization: "${organization}", name: "unknown"`), undefined, { ...inOrganization, outcome: "NOT_FOUND" });
  operation("deleteProvisionerKey", "provisioner_key:delete", "provisioner_key:delete", change("deleteProvisionerKey", ({ organization }) => `organization: "${organization}", name: "unknown"`), api("DELETE", (place) => `${keysPath(place)}/unknown`), { ...inOrganization, outcome: "NOT_FOUND" });
  operation("provisionerDaemons", "provisioner_daemon:read", "provisioner_daemon:read", ({ organization }) => `{ provisionerDaemons(organization: "${organization}") { id status } }`, undefined, inOrganization);
  operation("deleteProvisionerDaemon", "signed in", "provisioner_key:delete", change("deleteProvisionerDaemon", () => `id: "${newId()}"`), undefined, atUnknown);
  operation("provisionerJob", "signed in", "provisioner_job:read", `{ provisionerJob(id: "${newId()}") { status } }`, undefined, atUnknown);
  operation("provisionerJobs", "organization:read", "provisioner_job:read", ({ organization }) => `{ provisionerJobs(organization: "${organization}") { nodes { status } } }`, undefined, inOrganization);
  operation("cancelProvisionerJob", "signed in", "provisioner_job:update", change("cancelProvisionerJob", () => `job: "${newId()}"`), undefined, atUnknown);
  operation("provisionerJobLogAppended", "signed in", "provisioner_job:read", `subscription { provisionerJobLogAppended(jobId: "${newId()}") { output } }`, undefined, { outcome: "BAD_USER_INPUT" });
  const daemon = { kinds: ["provisioner"] };
  const leased = () => `jobId: "${newId()}", lease: "x"`;
  operation("provisionerWorkReceived", "signed in", "", "subscription { provisionerWorkReceived(slots: 1) { __typename } }", undefined, daemon);
  for (const verb of ["acceptProvisionerJob", "updateProvisionerJob", "completeProvisionerJob"]) operation(verb, "signed in", "", change(verb, leased), undefined, daemon);
  operation("failProvisionerJob", "signed in", "", change("failProvisionerJob", () => `${leased()}, error: "x"`), undefined, daemon);
  operation("reportProvisionerResources", "signed in", "", change("reportProvisionerResources", () => `${leased()}, resources: []`), undefined, daemon);

  operation("authScopes", "signed in", "", "{ authScopes { external } }", fixed("GET", "/auth/scopes"), open);
  operation("serverInfo", "signed in", "", "{ serverInfo { version } }", undefined, open);
  operation("oauth2ServerMetadata", "signed in", "", "{ oauth2ServerMetadata { issuer } }", exactly("GET", "/.well-known/oauth-authorization-server"), open);
  operation("oauth2ProtectedResourceMetadata", "signed in", "", "{ oauth2ProtectedResourceMetadata { resource } }", exactly("GET", "/.well-known/oauth-protected-resource"), open);
  for (const [resource, path] of [["REST", "/api/v2"], ["GRAPHQL", "/graphql"]]) operation(`oauth2ProtectedResourceMetadata of ${path}`, "signed in", "", `{ oauth2ProtectedResourceMetadata(resource: ${resource}) { resource } }`, exactly("GET", `/.well-known/oauth-protected-resource${path}`), open);
  const client = newId();
  const unregistered = { ...open, outcome: "UNAUTHENTICATED" };
  operation("registerOAuth2Client", "signed in", "", change("registerOAuth2Client", () => "redirectUris: []"), exactly("POST", "/oauth2/register", {}), { ...open, outcome: "BAD_USER_INPUT" });
  operation("oauth2ClientConfiguration", "signed in", "", `{ oauth2ClientConfiguration(clientId: "${client}") { scope } }`, exactly("GET", `/oauth2/clients/${client}`), unregistered);
  operation("updateOAuth2Client", "signed in", "", change("updateOAuth2Client", () => `clientId: "${client}"`), exactly("PUT", `/oauth2/clients/${client}`, {}), unregistered);
  operation("deleteOAuth2Client", "signed in", "", change("deleteOAuth2Client", () => `clientId: "${client}"`), exactly("DELETE", `/oauth2/clients/${client}`), unregistered);
  operation("login", "signed in", "", change("login", () => `email: "", password: ""`), fixed("POST", "/users/login", {}), { ...open, outcome: "BAD_USER_INPUT" });
  operation("requestOneTimePasscode", "signed in", "", change("requestOneTimePasscode", () => `email: "x"`), fixed("POST", "/users/otp/request", {}), { ...open, outcome: "BAD_USER_INPUT" });
  operation("changePasswordWithPasscode", "signed in", "", change("changePasswordWithPasscode", () => `email: "x", oneTimePasscode: "", password: ""`), fixed("POST", "/users/otp/change-password", {}), { ...open, outcome: "BAD_USER_INPUT" });
  const protocol = (method: string, path: string) => (): Request => [method, `/oauth2${path}`, {}];
  operation("issueOAuth2Token", "signed in", "", change("issueOAuth2Token", () => `grantType: "x", clientId: "x"`), protocol("POST", "/tokens"), { ...open, outcome: "BAD_USER_INPUT" });
  operation("revokeOAuth2Token", "signed in", "", change("revokeOAuth2Token", () => `clientId: "x", token: ""`), protocol("POST", "/revoke"), { ...open, outcome: "BAD_USER_INPUT" });
  operation("oauth2Introspection", "signed in", "", `{ oauth2Introspection(input: { clientId: "x", token: "" }) { active } }`, protocol("POST", "/introspect"), { ...open, outcome: "UNAUTHENTICATED" });
  operation("startOAuth2Device", "signed in", "", change("startOAuth2Device", () => `clientId: ""`), protocol("POST", "/device_authorization"), { ...open, outcome: "BAD_USER_INPUT" });
}

/** Returns the document of an operation that uses these objects, or the request of its row. */
export const documentOf = (title: string, place: Partial<Place>): string =>
  operations.get(title)!.document!(place as Place);
export const requestOf = (title: string, place: Partial<Place>): Request =>
  operations.get(title)!.rest!(place as Place);

/** The result of a request: `done` or the error code, and the missing scopes. */
interface Outcome {
  code: string;
  scopes?: string;
}

const codes: Record<number, string> = {
  400: "BAD_USER_INPUT",
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
};

export type Headers = Record<string, string>;

async function overGraphql(client: Client, query: string, headers?: Headers): Promise<Outcome> {
  const { body, status } = await client.post("/graphql", { query }, headers);
  const extensions = body.errors?.[0].extensions;
  if (status === 401) return { code: "UNAUTHENTICATED" };
  return { code: extensions?.code ?? "done", scopes: extensions?.requiredScopes?.join(" ") };
}

async function overRest(client: Client, [method, path, body]: Request, headers?: Headers): Promise<Outcome> {
  const { status, headers: sent } = await client.request(method, path, body, {
    Accept: "application/json",
    ...headers,
  });
  const challenge = /insufficient_scope", scope="(.*)"/.exec(sent.get("www-authenticate") ?? "");
  return { code: status < 400 ? "done" : (codes[status] ?? String(status)), scopes: challenge?.[1] };
}

/** Returns the operation as a request function for each surface that has it. */
export const surfaces = ({ document, rest, scopes, restScopes }: Operation) => [
  ...(document ? [{ scopes, send: (c: Client, p: Place, h?: Headers) => overGraphql(c, document(p), h) }] : []),
  ...(rest ? [{ scopes: restScopes, send: (c: Client, p: Place, h?: Headers) => overRest(c, rest(p), h) }] : []),
];

const nowhere = {} as Place;

/** The document of an operation, else the method of its row; distinguishes changes from reads. */
export const verbOf = ({ document, rest }: Operation) => document?.(nowhere) ?? rest!(nowhere)[0];
