// The operations of both surfaces, each with the permission and the scopes that the specification requires.
import { newId } from "./ids.js";
import { documentsOf, fieldOf, type Given, type Request, requestTo, rowsOf } from "./operation-requests.js";
import type { Stage } from "./stage.js";

/** Whose objects an operation names: the caller's own, those of others there, or those of another organization. */
export type Where = "own" | "other" | "away";

/** Ids of the objects that an operation uses. */
export interface Place extends Stage {
  user: string;
}

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
  /** The arguments that it is tried with. */
  given?: Given<Place>;
  /** A document that tries the operation, which selects a little, or what is given. */
  document?: (place: Place, selection?: string) => string;
  /** The request to its row, which has the arguments of the document unless the row takes others. */
  rest?: (place: Place) => Request;
}

export const operations = new Map<string, Operation>();

/** Adds an operation. `scopes` are separated by spaces; those of the REST row follow a slash if they differ. */
function add(
  title: string,
  permission: string,
  scopes: string,
  more: Partial<Operation>,
  document?: Operation["document"],
): void {
  const [graphql = "", ofRow = graphql] = scopes.split("/");
  const named = (text: string) => text.split(" ").filter(Boolean);
  operations.set(title, {
    permission,
    on: ["own"],
    own: "OTUAotuamxn",
    outcome: "done",
    refusal: "FORBIDDEN",
    scopes: named(graphql),
    restScopes: named(ofRow),
    kinds: ["session", "token", "oauth"],
    document,
    rest: document && restOf(title, document),
    ...more,
  });
}

/** The request to the row of an operation: the first operation of a root field has the first of its rows, and so on. */
function restOf(title: string, document: (place: Place) => string): Operation["rest"] {
  const before = [...operations.keys()].filter((each) => fieldOf(each) === fieldOf(title));
  const rows = rowsOf(fieldOf(title));
  const own = rows[before.length] ?? rows.at(-1);
  return own && ((place) => requestTo(own, document(place)));
}

/** Adds a query or a subscription. */
const read = (
  title: string,
  permission: string,
  scopes: string,
  given: Given<Place>,
  selected: string,
  more: Partial<Operation> = {},
) => add(title, permission, scopes, { given, ...more }, documentsOf(title, given, selected));

/** Adds a mutation. */
const change = (
  title: string,
  permission: string,
  scopes: string,
  given: Given<Place>,
  { select = "__typename", ...more }: Partial<Operation> & { select?: string } = {},
) => add(title, permission, scopes, { given, ...more }, documentsOf(title, given, select));

/** The request to a row that takes none of the arguments, or takes them in another form. */
const row =
  (method: string, path: string, body?: unknown): Operation["rest"] =>
  () => [method, path, body];

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
  read("me", "signed in", "", "", "id email roles { name }");
  read("user", "user:read", "user:read", ({ user }) => `user: "${user}"`, "id email", { on: everywhere, seen: ["user:read"] });
  read("users", "signed in", "user:read", "first: 1", "nodes { id }");
  change("createUser", "user:create", "user:create", () => `email: "${name()}@example.com", username: "${name()}", isServiceAccount: true`);
  change("createUser with a password", "user:create", "user:create", () => `email: "${name()}@example.com", username: "${name()}", password: "${rule}"`, { ...onKeys, byArguments: true });
  change("updateUser", "user:update", "user:update", ({ user }) => `user: "${user}", name: "${name()}"`, onUser);
  change("updateUser with an email address", "user:update", "user:update", ({ user }) => `user: "${user}", email: "${name()}@example.com"`, { ...onUser, ...onSession, byArguments: true });
  change("updateProfile", "signed in", "user:update_personal", `name: "x"`);
  for (const verb of ["suspendUser", "activateUser"]) change(verb, "user:update", "user:update", ({ user }) => `user: "${user}"`, onUser);
  change("deleteUser", "user:delete", "user:delete", ({ user }) => `user: "${user}"`, onUser);
  change("setUserRoles", "assign_role:assign", "user:*", ({ user }) => `user: "${user}", roles: [AUDITOR]`, { ...onUser, kinds: ["session", "token"] });
  change("resetUserPassword", "user:update", "user:update", ({ user }) => `user: "${user}", password: "${rule}"`, { ...onUser, ...onSession });
  read("invitations", "invitation:read", "user:read", "first: 1", "nodes { id }");
  read("invitation", "invitation:read", "user:read", () => `id: "${newId()}"`, "id", { outcome: "NOT_FOUND" });
  change("inviteUser", "invitation:create", "organization_member:create user:create", () => `email: "${name()}@example.com", delivery: LINK`, onKeys);
  change("resendInvitation", "invitation:create", "group:update organization_member:* user:*", () => `id: "${newId()}"`, { ...onKeys, outcome: "NOT_FOUND" });
  change("revokeInvitation", "invitation:create", "user:delete", () => `id: "${newId()}"`, { ...onKeys, outcome: "NOT_FOUND" });
  change("importInvitations", "invitation:create", "group:update organization_member:* user:*", () => `csv: "email\\n${name()}@example.com", delivery: LINK`, onKeys);
  read("invitationOffer", "signed in", "", `token: "x"`, "email", { ...open, outcome: "NOT_FOUND" });
  change("acceptInvitation", "signed in", "", `token: "x", username: "x", password: "x"`, { ...open, outcome: "NOT_FOUND" });
  read("search", "signed in", "", `text: "a"`, "id");
  read("firstSteps", "deployment_config:read", "deployment_config:read", "", "isDismissed");
  change("dismissFirstSteps", "deployment_config:update", "deployment_config:update", "");
  read("userIdentities", "user:read_personal", "user:read_personal", ({ user }) => `user: "${user}"`, "subject", { on: everywhere, seen: ["user:read"] });
  change("unlinkUserIdentity", "user:update", "user:update", ({ user }) => `user: "${user}"`, { ...onUser, ...onSession });
  change("linkUserIdentity", "user:update", "user:update", ({ user }) => `user: "${user}", subject: "${name()}"`, { ...onUser, ...onSession, outcome: "BAD_USER_INPUT" });
  read("secondFactors", "user:read_personal", "user:read_personal", ({ user }) => `user: "${user}"`, "recoveryCodesLeft", { on: everywhere, seen: ["user:read"] });
  read("secondFactorRules", "deployment_config:read", "deployment_config:read", "", "level daysToEnrol");
  change("setSecondFactorRule", "deployment_config:update", "deployment_config:update", "role: AUDITOR, level: OFF", onSession);
  read("organizationSecondFactorRule", "organization:update", "organization:update", ({ organization }) => `organization: "${organization}"`, "level", inOrganization);
  change("setOrganizationSecondFactorRule", "organization:update", "organization:update", ({ organization }) => `organization: "${organization}", level: OFF`, { ...inOrganization, ...onSession });
  change("beginAuthenticator", "signed in", "user:update_personal", `password: ""`, { ...onSession, outcome: "BAD_USER_INPUT" });
  for (const verb of ["confirmAuthenticator", "regenerateRecoveryCodes", "removeAuthenticator"]) change(verb, "signed in", "user:update_personal", `oneTimeCode: ""`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("beginPasskey", "signed in", "user:update_personal", `password: ""`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("confirmPasskey", "signed in", "user:update_personal", `passkey: "x"`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("updatePasskey", "signed in", "user:update_personal", () => `id: "${newId()}", name: "x"`, { ...onSession, outcome: "NOT_FOUND" });
  change("removePasskey", "signed in", "user:update_personal", () => `id: "${newId()}"`, { ...onSession, outcome: "NOT_FOUND" });
  change("beginPasskeyProof", "signed in", "user:update_personal", "", { ...onSession, outcome: "CONFLICT" });
  change("rememberDevice", "signed in", "user:update_personal", "", { ...onSession, outcome: "FORBIDDEN" });
  change("forgetDevice", "signed in", "user:update_personal", () => `id: "${newId()}"`, { ...onSession, outcome: "NOT_FOUND" });
  change("beginPasskeyLogin", "signed in", "", "", open);
  change("loginWithPasskey", "signed in", "", `passkey: "x"`, { ...open, outcome: "UNAUTHENTICATED" });
  change("proveIdentity", "signed in", "user:update_personal", `oneTimeCode: ""`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("resetSecondFactors", "user:update", "user:update", ({ user }) => `user: "${user}"`, { ...onUser, ...onSession });
  change("changePassword", "signed in", "user:update_personal", `currentPassword: "x", newPassword: "x"`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("convertLogin", "signed in", "user:update_personal", `user: "me", toType: GITHUB, password: ""`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("validatePassword", "signed in", "", `password: "x"`, onKeys);
  change("logout", "signed in", "", "", { kinds: ["session", "token", "application"] });
  change("revokeSessions", "signed in", "api_key:delete", "", onSession);

  read("organization", "organization:read", "organization:read", ({ organization }) => `organization: "${organization}"`, "id description", inOrganization);
  read("organizations", "signed in", "organization:read", "", "id");
  read("organizationMembers", "organization_member:read", "organization_member:read", ({ organization }) => `organization: "${organization}"`, "nodes { id }", inOrganization);
  read("assignableRoles", "assign_role:read", "user:read", "", "name");
  read("assignableRoles of an organization", "assign_org_role:read", "organization_member:read", ({ organization }) => `organization: "${organization}"`, "name", inOrganization);
  change("createOrganization", "organization:create", "organization:create", () => `name: "${name()}"`);
  change("updateOrganization", "organization:update", "organization:update", ({ organization }) => `organization: "${organization}", description: "x"`, inOrganization);
  change("deleteOrganization", "organization:delete", "organization:delete", ({ organization }) => `organization: "${organization}"`, { ...inOrganization, outcome: "CONFLICT" });
  change("addOrganizationMember", "organization_member:create", "organization_member:create", ({ organization, newcomer }) => `organization: "${organization}", user: "${newcomer}"`, inOrganization);
  change("removeOrganizationMember", "organization_member:delete", "organization_member:delete", ({ organization, user }) => `organization: "${organization}", user: "${user}"`, inOrganization);
  change("setOrganizationMemberRoles", "assign_org_role:assign", "organization_member:*", ({ organization, user }) => `organization: "${organization}", user: "${user}", roles: []`, { ...inOrganization, kinds: ["session", "token"] });

  read("apiKeys", "api_key:read", "api_key:read", ({ user }) => `user: "${user}"`, "id ip", { ...onKeys, on: everywhere, seen: ["user:read"] });
  change("createApiKey", "api_key:create", "api_key:create", () => `name: "${name()}"`, { kinds: ["session", "token"] });
  change("createApiKey for a service account", "api_key:create for a service account", "api_key:create", ({ bot }) => `name: "${name()}", user: "${bot}"`, { ...onUser, kinds: ["session", "token"] });
  change("updateApiKey", "api_key:update", "api_key:update", ({ key }) => `id: "${key}", name: "${name()}"`, { ...onKeys, on: everywhere, seen: ["api_key:read"] });
  change("revokeApiKey", "api_key:delete", "api_key:delete", ({ key }) => `id: "${key}"`, { ...onKeys, on: everywhere, seen: ["api_key:read"] });

  read("group", "group:read", "group:read", ({ group }) => `group: "${group}"`, "id source", onGroup);
  read("group with its members", "group:read", "group:read", ({ group }) => `group: "${group}"`, "members { totalCount }", onGroup);
  read("groupByName", "organization:read", "group:read", ({ organization }) => `organization: "${organization}", name: "Unknown"`, "id", { ...inOrganization, outcome: "NOT_FOUND" });
  read("groupByName with its members", "organization:read", "group:read", ({ organization }) => `organization: "${organization}", name: "Unknown"`, "members { totalCount }", { ...inOrganization, outcome: "NOT_FOUND" });
  read("groups", "signed in", "group:read", "first: 1", "nodes { id }", { rest: row("GET", `/api/v2/groups?group_ids=${newId()}`) });
  read("organizationGroups", "organization:read", "group:read", ({ organization }) => `organization: "${organization}"`, "nodes { id }", inOrganization);
  change("createGroup", "group:create", "group:create/group:create group:read", ({ organization }) => `organization: "${organization}", name: "${name()}"`, inOrganization);
  change("updateGroup", "group:update", "group:update/group:read group:update", ({ group }) => `group: "${group}", displayName: "${name()}"`, onGroup);
  change("deleteGroup", "group:delete", "group:delete/group:delete group:read", ({ group }) => `group: "${group}"`, onGroup);
  read("groupAiBudget", "group_ai_budget:read", "group:read", ({ team }) => `group: "${team}"`, "spendLimitMicros", { ...onGroup, on: others, seen: ["group_ai_budget:read"] });
  change("setGroupAiBudget", "group_ai_budget:update", "group:update", ({ group }) => `group: "${group}", spendLimitMicros: 1`, onGroup);
  change("deleteGroupAiBudget", "group_ai_budget:delete", "group:delete", ({ team }) => `group: "${team}"`, { ...onGroup, on: ["own", "away"] });
  change("recordAiUsage", "group_ai_budget:update", "group:update", ({ organization }) => `organization: "${organization}", entries: []`, inOrganization);
  read("aiSpend", "group_ai_budget:read", "group:read", ({ user, organization }) => `user: "${user}", organization: "${organization}"`, "spentMicros", { on: others, seen: ["user:read", "organization:read"] });
  read("organizationAiSpend", "group_ai_budget:read", "group:read", ({ organization }) => `organization: "${organization}"`, "spentMicros", inOrganization);
  read("workspaceQuota", "organization:read", "organization:read user:read", ({ user, organization }) => `user: "${user}", organization: "${organization}"`, "budget", { on: others, seen: ["user:read", "organization:read"] });
  read("workspaceQuota in the default organization", "signed in", "organization:read user:read", `user: "${newId()}"`, "budget", { outcome: "NOT_FOUND" });
  read("quietHours", "user:read_personal", "user:read_personal", ({ user }) => `user: "${user}"`, "time", { on: everywhere, seen: ["user:read"] });
  change("setQuietHours", "user:update_personal", "user:update_personal", ({ user }) => `user: "${user}", schedule: "0 1 * * *"`, { on: everywhere, seen: ["user:read"] });

  const secret = { on: everywhere };
  read("userSecrets", "user_secret:*", "user_secret:read", ({ user }) => `user: "${user}"`, "id", secret);
  read("userSecret", "user_secret:*", "user_secret:read", ({ user }) => `user: "${user}", name: "kept"`, "id", secret);
  read("userSecretUsage", "user_secret:*", "user_secret:read", ({ user }) => `user: "${user}"`, "count", secret);
  change("createUserSecret", "user_secret:*", "user_secret:create", ({ user }) => `user: "${user}", name: "${name()}", value: "v"`, secret);
  change("updateUserSecret", "user_secret:*", "user_secret:update/user_secret:read user_secret:update", ({ user }) => `user: "${user}", name: "kept", description: "x"`, secret);
  change("deleteUserSecret", "user_secret:*", "user_secret:delete", ({ user }) => `user: "${user}", name: "kept"`, secret);

  read("inboxNotification", "inbox_notification:*", "inbox_notification:read", ({ note }) => `id: "${note}"`, "title", secret);
  read("inboxNotifications", "signed in", "inbox_notification:read", "", "nodes { title }");
  add("inboxEvents", "signed in", "inbox_notification:read", { rest: row("HEAD", "/api/v2/notifications/inbox/watch") });
  change("markInboxNotification", "inbox_notification:*", "inbox_notification:update/inbox_notification:read inbox_notification:update", ({ note }) => `id: "${note}", isRead: true`, secret);
  change("markAllInboxNotificationsRead", "signed in", "inbox_notification:update", "");

  const onBusy = { on: everywhere, own: "otuam", seen: ["workspace:read"] };
  const busy = { ...onBusy, outcome: "CONFLICT" };
  read("workspace", "workspace:read", "workspace:read", ({ busyWorkspace }) => `id: "${busyWorkspace}"`, "name status", onBusy);
  read("workspaceByName", "signed in", "workspace:read", `owner: "me", name: "unknown"`, "id", { outcome: "NOT_FOUND" });
  read("workspaces", "signed in", "workspace:read", "first: 1", "nodes { id }");
  read("workspaceBuild", "signed in", "workspace:read", `id: "${newId()}"`, "id", { outcome: "NOT_FOUND" });
  read("workspaceBuildUpdated", "signed in", "workspace:read", `workspaceId: "${newId()}"`, "id", { outcome: "BAD_USER_INPUT" });
  change("createWorkspace", "signed in", "template:use workspace:create", () => `templateId: "${newId()}", name: "x"`, { outcome: "NOT_FOUND" });
  change("startWorkspace", "workspace:start", "workspace:start", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`, busy);
  change("stopWorkspace", "workspace:stop", "workspace:stop", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`, busy);
  change("restartWorkspace", "workspace:start", "workspace:start workspace:stop", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`, busy);
  change("deleteWorkspace", "workspace:delete", "workspace:delete", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`, busy);
  change("deleteWorkspace as an orphan", "workspace:delete as an orphan", "template:update workspace:delete", ({ busyWorkspace }) => `workspace: "${busyWorkspace}", orphan: true`, { ...busy, on: others, checkedFirst: ["workspace:delete"] });
  change("updateWorkspace", "workspace:update", "workspace:update", ({ busyWorkspace }) => `workspace: "${busyWorkspace}", ttlSeconds: 60`, onBusy);
  change("extendWorkspaceDeadline", "workspace:update", "workspace:update", ({ busyWorkspace }) => `workspace: "${busyWorkspace}", deadline: "2030-01-01T00:00:00Z"`, busy);
  change("activateWorkspace", "workspace:update", "workspace:update", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`, onBusy);
  change("updateWorkspaceAcl", "workspace:share", "workspace:share", ({ busyWorkspace }) => `workspace: "${busyWorkspace}"`, { ...onBusy, on: others, outcome: "FORBIDDEN" });
  change("setWorkspaceSecretInjection", "workspace:share", "user_secret:update", ({ busyWorkspace }) => `workspaceId: "${busyWorkspace}", enabled: true`, { ...onBusy, on: others, outcome: "FORBIDDEN" });

  const content = `{ schema: "steward.template/1", provisioner: "echo" }`;
  read("template", "template:read", "template:read", ({ template }) => `id: "${template}"`, "id createdAt", onTemplate);
  read("templateByName", "organization:read", "template:read", ({ organization }) => `organization: "${organization}", name: "unknown"`, "id", { ...inOrganization, outcome: "NOT_FOUND" });
  read("templates", "signed in", "template:read", "first: 1", "nodes { id }");
  read("templateVersion", "template:read", "template:read", ({ templateVersion }) => `id: "${templateVersion}"`, "id isImported", onTemplate);
  read("workspaceCost", "template:read", "template:read user:read", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`, "needs exceeds", onTemplate);
  change("createTemplate", "template:create", "template:create", ({ organization }) => `organization: "${organization}", name: "${name()}", document: ${content}`, inOrganization);
  change("updateTemplate", "template:update", "template:update", ({ template }) => `templateId: "${template}", description: "x"`, onTemplate);
  change("deleteTemplate", "template:delete", "template:delete", ({ template }) => `templateId: "${template}"`, onTemplate);
  change("createTemplateVersion", "template:update", "template:update", ({ template }) => `templateId: "${template}", document: ${content}`, onTemplate);
  change("setActiveTemplateVersion", "template:update", "template:update", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`, onTemplate);
  change("archiveTemplateVersion", "template:update", "template:update", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`, { ...onTemplate, outcome: "CONFLICT" });
  change("dryRunTemplateVersion", "template:update", "template:update", ({ templateVersion }) => `templateVersionId: "${templateVersion}"`, onTemplate);
  read("mostUsedTemplates", "template:view_insights", "template:view_insights", ({ organization }) => `organization: "${organization}"`, "workspaceCount", inOrganization);
  read("templateAcl", "template:update", "template:update/group:read template:update", ({ template }) => `templateId: "${template}"`, "users { role }", onTemplate);
  read("templateAclAvailable", "template:update", "template:update/group:read template:update user:read", ({ template }) => `templateId: "${template}"`, "groups { id }", onTemplate);
  change("updateTemplateAcl", "template:update", "template:update", ({ template }) => `templateId: "${template}"`, onTemplate);
  change("invalidateTemplatePresets", "template:update", "template:update", ({ template }) => `templateId: "${template}"`, onTemplate);

  const ofAgent = { kinds: ["agent"] };
  read("workspaceAgent", "workspace_agent:read", "workspace:read", ({ agent }) => `id: "${agent}"`, "status", onWorkspace());
  read("workspaceAgentLogAppended", "signed in", "workspace:read", ({ agent }) => `agentId: "${agent}"`, "output", { outcome: "BAD_USER_INPUT" });
  read("externalAgentCredentials", "workspace_agent:read_credentials", "workspace:*", ({ workspace }) => `workspaceId: "${workspace}", agentName: "main"`, "command", { ...onWorkspace(), outcome: "CONFLICT" });
  read("agentManifest", "signed in", "", "", "agentId", { ...ofAgent, refusal: "UNAUTHENTICATED" });
  change("agentHeartbeat", "signed in", "", "", { select: "shutdown", ...ofAgent });
  change("disconnectAgent", "signed in", "", "", { select: "agent { status }", ...ofAgent });
  change("uploadTaskLogSnapshot", "signed in", "", () => `taskId: "${newId()}", format: "agentapi", content: {}`, { rest: row("POST", `/api/v2/workspaceagents/me/tasks/${newId()}/log-snapshot?format=agentapi`, {}), ...ofAgent, refusal: "UNAUTHENTICATED", outcome: "NOT_FOUND" });
  change("beginTaskConversation", "signed in", "", () => `taskId: "${newId()}", protocol: ACP`, { ...ofAgent, refusal: "UNAUTHENTICATED", outcome: "NOT_FOUND" });
  change("reportTaskConversation", "signed in", "", () => `taskId: "${newId()}"`, { ...ofAgent, refusal: "UNAUTHENTICATED", outcome: "NOT_FOUND" });
  read("taskActionRequested", "signed in", "", `taskId: "${newId()}"`, "id", { ...ofAgent, outcome: "BAD_USER_INPUT" });

  const unknown = newId();
  const noTask = { outcome: "NOT_FOUND" };
  read("task", "signed in", "task:read", `task: "${unknown}"`, "id name status", noTask);
  read("task with its logs", "signed in", "task:read", `task: "${unknown}"`, "logs { snapshot }", noTask);
  read("tasks", "signed in", "task:read", "first: 1", "nodes { id }");
  change("createTask", "signed in", "task:create template:use/task:create task:read template:use", () => `user: "${unknown}", templateVersionId: "${unknown}"`, noTask);
  change("deleteTask", "signed in", "task:delete", () => `task: "${unknown}"`, noTask);
  change("updateTaskInput", "signed in", "task:update", () => `task: "${unknown}", input: "x"`, noTask);
  change("pauseTask", "signed in", "workspace:stop/provisioner_job:read workspace:read workspace:stop", () => `task: "${unknown}"`, noTask);
  change("resumeTask", "signed in", "workspace:start/provisioner_job:read workspace:read workspace:start", () => `task: "${unknown}"`, noTask);
  change("sendTaskInput", "signed in", "workspace:application_connect", () => `task: "${unknown}", input: "x"`, noTask);
  change("decideTaskPermission", "signed in", "workspace:application_connect", () => `task: "${unknown}", requestId: "x", optionId: "x"`, noTask);
  change("interruptTask", "signed in", "workspace:application_connect", () => `task: "${unknown}"`, noTask);
  read("taskConversationChanged", "signed in", "task:read workspace:application_connect", `id: "${unknown}"`, "messages { id }", { outcome: "BAD_USER_INPUT" });
  change("editTaskInput", "signed in", "workspace:application_connect", () => `id: "${unknown}", input: "x"`, noTask);
  change("cancelTaskInput", "signed in", "task:update", () => `id: "${unknown}"`, noTask);
  read("taskChanged", "signed in", "task:read", `id: "${unknown}"`, "id", { outcome: "BAD_USER_INPUT" });
  read("taskMessages", "signed in", "task:read workspace:application_connect", `id: "${unknown}"`, "id", { outcome: "BAD_USER_INPUT" });

  change("reportAgentStartup", "signed in", "", `version: "1", expandedDirectory: "/"`, ofAgent);
  change("reportAgentLifecycle", "signed in", "", "state: STARTING", ofAgent);
  change("reportAgentResources", "signed in", "", "memoryUsedBytes: 1", ofAgent);
  change("reportAppHealth", "signed in", "", "apps: []", ofAgent);
  change("reportAppStatus", "signed in", "", `appSlug: "x", state: IDLE, message: ""`, { ...ofAgent, outcome: "BAD_USER_INPUT" });
  change("reportScriptResult", "signed in", "", () => `scriptId: "${newId()}", exitCode: 0, status: OK`, { ...ofAgent, outcome: "BAD_USER_INPUT" });
  change("appendAgentLogs", "signed in", "", "logs: []", ofAgent);
  read("agentEventReceived", "signed in", "", "", "shutdown", { ...ofAgent, outcome: "BAD_USER_INPUT" });

  change("sendCustomNotification", "signed in", "notification_template:*", `content: { title: "x" }`);

  const template = "c425f63e-716a-4bf4-ae24-78348f706c3f";
  read("notificationTemplates", "signed in", "notification_template:read", "", "title");
  read("notificationTemplate", "signed in", "notification_template:read", `id: "${template}"`, "title", { rest: row("GET", "/api/v2/notifications/templates/custom") });
  change("updateNotificationTemplateMethod", "notification_template:update", "notification_template:update", () => `template: "${template}", method: INBOX`);
  read("notificationMethods", "signed in", "", "", "default");
  read("notificationSettings", "signed in", "", "", "notifierPaused");
  change("updateNotificationSettings", "deployment_config:update", "deployment_config:update", "notifierPaused: true");
  read("notificationPreferences", "notification_preference:read", "notification_preference:read", ({ user }) => `user: "${user}"`, "templateId", { on: everywhere, seen: ["user:read"] });
  change("updateNotificationPreferences", "notification_preference:update", "notification_preference:update", ({ user }) => `user: "${user}", choices: []`, { rest: ({ user }) => ["PUT", `/api/v2/users/${user}/notifications/preferences`, { template_disabled_map: {} }], on: everywhere, seen: ["user:read"] });
  read("notificationMessages", "notification_message:read", "notification_template:read", "first: 1", "nodes { state }");
  read("notificationMessage", "notification_message:read", "notification_template:read", `id: "${newId()}"`, "state", { outcome: "NOT_FOUND" });
  change("sendTestNotification", "notification_message:create for a test", "notification_template:*", "", { select: "messageIds" });
  read("notificationTransports", "deployment_config:update", "deployment_config:update", "", "webhook { url }");
  change("updateNotificationTransports", "deployment_config:update", "deployment_config:update", "smtp: {}");
  change("reportAgentResourceAlert", "signed in", "", "resource: MEMORY, threshold: 90", { kinds: ["agent"] });
  read("notificationUnsubscription", "signed in", "", `token: "x"`, "templateName", { ...open, outcome: "NOT_FOUND" });
  change("unsubscribeFromNotification", "signed in", "", `token: "x"`, { ...open, outcome: "NOT_FOUND" });
  for (const verb of ["retryNotificationMessages", "discardNotificationMessages"]) change(verb, "notification_message:update", "notification_template:update", "ids: []");
  const atUnknown = { outcome: "NOT_FOUND" };
  read("externalAuthProviders", "signed in", "external_auth_link:read", "", "id");
  read("externalAuthLinks", "signed in", "external_auth_link:read", "", "providerId");
  read("externalAuthOverview", "signed in", "external_auth_link:read", "", "authenticated");
  read("externalAuth", "signed in", "external_auth_link:read", `id: "x"`, "authenticated", atUnknown);
  read("externalAuthAccessToken", "signed in", "all", `providerId: "x"`, "type", { ...atUnknown, kinds: ["session", "agent"] });
  read("externalAuthLinkChanged", "signed in", "external_auth_link:read", `providerId: "x"`, "isLinked", { kinds: ["session", "token", "oauth", "agent"], outcome: "BAD_USER_INPUT" });
  change("deleteExternalAuth", "signed in", "external_auth_link:delete", `providerId: "x"`, atUnknown);
  change("startExternalAuthDevice", "signed in", "external_auth_link:update", `providerId: "x"`, atUnknown);
  change("completeExternalAuthDevice", "signed in", "external_auth_link:update", `providerId: "x"`, atUnknown);

  read("licenses", "license:read", "license:read", "", "id claims");
  change("addLicense", "license:create", "license:create", `license: "x"`, { outcome: "BAD_USER_INPUT" });
  change("deleteLicense", "license:delete", "license:delete", "id: 1", { outcome: "NOT_FOUND" });
  change("refreshEntitlements", "license:create", "license:create", "");
  read("entitlements", "signed in", "", "", "trial");
  read("appearance", "signed in", "", "", "docsUrl", { kinds: ["session", "token", "oauth", "agent"] });
  change("updateAppearance", "deployment_config:update", "deployment_config:update", `applicationName: "x"`);
  read("prebuildsSettings", "signed in", "", "", "reconciliationPaused");
  read("workspaceTransfers", "signed in", "workspace:read", "", "id workspaceName");
  change("transferWorkspaces", "signed in", "workspace:create", () => `workspaces: ["${newId()}"]`, { outcome: "NOT_FOUND" });
  for (const verb of ["accept", "decline"]) change(`${verb}WorkspaceTransfer`, "signed in", "workspace:update", () => `id: "${newId()}"`, { outcome: "NOT_FOUND" });
  read("heldWorkspaces", "deployment_config:read", "deployment_config:read", "", "userCount workspaceCount");
  change("releaseHeldWorkspaces", "deployment_config:update", "deployment_config:update", "");
  change("updatePrebuildsSettings", "deployment_config:update", "deployment_config:update", "reconciliationPaused: true");
  read("healthChecks", "deployment_config:read", "deployment_config:read", "", "code state");
  change("muteHealthCheck", "deployment_config:update", "deployment_config:update", "code: CLOCK", { outcome: "NOT_FOUND" });
  read("encryptionStatus", "system:read", "all", "", "activeKeyId");
  read("auditEvents", "audit_log:read", "audit_log:read", "first: 1", "nodes { id ip }");
  read("auditReaders", "audit_log:read", "audit_log:read", "", "nodes { id ip }");
  read("auditSinks", "deployment_config:read", "deployment_config:read", "", "name");
  add("auditEventNumbered", "audit_log:read", "audit_log:read", { rest: row("HEAD", "/api/v2/audit/stream") });
  read("eventTypes", "signed in", "", "", "name");
  read("eventEndpoints", "event_endpoint:read", "event_endpoint:read", "", "nodes { id url }");
  read("eventEndpoint", "signed in", "event_endpoint:read", () => `id: "${newId()}"`, "url", { outcome: "NOT_FOUND" });
  read("eventDelivery", "signed in", "event_endpoint:read", () => `id: "${newId()}"`, "state", { outcome: "NOT_FOUND" });
  change("createEventEndpoint", "event_endpoint:create", "audit_log:read event_endpoint:create", ({ organization }) => `organization: "${organization}", name: "${name()}", url: "https://events.example.com/"`, { ...inOrganization, ...onKeys });
  change("updateEventEndpoint", "signed in", "audit_log:read event_endpoint:update", () => `id: "${newId()}"`, { ...onKeys, outcome: "NOT_FOUND" });
  change("deleteEventEndpoint", "signed in", "event_endpoint:delete", () => `id: "${newId()}"`, { outcome: "NOT_FOUND" });
  change("createEventEndpointSecret", "signed in", "audit_log:read event_endpoint:update", () => `endpoint: "${newId()}"`, { ...onKeys, outcome: "NOT_FOUND" });
  change("deleteEventEndpointSecret", "signed in", "event_endpoint:update", () => `endpoint: "${newId()}", id: "${newId()}"`, { ...onKeys, outcome: "NOT_FOUND" });
  change("testEventEndpoint", "signed in", "event_endpoint:update", () => `id: "${newId()}"`, { outcome: "NOT_FOUND" });
  change("redeliverEvent", "signed in", "audit_log:read event_endpoint:update", () => `delivery: "${newId()}"`, { outcome: "NOT_FOUND" });
  change("redeliverEvents", "signed in", "audit_log:read event_endpoint:update", () => `id: "${newId()}", after: "2026-01-01T00:00:00Z"`, { outcome: "NOT_FOUND" });
  read("dailyCounts", "signed in", "", "", "days");
  read("connectionLogs", "connection_log:read", "connection_log:read", "first: 1", "nodes { id ip }");
  read("applicationsHost", "signed in", "", "", "");
  change("createApplicationRedirect", "signed in", "all", `redirectUri: ""`, { kinds: ["session", "token"], outcome: "BAD_USER_INPUT" });
  const consent = { kinds: ["session", "token"], outcome: "BAD_USER_INPUT" };
  const parameters = `responseType: "code", clientId: "x"`;
  read("oauth2AuthorizationRequest", "signed in", "all", parameters, "redirectUri", { rest: row("GET", "/oauth2/authorize"), ...consent });
  change("approveOAuth2Authorization", "signed in", "all", parameters, { rest: row("POST", "/oauth2/authorize"), ...consent });
  change("denyOAuth2Authorization", "signed in", "all", () => parameters, consent);
  read("oauth2DeviceRequest", "signed in", "all", `userCode: "x"`, "userCode", { ...consent, outcome: "NOT_FOUND" });
  for (const verb of ["approveOAuth2Device", "denyOAuth2Device"]) change(verb, "signed in", "all", `userCode: "x"`, { ...consent, outcome: "NOT_FOUND" });
  read("authCheck", "signed in", "", "checks: []", "allowed", { rest: row("POST", "/api/v2/authcheck", { checks: {} }) });
  read("workspaceProxies", "signed in", "workspace_proxy:read", "", "id version");
  read("workspaceProxy", "signed in", "workspace_proxy:read", `workspaceProxy: "primary"`, "version");
  read("regions", "signed in", "workspace_proxy:read", "", "id");
  change("createWorkspaceProxy", "workspace_proxy:create", "workspace_proxy:create/workspace_proxy:create workspace_proxy:read", () => `name: "${name()}"`, onKeys);
  change("updateWorkspaceProxy", "workspace_proxy:update", "workspace_proxy:update/workspace_proxy:read workspace_proxy:update", `workspaceProxy: "primary", displayName: "x"`);
  change("updateWorkspaceProxy with a new token", "workspace_proxy:update", "workspace_proxy:update/workspace_proxy:read workspace_proxy:update", `workspaceProxy: "primary", regenerateToken: true`, { ...onKeys, byArguments: true, outcome: "BAD_USER_INPUT" });
  change("deleteWorkspaceProxy", "workspace_proxy:delete", "workspace_proxy:delete", `workspaceProxy: "primary"`, { outcome: "BAD_USER_INPUT" });

  const onApp = { on: ["other"] as Where[], seen: ["signed in"] };
  const notByTokens = { ...onApp, kinds: ["session", "token"] };
  read("oauth2App", "signed in", "oauth2_app:read", ({ app }) => `id: "${app}"`, "grantTypes", onApp);
  read("oauth2App with its secrets", "oauth2_app_secret:read", "oauth2_app:read", ({ app }) => `id: "${app}"`, "secrets { id }", onApp);
  read("oauth2Apps", "signed in", "oauth2_app:read", "first: 1", "nodes { grantTypes }");
  read("oauth2Apps of a user", "oauth2_grant:read", "oauth2_app:read oauth2_grant:read", ({ user }) => `user: "${user}"`, "nodes { grantTypes }", { on: everywhere, checkedFirst: ["oauth2_app:read"] });
  change("createOAuth2App", "oauth2_app:create", "oauth2_app:create", `name: "x", callbackUrl: "https://app.example.com/"`, { kinds: ["session", "token"] });
  change("updateOAuth2App", "oauth2_app:update", "oauth2_app:update/oauth2_app:read oauth2_app:update", ({ app }) => `id: "${app}", name: "x", callbackUrl: "https://app.example.com/"`, notByTokens);
  change("deleteOAuth2App", "oauth2_app:delete", "oauth2_app:delete", ({ app }) => `id: "${app}"`, onApp);
  change("createOAuth2AppSecret", "oauth2_app_secret:create", "oauth2_app:create", ({ app }) => `app: "${app}"`, notByTokens);
  change("deleteOAuth2AppSecret", "oauth2_app_secret:delete", "oauth2_app:delete", ({ app, appSecret }) => `app: "${app}", id: "${appSecret}"`, onApp);
  read("oauth2Grants", "signed in", "oauth2_grant:read", "first: 1", "nodes { ip }");
  read("oauth2Grants of a user", "oauth2_grant:read", "oauth2_grant:read", ({ user }) => `user: "${user}"`, "nodes { ip }", { on: everywhere, seen: ["user:read"] });
  change("revokeOAuth2Grant", "oauth2_grant:delete", "oauth2_grant:delete", ({ grant }) => `id: "${grant}"`, { on: everywhere, seen: ["oauth2_grant:read"], kinds: ["session", "token"] });
  change("revokeOAuth2AppGrants", "signed in", "oauth2_grant:delete", ({ app }) => `clientId: "${app}"`, { kinds: ["session", "token"] });
  read("oauth2Settings", "deployment_config:read", "deployment_config:read", "", "dynamicRegistration");
  change("updateOAuth2Settings", "deployment_config:update", "deployment_config:update", "");
  read("mcpServer", "deployment_config:read", "deployment_config:read", "", "enabled");
  read("mcpPrograms", "deployment_config:read", "deployment_config:read", "", "id userCount");
  change("updateMcpSettings", "deployment_config:update", "deployment_config:update", "");

  const keys = { kinds: ["session", "token"] };
  read("scimKeys", "scim_key:read", "scim_key:read", "", "nodes { id source }");
  read("scimRequests", "scim_key:read", "scim_key:read", `key: "unknown"`, "nodes { id }", { outcome: "NOT_FOUND" });
  change("createScimKey", "scim_key:create", "scim_key:create", () => `name: "${name()}", source: "not valid"`, { ...keys, outcome: "BAD_USER_INPUT" });
  change("updateScimKey", "scim_key:create", "scim_key:create", `id: "unknown"`, { ...keys, outcome: "NOT_FOUND" });
  change("revokeScimKey", "scim_key:delete", "scim_key:delete", `id: "unknown"`, { ...keys, outcome: "NOT_FOUND" });
  read("identityProviders", "sign_in_provider:read", "all", "", "name issuer");
  read("identityProvider", "sign_in_provider:read", "all", `provider: "unknown"`, "name", { outcome: "NOT_FOUND" });
  change("createIdentityProvider", "sign_in_provider:create", "all", () => `name: "${name()}", kind: OIDC, clientId: "x"`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("updateIdentityProvider", "sign_in_provider:update", "all", `provider: "unknown"`, { ...onSession, outcome: "NOT_FOUND" });
  change("deleteIdentityProvider", "sign_in_provider:delete", "all", `provider: "unknown"`, { ...onSession, outcome: "NOT_FOUND" });
  change("orderIdentityProviders", "sign_in_provider:update", "all", `providers: ["unknown"]`, { ...onSession, outcome: "BAD_USER_INPUT" });
  change("testIdentityProvider", "sign_in_provider:update", "all", `provider: "unknown"`, { ...onSession, outcome: "NOT_FOUND" });
  change("tryClaimMappings", "sign_in_provider:update", "all", `provider: "unknown"`, { ...onSession, outcome: "NOT_FOUND" });
  change("beginIdentityLink", "signed in", "user:update_personal", `provider: "unknown"`, { ...onSession, outcome: "NOT_FOUND" });
  const scim = { kinds: ["session", "token", "scim_key"] };
  for (const list of ["scimUsers", "scimGroups", "scimResources"]) read(list, "user:create", "all", "count: 1", "totalResults", scim);
  for (const one of ["scimUser", "scimGroup"]) read(one, "user:create", "all", `id: "${newId()}"`, "id", { ...scim, outcome: "NOT_FOUND" });
  for (const create of ["createScimUser", "createScimGroup"]) change(create, "user:create", "all", "document: {}", { ...scim, outcome: "BAD_USER_INPUT" });
  for (const type of ["User", "Group"]) {
    const document = type === "User" ? `{ userName: "a@b.example" }` : `{ displayName: "x" }`;
    change(`replaceScim${type}`, "user:create", "all", () => `id: "${newId()}", document: ${document}`, { ...scim, outcome: "NOT_FOUND" });
    change(`patchScim${type}`, "user:create", "all", () => `id: "${newId()}", document: { Operations: [] }`, { ...scim, outcome: "NOT_FOUND" });
    change(`deleteScim${type}`, "user:create", "all", () => `id: "${newId()}"`, { ...scim, outcome: "NOT_FOUND" });
  }
  change("runScimBulk", "user:create", "all", "document: { Operations: [] }", scim);
  read("scimServiceProviderConfig", "signed in", "", "", "", open);
  read("scimSchemas", "signed in", "", "", "", open);
  read("scimSchema", "signed in", "", `urn: "x"`, "", { ...open, outcome: "NOT_FOUND" });
  read("scimResourceTypes", "signed in", "", "", "", open);
  read("scimResourceType", "signed in", "", `name: "x"`, "", { ...open, outcome: "NOT_FOUND" });

  const proxy = { kinds: ["proxy"], outcome: "NOT_FOUND" };
  change("registerWorkspaceProxy", "signed in", "", () => `accessUrl: "x", replicaId: "${newId()}"`, { ...proxy, outcome: "BAD_USER_INPUT" });
  change("heartbeatWorkspaceProxy", "signed in", "", () => `replicaId: "${newId()}"`, proxy);
  change("deregisterWorkspaceProxy", "signed in", "", () => `replicaId: "${newId()}"`, proxy);
  read("applicationTarget", "signed in", "", `owner: "x", workspace: "x", agent: "x", slug: "x"`, "allowed", proxy);
  change("recordConnections", "signed in", "", "events: []", { kinds: ["agent", "proxy"] });

  read("provisionerKeys", "provisioner_key:read", "provisioner_key:read", ({ organization }) => `organization: "${organization}"`, "id tags", inOrganization);
  read("provisionerKeyDaemons", "provisioner_key:read", "provisioner_daemon:read provisioner_key:read", ({ organization }) => `organization: "${organization}"`, "key { tags } daemons { status }", inOrganization);
  change("createProvisionerKey", "provisioner_key:create", "provisioner_key:create", ({ organization }) => `organization: "${organization}"`, inOrganization);
  change("rotateProvisionerKey", "provisioner_key:create", "provisioner_key:create", ({ organization }) => `organization: "${organization}", name: "unknown"`, { ...inOrganization, outcome: "NOT_FOUND" });
  change("endProvisionerKeyFormerSecret", "provisioner_key:delete", "provisioner_key:delete", ({ organization }) => `organization: "${organization}", name: "unknown"`, { ...inOrganization, outcome: "NOT_FOUND" });
  change("deleteProvisionerKey", "provisioner_key:delete", "provisioner_key:delete", ({ organization }) => `organization: "${organization}", name: "unknown"`, { ...inOrganization, outcome: "NOT_FOUND" });
  read("provisionerDaemons", "provisioner_daemon:read", "provisioner_daemon:read", ({ organization }) => `organization: "${organization}"`, "id status", inOrganization);
  change("deleteProvisionerDaemon", "signed in", "provisioner_key:delete", () => `id: "${newId()}"`, atUnknown);
  read("provisionerJob", "signed in", "provisioner_job:read", `id: "${newId()}"`, "status", atUnknown);
  read("provisionerJobs", "organization:read", "provisioner_job:read", ({ organization }) => `organization: "${organization}"`, "nodes { status }", inOrganization);
  change("cancelProvisionerJob", "signed in", "provisioner_job:update", () => `job: "${newId()}"`, atUnknown);
  read("provisionerJobLogAppended", "signed in", "provisioner_job:read", `jobId: "${newId()}"`, "output", { outcome: "BAD_USER_INPUT" });
  const daemon = { kinds: ["provisioner"] };
  const leased = () => `jobId: "${newId()}", lease: "x"`;
  read("provisionerWorkReceived", "signed in", "", "slots: 1", "__typename", daemon);
  for (const verb of ["acceptProvisionerJob", "updateProvisionerJob", "completeProvisionerJob"]) change(verb, "signed in", "", leased, daemon);
  change("failProvisionerJob", "signed in", "", () => `${leased()}, error: "x"`, daemon);
  change("reportProvisionerResources", "signed in", "", () => `${leased()}, resources: []`, daemon);

  read("authScopes", "signed in", "", "", "external", open);
  read("serverInfo", "signed in", "", "", "version", open);
  read("oauth2ServerMetadata", "signed in", "", "", "issuer", open);
  read("oauth2ProtectedResourceMetadata", "signed in", "", "", "resource", open);
  for (const [resource, path] of [["REST", "/api/v2"], ["GRAPHQL", "/graphql"], ["MCP", "/mcp"]]) read(`oauth2ProtectedResourceMetadata of ${path}`, "signed in", "", `resource: ${resource}`, "resource", open);
  const client = newId();
  const unregistered = { ...open, outcome: "UNAUTHENTICATED" };
  change("registerOAuth2Client", "signed in", "", "redirectUris: []", { ...open, outcome: "BAD_USER_INPUT" });
  read("oauth2ClientConfiguration", "signed in", "", `clientId: "${client}"`, "scope", unregistered);
  change("updateOAuth2Client", "signed in", "", () => `clientId: "${client}"`, unregistered);
  change("deleteOAuth2Client", "signed in", "", () => `clientId: "${client}"`, unregistered);
  change("login", "signed in", "", `email: "", password: ""`, { ...open, outcome: "BAD_USER_INPUT" });
  change("requestOneTimePasscode", "signed in", "", `email: "x"`, { ...open, outcome: "BAD_USER_INPUT" });
  change("changePasswordWithPasscode", "signed in", "", `email: "x", oneTimePasscode: "", password: ""`, { ...open, outcome: "BAD_USER_INPUT" });
  change("issueOAuth2Token", "signed in", "", `grantType: "x", clientId: "x"`, { ...open, outcome: "BAD_USER_INPUT" });
  change("revokeOAuth2Token", "signed in", "", `clientId: "x", token: ""`, { ...open, outcome: "BAD_USER_INPUT" });
  read("oauth2Introspection", "signed in", "", `clientId: "x", token: ""`, "active", { ...open, outcome: "UNAUTHENTICATED" });
  change("startOAuth2Device", "signed in", "", `clientId: ""`, { ...open, outcome: "BAD_USER_INPUT" });
}

/** Returns the arguments of an operation that uses these objects. */
export function argumentsOf(title: string, place: Partial<Place>): string {
  const given = operations.get(title)!.given!;
  return typeof given === "string" ? given : given(place as Place);
}

/** Returns the document of an operation that uses these objects, or the request of its row. */
export const documentOf = (title: string, place: Partial<Place>, selection?: string): string =>
  operations.get(title)!.document!(place as Place, selection);
export const requestOf = (title: string, place: Partial<Place>): Request =>
  operations.get(title)!.rest!(place as Place);
