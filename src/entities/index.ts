// All tables: the ORM, the types of Kysely, and backups have those that are listed here.
import {
  WorkspaceAgentLogSchema,
  WorkspaceAgentSchema,
  WorkspaceAppSchema,
  WorkspaceAppStatusSchema,
  WorkspaceScriptSchema,
} from "./agents.js";
import { AppConnectKeySchema, SpentAppConnectSchema } from "./applications.js";
import { AuditEventSchema } from "./audit.js";
import { ConnectionLogSchema } from "./connection-logs.js";
import { DeploymentSchema } from "./deployment.js";
import { EncryptionKeySchema } from "./encryption.js";
import { ExternalAuthDeviceSchema, ExternalAuthLinkSchema, ExternalAuthStateSchema } from "./external-auth.js";
import { AiUsageSchema, GroupAiBudgetSchema, GroupMemberSchema, GroupSchema, MemberChangeSchema } from "./groups.js";
import { HealthCheckSchema, ServerReplicaSchema } from "./health.js";
import { InvitationSchema } from "./invitations.js";
import { LicenseSchema } from "./licenses.js";
import {
  IdempotencyKeySchema,
  InboxCursorSchema,
  InboxEpochSchema,
  InboxNotificationSchema,
  NotificationAttemptSchema,
  NotificationMessageSchema,
  NotificationPreferenceSchema,
  NotificationTemplateMethodSchema,
  NotificationTransportSchema,
} from "./notifications.js";
import {
  OAuth2ClientSchema,
  OAuth2ClientSecretSchema,
  OAuth2CodeSchema,
  OAuth2DeviceCodeSchema,
  OAuth2GrantSchema,
  OAuth2RefreshTokenSchema,
  OAuth2ResourceSchema,
} from "./oauth2.js";
import { OrganizationMemberSchema, OrganizationSchema } from "./organizations.js";
import {
  ProvisionerDaemonSchema,
  ProvisionerJobLogSchema,
  ProvisionerJobSchema,
  ProvisionerKeySchema,
} from "./provisioners.js";
import { QuietHoursSchema } from "./quiet-hours.js";
import { LoginAddressSchema, RateCounterSchema } from "./rate-limits.js";
import { ScimGroupLinkSchema, ScimKeySchema, ScimRequestSchema, ScimUserLinkSchema } from "./scim.js";
import { LoginConversionSchema, OneTimePasscodeSchema, SpentSignInSchema, UserLinkSchema } from "./sign-in.js";
import { SiteSettingSchema } from "./site-settings.js";
import {
  TaskActionSchema,
  TaskBuildSchema,
  TaskConversationMessageSchema,
  TaskConversationSchema,
  TaskLogSnapshotSchema,
  TaskMessageSchema,
  TaskSchema,
} from "./tasks.js";
import {
  TemplateAclEntrySchema,
  TemplateDocumentSchema,
  TemplatePresetSchema,
  TemplateSchema,
  TemplateVersionSchema,
} from "./templates.js";
import { ApiKeySchema, EndedKeySchema } from "./tokens.js";
import { UserSecretSchema } from "./user-secrets.js";
import { AccountNoticeSchema, UserCountSchema, UserSchema } from "./users.js";
import { WorkspaceProxyReplicaSchema, WorkspaceProxySchema } from "./workspace-proxies.js";
import {
  WorkspaceAclEntrySchema,
  WorkspaceBuildSchema,
  WorkspaceResourceSchema,
  WorkspaceTransferSchema,
  WorkspaceSchema,
} from "./workspaces.js";

/** All entities. */
export const entities = [
  AccountNoticeSchema,
  AiUsageSchema,
  ApiKeySchema,
  EndedKeySchema,
  AppConnectKeySchema,
  AuditEventSchema,
  ConnectionLogSchema,
  DeploymentSchema,
  EncryptionKeySchema,
  ExternalAuthDeviceSchema,
  ExternalAuthLinkSchema,
  ExternalAuthStateSchema,
  GroupSchema,
  GroupAiBudgetSchema,
  GroupMemberSchema,
  HealthCheckSchema,
  IdempotencyKeySchema,
  InboxCursorSchema,
  InboxEpochSchema,
  InboxNotificationSchema,
  InvitationSchema,
  LicenseSchema,
  LoginAddressSchema,
  MemberChangeSchema,
  LoginConversionSchema,
  NotificationAttemptSchema,
  NotificationMessageSchema,
  NotificationPreferenceSchema,
  NotificationTemplateMethodSchema,
  NotificationTransportSchema,
  OAuth2ClientSchema,
  OAuth2ClientSecretSchema,
  OAuth2CodeSchema,
  OAuth2DeviceCodeSchema,
  OAuth2GrantSchema,
  OAuth2RefreshTokenSchema,
  OAuth2ResourceSchema,
  OneTimePasscodeSchema,
  OrganizationSchema,
  OrganizationMemberSchema,
  ProvisionerDaemonSchema,
  ProvisionerJobSchema,
  ProvisionerJobLogSchema,
  ProvisionerKeySchema,
  QuietHoursSchema,
  RateCounterSchema,
  ScimGroupLinkSchema,
  ScimKeySchema,
  ScimRequestSchema,
  ScimUserLinkSchema,
  ServerReplicaSchema,
  SiteSettingSchema,
  SpentAppConnectSchema,
  SpentSignInSchema,
  TaskSchema,
  TaskActionSchema,
  TaskBuildSchema,
  TaskConversationSchema,
  TaskConversationMessageSchema,
  TaskLogSnapshotSchema,
  TaskMessageSchema,
  TemplateSchema,
  TemplateAclEntrySchema,
  TemplateDocumentSchema,
  TemplatePresetSchema,
  TemplateVersionSchema,
  UserSchema,
  UserCountSchema,
  UserLinkSchema,
  UserSecretSchema,
  WorkspaceSchema,
  WorkspaceAclEntrySchema,
  WorkspaceAgentSchema,
  WorkspaceAgentLogSchema,
  WorkspaceAppSchema,
  WorkspaceAppStatusSchema,
  WorkspaceBuildSchema,
  WorkspaceProxySchema,
  WorkspaceProxyReplicaSchema,
  WorkspaceResourceSchema,
  WorkspaceTransferSchema,
  WorkspaceScriptSchema,
] as const;
