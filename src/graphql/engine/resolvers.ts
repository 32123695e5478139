// All resolvers: the schema has the fields of those that are exported here.
export { WorkspaceAgentsResolver } from "../agents/agents.js";
export { WorkspaceAppsResolver, WorkspaceAppStatusesResolver } from "../agents/agent-apps.js";
export { ExternalAgentsResolver } from "../agents/external-agents.js";
export { AgentLogsResolver } from "../agents/agent-logs.js";
export { AgentManifestAppsResolver, AgentManifestResolver, AgentManifestScriptsResolver } from "../agents/manifest.js";
export { AgentReportsResolver } from "../agents/agent-reports.js";
export { AppearanceResolver } from "../appearance.js";
export { ApplicationsResolver } from "../applications.js";
export { AuditResolver, DailyCountsResolver } from "../audit/audit-log.js";
export { AuditStreamResolver } from "../audit/audit-stream.js";
export { AuthorizationResolver } from "../authorization.js";
export { ConnectionLogsResolver, ConnectionWebInfoResolver } from "../connection-logs.js";
export { DeploymentResolver } from "../deployment.js";
export { EncryptionResolver } from "../encryption.js";
export { EntitlementsResolver } from "../entitlements.js";
export { ExternalAuthChangesResolver } from "../external-auth/external-auth-changes.js";
export {
  ExternalAuthLinksResolver,
  ExternalAuthOverviewResolver,
  ExternalAuthProvidersResolver,
  ExternalAuthResolver,
} from "../external-auth/external-auth.js";
export { FirstStepsResolver } from "../first-steps.js";
export { GroupBudgetsResolver } from "../groups/budgets.js";
export { OrganizationSpendingResolver } from "../groups/spending.js";
export { GroupsResolver } from "../groups/groups.js";
export { JoinedGroupsResolver } from "../groups/joined-groups.js";
export { HealthResolver } from "../health.js";
export { AcceptingInvitationsResolver } from "../invitations/accepting.js";
export { InvitationsResolver } from "../invitations/invitations.js";
export { InvitingResolver } from "../invitations/inviting.js";
export { LicensesResolver } from "../licenses.js";
export { McpResolver } from "../mcp.js";
export { LoginResolver } from "../sign-in/login.js";
export { IdentitiesResolver } from "../sign-in/identities.js";
export { IdentityProvidersResolver } from "../sign-in/sign-in-providers.js";
export { LoginConversionsResolver } from "../sign-in/conversions.js";
export { SecondFactorRulesResolver } from "../sign-in/second-factor-rules.js";
export { SecondFactorsResolver } from "../sign-in/second-factors.js";
export { PasskeysResolver } from "../sign-in/passkeys.js";
export { RememberedDevicesResolver } from "../sign-in/remembered-devices.js";
export { ProofsResolver } from "../sign-in/proofs.js";
export { OAuth2AppChangesResolver } from "../oauth2/app-changes.js";
export { OAuth2AppsResolver } from "../oauth2/apps.js";
export { OAuth2AppSecretsResolver, SecretsOfOAuth2AppsResolver } from "../oauth2/client-secrets.js";
export { OAuth2GrantsResolver } from "../oauth2/grants.js";
export { OAuth2SettingsResolver } from "../oauth2/oauth2-settings.js";
export { OAuth2TokensResolver } from "../oauth2/tokens.js";
export { NotificationMessagesResolver } from "../notifications/messages.js";
export { NotificationPreferencesResolver } from "../notifications/preferences.js";
export { ResourceAlertsResolver } from "../notifications/resource-alerts.js";
export { NotificationTemplatesResolver } from "../notifications/notification-templates.js";
export { NotificationTransportsResolver } from "../notifications/notification-transports.js";
export { UnsubscribingResolver } from "../notifications/unsubscribing.js";
export { NotificationsResolver } from "../notifications/notifications.js";
export { OneTimePasscodesResolver } from "../sign-in/passcodes.js";
export { OAuth2AuthorizationResolver } from "../oauth2/authorization-requests.js";
export { OAuth2DeviceConsentResolver } from "../oauth2/device-consent.js";
export { OAuth2MetadataResolver } from "../oauth2/metadata.js";
export { OAuth2RegistrationResolver } from "../oauth2/client-registration.js";
export { JoinedOrganizationsResolver } from "../organizations/joined-organizations.js";
export { OrganizationMembersResolver } from "../organizations/organization-members.js";
export { OrganizationsResolver } from "../organizations/organizations.js";
export { PasswordsResolver } from "../sign-in/passwords.js";
export { PrebuildsResolver } from "../prebuilds.js";
export { ProvisionerJobsResolver } from "../provisioners/provisioner-jobs.js";
export { ProvisionerDaemonsResolver, ProvisionerKeysResolver } from "../provisioners/provisioner-keys.js";
export { ProvisionerJobLogsResolver } from "../provisioners/job-logs.js";
export { ProvisionerWorkResolver } from "../provisioners/work.js";
export { QuickSearchResolver } from "../quick-search.js";
export { QuietHoursResolver } from "../quiet-hours.js";
export { ScimChangesResolver } from "../scim/scim-changes.js";
export { ScimDiscoveryResolver } from "../scim/discovery.js";
export { ScimKeysResolver } from "../scim/scim-keys.js";
export { ScimGroupLinksResolver, ScimUserLinksResolver } from "../scim/scim-links.js";
export { ScimResourcesResolver } from "../scim/resources.js";
export {
  ConversationMessageFieldsResolver,
  TextPartFieldsResolver,
  TaskConversationFieldsResolver,
  TaskConversationResolver,
} from "../tasks/conversation.js";
export { TaskChangesResolver } from "../tasks/task-changes.js";
export { TaskInputsResolver, TaskLogEntriesResolver, TasksResolver } from "../tasks/tasks.js";
export { TemplateAclResolver } from "../templates/acl.js";
export { TemplateChangesResolver } from "../templates/template-changes.js";
export { ParametersOfVersionsResolver, TemplateParametersResolver } from "../templates/template-parameters.js";
export { TemplateVersionChangesResolver } from "../templates/version-changes.js";
export { TemplateUseResolver } from "../templates/most-used.js";
export { TemplatesResolver } from "../templates/templates.js";
export {
  TemplatePresetsResolver,
  TemplateVersionsResolver,
  VersionsOfTemplatesResolver,
} from "../templates/template-versions.js";
export { TokensResolver } from "../tokens.js";
export { UserSecretsResolver } from "../user-secrets.js";
export { PublicUsersResolver, UsersResolver } from "../users/users.js";
export {
  BuildsOfWorkspacesResolver,
  WorkspaceBuildsResolver,
  WorkspaceResourcesResolver,
} from "../workspaces/builds.js";
export { WorkspaceAclResolver } from "../workspaces/acl.js";
export { WorkspaceCostsResolver } from "../workspaces/costs.js";
export { SuspendedOwnersResolver } from "../workspaces/suspended-owners.js";
export { WorkspaceTransfersResolver } from "../workspaces/transfers.js";
export { WorkspaceChangesResolver } from "../workspaces/workspace-changes.js";
export {
  WorkspacesOfOrganizationsResolver,
  WorkspacesOfTemplatesResolver,
  WorkspacesOfUsersResolver,
} from "../workspaces/joined-workspaces.js";
export { WorkspaceHealthResolver, WorkspacesResolver } from "../workspaces/workspaces.js";
export { WorkspaceProxiesResolver } from "../workspace-proxies/workspace-proxies.js";
export { ProxyReportsResolver } from "../workspace-proxies/proxy-reports.js";
export { AccountsResolver } from "../users/accounts.js";
export { EventDeliveriesResolver, EventEndpointsResolver } from "../event-endpoints.js";
