import { WorkspaceAgentsResolver } from "../agents/agents.js";
import { WorkspaceAppsResolver, WorkspaceAppStatusesResolver } from "../agents/agent-apps.js";
import { ExternalAgentsResolver } from "../agents/external-agents.js";
import { AgentLogsResolver } from "../agents/agent-logs.js";
import { AgentManifestAppsResolver, AgentManifestResolver, AgentManifestScriptsResolver } from "../agents/manifest.js";
import { AgentReportsResolver } from "../agents/agent-reports.js";
import { AppearanceResolver } from "../appearance.js";
import { ApplicationsResolver } from "../applications.js";
import { AuditResolver, DailyCountsResolver } from "../audit.js";
import { AuthorizationResolver } from "../authorization.js";
import { ConnectionLogsResolver, ConnectionWebInfoResolver } from "../connection-logs.js";
import { DeploymentResolver } from "../deployment.js";
import { EncryptionResolver } from "../encryption.js";
import { EntitlementsResolver } from "../entitlements.js";
import { ExternalAuthChangesResolver } from "../external-auth/external-auth-changes.js";
import {
  ExternalAuthLinksResolver,
  ExternalAuthOverviewResolver,
  ExternalAuthProvidersResolver,
  ExternalAuthResolver,
} from "../external-auth/external-auth.js";
import { FirstStepsResolver } from "../first-steps.js";
import { GroupBudgetsResolver } from "../groups/budgets.js";
import { GroupsResolver } from "../groups/groups.js";
import { JoinedGroupsResolver } from "../groups/joined-groups.js";
import { HealthResolver } from "../health.js";
import { AcceptingInvitationsResolver } from "../invitations/accepting.js";
import { InvitationsResolver } from "../invitations/invitations.js";
import { InvitingResolver } from "../invitations/inviting.js";
import { LicensesResolver } from "../licenses.js";
import { LoginResolver } from "../sign-in/login.js";
import { IdentitiesResolver } from "../sign-in/identities.js";
import { LoginConversionsResolver } from "../sign-in/conversions.js";
import { OAuth2AppChangesResolver } from "../oauth2/app-changes.js";
import { OAuth2AppsResolver } from "../oauth2/apps.js";
import { OAuth2AppSecretsResolver, SecretsOfOAuth2AppsResolver } from "../oauth2/client-secrets.js";
import { OAuth2GrantsResolver } from "../oauth2/grants.js";
import { OAuth2SettingsResolver } from "../oauth2/oauth2-settings.js";
import { OAuth2TokensResolver } from "../oauth2/tokens.js";
import { NotificationMessagesResolver } from "../notifications/messages.js";
import { NotificationPreferencesResolver } from "../notifications/preferences.js";
import { ResourceAlertsResolver } from "../notifications/resource-alerts.js";
import { NotificationTemplatesResolver } from "../notifications/notification-templates.js";
import { NotificationTransportsResolver } from "../notifications/notification-transports.js";
import { UnsubscribingResolver } from "../notifications/unsubscribing.js";
import { NotificationsResolver } from "../notifications/notifications.js";
import { OneTimePasscodesResolver } from "../sign-in/passcodes.js";
import { OAuth2AuthorizationResolver } from "../oauth2/authorization-requests.js";
import { OAuth2DeviceConsentResolver } from "../oauth2/device-consent.js";
import { OAuth2MetadataResolver } from "../oauth2/metadata.js";
import { OAuth2RegistrationResolver } from "../oauth2/client-registration.js";
import { JoinedOrganizationsResolver } from "../organizations/joined-organizations.js";
import { OrganizationMembersResolver } from "../organizations/organization-members.js";
import { OrganizationsResolver } from "../organizations/organizations.js";
import { PasswordsResolver } from "../sign-in/passwords.js";
import { PrebuildsResolver } from "../prebuilds.js";
import { ProvisionerJobsResolver } from "../provisioners/provisioner-jobs.js";
import { ProvisionerDaemonsResolver, ProvisionerKeysResolver } from "../provisioners/provisioner-keys.js";
import { ProvisionerJobLogsResolver } from "../provisioners/job-logs.js";
import { ProvisionerWorkResolver } from "../provisioners/work.js";
import { QuietHoursResolver } from "../quiet-hours.js";
import { ScimChangesResolver } from "../scim/scim-changes.js";
import { ScimDiscoveryResolver } from "../scim/discovery.js";
import { ScimKeysResolver } from "../scim/scim-keys.js";
import { ScimGroupLinksResolver, ScimUserLinksResolver } from "../scim/scim-links.js";
import { ScimResourcesResolver } from "../scim/resources.js";
import {
  ConversationMessageFieldsResolver,
  TaskConversationFieldsResolver,
  TaskConversationResolver,
} from "../tasks/conversation.js";
import { TaskChangesResolver } from "../tasks/task-changes.js";
import { TaskInputsResolver, TaskLogEntriesResolver, TasksResolver } from "../tasks/tasks.js";
import { TemplateAclResolver } from "../templates/acl.js";
import { TemplateChangesResolver } from "../templates/template-changes.js";
import { ParametersOfVersionsResolver, TemplateParametersResolver } from "../templates/template-parameters.js";
import { TemplateVersionChangesResolver } from "../templates/version-changes.js";
import { TemplatesResolver } from "../templates/templates.js";
import {
  TemplatePresetsResolver,
  TemplateVersionsResolver,
  VersionsOfTemplatesResolver,
} from "../templates/template-versions.js";
import { TokensResolver } from "../tokens.js";
import { UserSecretsResolver } from "../user-secrets.js";
import { PublicUsersResolver, UsersResolver } from "../users/users.js";
import {
  BuildsOfWorkspacesResolver,
  WorkspaceBuildsResolver,
  WorkspaceResourcesResolver,
} from "../workspaces/builds.js";
import { WorkspaceAclResolver } from "../workspaces/acl.js";
import { WorkspaceCostsResolver } from "../workspaces/costs.js";
import { SuspendedOwnersResolver } from "../workspaces/suspended-owners.js";
import { WorkspaceTransfersResolver } from "../workspaces/transfers.js";
import { WorkspaceChangesResolver } from "../workspaces/workspace-changes.js";
import {
  WorkspacesOfOrganizationsResolver,
  WorkspacesOfTemplatesResolver,
  WorkspacesOfUsersResolver,
} from "../workspaces/joined-workspaces.js";
import { WorkspaceHealthResolver, WorkspacesResolver } from "../workspaces/workspaces.js";
import { WorkspaceProxiesResolver } from "../workspace-proxies/workspace-proxies.js";
import { ProxyReportsResolver } from "../workspace-proxies/proxy-reports.js";
import { AccountsResolver } from "../users/accounts.js";

/** Every resolver of the schema, by area. */
export const resolvers: Function[] = [
  AcceptingInvitationsResolver,
  AccountsResolver,
  AgentLogsResolver,
  AgentManifestAppsResolver,
  AgentManifestResolver,
  AgentManifestScriptsResolver,
  AgentReportsResolver,
  AppearanceResolver,
  ApplicationsResolver,
  AuditResolver,
  DailyCountsResolver,
  AuthorizationResolver,
  BuildsOfWorkspacesResolver,
  ConnectionLogsResolver,
  ConnectionWebInfoResolver,
  DeploymentResolver,
  EncryptionResolver,
  EntitlementsResolver,
  ExternalAgentsResolver,
  ExternalAuthChangesResolver,
  ExternalAuthLinksResolver,
  ExternalAuthOverviewResolver,
  ExternalAuthProvidersResolver,
  ExternalAuthResolver,
  FirstStepsResolver,
  GroupBudgetsResolver,
  GroupsResolver,
  JoinedGroupsResolver,
  JoinedOrganizationsResolver,
  HealthResolver,
  InvitationsResolver,
  InvitingResolver,
  LicensesResolver,
  IdentitiesResolver,
  LoginConversionsResolver,
  LoginResolver,
  NotificationMessagesResolver,
  NotificationPreferencesResolver,
  NotificationTemplatesResolver,
  NotificationTransportsResolver,
  NotificationsResolver,
  OAuth2AppChangesResolver,
  OAuth2AppSecretsResolver,
  OAuth2AppsResolver,
  OAuth2AuthorizationResolver,
  OAuth2DeviceConsentResolver,
  OAuth2GrantsResolver,
  OAuth2MetadataResolver,
  OAuth2RegistrationResolver,
  OAuth2SettingsResolver,
  OAuth2TokensResolver,
  OneTimePasscodesResolver,
  OrganizationMembersResolver,
  OrganizationsResolver,
  PasswordsResolver,
  PrebuildsResolver,
  ProvisionerDaemonsResolver,
  ProvisionerJobLogsResolver,
  ProvisionerJobsResolver,
  ProvisionerKeysResolver,
  ProvisionerWorkResolver,
  ProxyReportsResolver,
  PublicUsersResolver,
  QuietHoursResolver,
  ResourceAlertsResolver,
  ScimChangesResolver,
  ScimDiscoveryResolver,
  ScimGroupLinksResolver,
  ScimKeysResolver,
  ScimResourcesResolver,
  ScimUserLinksResolver,
  SecretsOfOAuth2AppsResolver,
  TaskChangesResolver,
  ConversationMessageFieldsResolver,
  TaskConversationFieldsResolver,
  TaskConversationResolver,
  TaskInputsResolver,
  TaskLogEntriesResolver,
  TasksResolver,
  TemplateAclResolver,
  TemplateChangesResolver,
  TemplateParametersResolver,
  ParametersOfVersionsResolver,
  TemplatePresetsResolver,
  TemplateVersionChangesResolver,
  TemplateVersionsResolver,
  TemplatesResolver,
  TokensResolver,
  UnsubscribingResolver,
  UserSecretsResolver,
  UsersResolver,
  VersionsOfTemplatesResolver,
  WorkspaceAclResolver,
  WorkspaceAgentsResolver,
  WorkspaceAppStatusesResolver,
  WorkspaceAppsResolver,
  WorkspaceBuildsResolver,
  SuspendedOwnersResolver,
  WorkspaceTransfersResolver,
  WorkspaceChangesResolver,
  WorkspaceCostsResolver,
  WorkspaceProxiesResolver,
  WorkspaceResourcesResolver,
  WorkspacesOfOrganizationsResolver,
  WorkspacesOfTemplatesResolver,
  WorkspacesOfUsersResolver,
  WorkspaceHealthResolver,
  WorkspacesResolver,
];
