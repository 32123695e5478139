import { AppearanceResolver } from "../appearance.js";
import { ApplicationsResolver } from "../applications.js";
import { AuditResolver } from "../audit.js";
import { AuthorizationResolver } from "../authorization.js";
import { ConnectionLogsResolver, ConnectionWebInfoResolver } from "../connection-logs.js";
import { DeploymentResolver } from "../deployment.js";
import { EncryptionResolver } from "../encryption.js";
import { EntitlementsResolver } from "../entitlements.js";
import { ExternalAuthChangesResolver } from "../external-auth/changes.js";
import {
  ExternalAuthLinksResolver,
  ExternalAuthOverviewResolver,
  ExternalAuthProvidersResolver,
  ExternalAuthResolver,
} from "../external-auth/external-auth.js";
import { GroupBudgetsResolver } from "../groups/budgets.js";
import { GroupsResolver } from "../groups/groups.js";
import { JoinedGroupsResolver } from "../groups/joined.js";
import { LicensesResolver } from "../licenses.js";
import { LoginResolver } from "../sign-in/login.js";
import { LoginConversionsResolver } from "../sign-in/conversions.js";
import { OAuth2AppChangesResolver } from "../oauth2/app-changes.js";
import { OAuth2AppsResolver } from "../oauth2/apps.js";
import { OAuth2AppSecretsResolver, SecretsOfOAuth2AppsResolver } from "../oauth2/client-secrets.js";
import { OAuth2GrantsResolver } from "../oauth2/grants.js";
import { OAuth2SettingsResolver } from "../oauth2/settings.js";
import { OAuth2TokensResolver } from "../oauth2/tokens.js";
import { NotificationMessagesResolver } from "../notifications/messages.js";
import { NotificationPreferencesResolver } from "../notifications/preferences.js";
import { NotificationTemplatesResolver } from "../notifications/templates.js";
import { NotificationsResolver } from "../notifications/notifications.js";
import { OneTimePasscodesResolver } from "../sign-in/passcodes.js";
import { OAuth2AuthorizationResolver } from "../oauth2/authorization.js";
import { OAuth2DeviceConsentResolver } from "../oauth2/device-consent.js";
import { OAuth2MetadataResolver } from "../oauth2/metadata.js";
import { OAuth2RegistrationResolver } from "../oauth2/registration.js";
import { JoinedOrganizationsResolver } from "../organizations/joined.js";
import { OrganizationMembersResolver } from "../organizations/members.js";
import { OrganizationsResolver } from "../organizations/organizations.js";
import { PasswordsResolver } from "../sign-in/passwords.js";
import { PrebuildsResolver } from "../prebuilds.js";
import { QuietHoursResolver } from "../quiet-hours.js";
import { ScimChangesResolver } from "../scim/changes.js";
import { ScimDiscoveryResolver } from "../scim/discovery.js";
import { ScimKeysResolver } from "../scim/keys.js";
import { ScimGroupLinksResolver, ScimUserLinksResolver } from "../scim/links.js";
import { ScimResourcesResolver } from "../scim/resources.js";
import { TokensResolver } from "../tokens.js";
import { UserSecretsResolver } from "../user-secrets.js";
import { PublicUsersResolver, UsersResolver } from "../users/users.js";
import { WorkspaceProxiesResolver } from "../workspace-proxies/workspace-proxies.js";
import { ProxyReportsResolver } from "../workspace-proxies/reports.js";
import { AccountsResolver } from "../users/accounts.js";

/** Every resolver of the schema, by area. */
export const resolvers: Function[] = [
  AccountsResolver,
  AppearanceResolver,
  ApplicationsResolver,
  AuditResolver,
  AuthorizationResolver,
  ConnectionLogsResolver,
  ConnectionWebInfoResolver,
  DeploymentResolver,
  EncryptionResolver,
  EntitlementsResolver,
  ExternalAuthChangesResolver,
  ExternalAuthLinksResolver,
  ExternalAuthOverviewResolver,
  ExternalAuthProvidersResolver,
  ExternalAuthResolver,
  GroupBudgetsResolver,
  GroupsResolver,
  JoinedGroupsResolver,
  JoinedOrganizationsResolver,
  LicensesResolver,
  LoginConversionsResolver,
  LoginResolver,
  NotificationMessagesResolver,
  NotificationPreferencesResolver,
  NotificationsResolver,
  OAuth2AuthorizationResolver,
  OAuth2DeviceConsentResolver,
  OAuth2AppChangesResolver,
  OAuth2AppSecretsResolver,
  OAuth2AppsResolver,
  OAuth2GrantsResolver,
  OAuth2SettingsResolver,
  OAuth2TokensResolver,
  OAuth2MetadataResolver,
  OAuth2RegistrationResolver,
  NotificationTemplatesResolver,
  OneTimePasscodesResolver,
  OrganizationMembersResolver,
  OrganizationsResolver,
  PasswordsResolver,
  PrebuildsResolver,
  ProxyReportsResolver,
  PublicUsersResolver,
  QuietHoursResolver,
  SecretsOfOAuth2AppsResolver,
  ScimChangesResolver,
  ScimDiscoveryResolver,
  ScimGroupLinksResolver,
  ScimKeysResolver,
  ScimResourcesResolver,
  ScimUserLinksResolver,
  TokensResolver,
  UserSecretsResolver,
  UsersResolver,
  WorkspaceProxiesResolver,
];
