// The recommended rules of graphql-eslint for schemas, on the published schema.
import { configs, parser, rules } from "@graphql-eslint/eslint-plugin";
import { expect } from "chai";
import { ESLint, type Linter } from "eslint";
import { root } from "./project.js";

/** Types without a field `id`, with the reason. */
const withoutId: Record<string, string[]> = {
  "They are positions in a list.": ["PageInfo"],
  "They are parts of the object that they are read with.": [
    "Banner",
    "ConnectionSshInfo",
    "ConnectionWebInfo",
    "DailyCounts",
    "EncryptedRows",
    "ExternalAuthAccount",
    "ExternalAuthInstallation",
    "FirstStep",
    "ImportedInvitationFault",
    "InboxAction",
    "NumberedAuditEvent",
    "NotificationAttempt",
    "OAuth2AppEndpoints",
    "OAuth2RedirectTarget",
    "ScimGroupAttributes",
    "ScimUserAttributes",
    "SignInProvider",
    "SignInReport",
    "SupportLink",
    "UsagePeriod",
    "NotificationTransportSecret",
    "SmtpTransport",
    "WebhookTransport",
    "AgentFile",
    "AgentManifestApp",
    "AgentSecretError",
    "AgentVariable",
    "AssignedValue",
    "MatchedProvisioners",
    "ProvisionerAssignment",
    "PrebuildSchedule",
    "ProvisionerKeyFormerSecret",
    "ProvisionerJobInput",
    "ProvisionerJobMetadata",
    "InterruptPart",
    "PermissionPart",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "TaskConversation",
    "TaskConversationChange",
    "TaskLogs",
    "TaskState",
    "TemplateParameter",
    "TemplateParameterOption",
    "TemplateParameterValidation",
    "TemplateParameterValue",
    "WorkspaceAgentHealth",
    "WorkspaceAgentLatency",
    "WorkspaceAgentUsage",
    "WorkspaceAppHealthcheck",
    "WorkspaceHealth",
    "WorkspaceParameter",
    "WorkspaceProxyReport",
    "WorkspaceProxyStatus",
    "WorkspaceResourceMetadata",
  ],
  "There is one of them for each caller, user, group, or deployment, named by the arguments.": [
    "AgentManifest",
    "AiSpend",
    "Appearance",
    "AuthScopes",
    "EncryptionStatus",
    "Entitlements",
    "ExternalAuthOverview",
    "FirstSteps",
    "GroupAiBudget",
    "HealthCheck",
    "HeldWorkspaces",
    "NotificationMethods",
    "NotificationSettings",
    "NotificationTransports",
    "OAuth2ProtectedResourceMetadata",
    "OAuth2ServerMetadata",
    "OAuth2Settings",
    "PrebuildsSettings",
    "QuietHours",
    "WorkspaceCost",
    "ServerInfo",
    "UserSecretUsage",
    "TemplateAcl",
    "TemplateAclAvailable",
    "WorkspaceAcl",
    "WorkspaceQuota",
    "UserIdentity",
  ],
  "They relate one object to another, which has the ID.": [
    "InvitedMembership",
    "ApplicationTarget",
    "AssignableRole",
    "ExternalAuth",
    "ExternalAuthLink",
    "GroupMember",
    "NotificationPreference",
    "ProvisionerKeyDaemons",
    "TemplateGroupEntry",
    "TemplateUserEntry",
    "UserRole",
    "WorkspaceGroupEntry",
    "WorkspaceUserEntry",
  ],
  "Their key has the name it has elsewhere: in licenses, in messages, in the request.": [
    "AppConnectKey",
    "Feature",
    "OAuth2ClientConfiguration",
    "OAuth2DeviceRequest",
    "OAuth2RequestedScope",
    "OAuth2RequestingApp",
    "PermissionCheckResult",
  ],
  "They are events or results, which nothing refers to.": [
    "AgentEvent",
    "ExternalAgentCredentials",
    "ExternalAuthAccessToken",
    "ExternalAuthDevice",
    "ExternalAuthLinkChange",
    "ImportedInvitation",
    "InboxNotificationAdded",
    "InvitationOffer",
    "InboxUnreadCountChanged",
    "InboxWatchRestarted",
    "InvalidatedPreset",
    "LeftByApiKey",
    "NotificationUnsubscription",
    "OAuth2AuthorizationRequest",
    "OAuth2Introspection",
    "PasswordValidation",
    "ProvisionerDrainRequested",
    "ProvisionerJobAssigned",
    "ProvisionerJobCancelRequested",
    "ReportedAgent",
    "ScimListResult",
  ],
};

const strictIds = {
  // IDs are UUIDs. API keys and encryption keys have text, licenses have numbers.
  acceptedIdTypes: ["UUID", "String", "Int"],
  exceptions: { types: Object.values(withoutId).flat(), suffixes: ["Payload", "Connection", "Edge"] },
};

/** Findings that are right all the same, with the reason. */
const exceptions: Record<string, string> = {
  'Field "username" starts with the name of the parent type "User"': "`username` is a word of its own, not a prefix.",
};

const config = {
  files: ["**/*.graphql"],
  plugins: { "@graphql-eslint": { rules } },
  languageOptions: { parser, parserOptions: { graphQLConfig: { schema: `${root}schema.graphql` } } },
  rules: {
    ...configs["flat/schema-recommended"].rules,
    "@graphql-eslint/strict-id-in-types": ["error", strictIds],
  },
} as Linter.Config;

describe("graphql-eslint", () => {
  it("finds nothing in the schema by its recommended rules, except for what has a reason", async () => {
    const eslint = new ESLint({ cwd: root, overrideConfigFile: true, overrideConfig: config });
    const [result] = await eslint.lintFiles(["schema.graphql"]);
    const found = result!.messages.map(({ message }) => message);
    expect(found).to.have.members(Object.keys(exceptions));
  });
});
