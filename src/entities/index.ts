// All tables: the ORM, the types of Kysely, and backups have those that are exported here.
export {
  WorkspaceAgentLogSchema,
  WorkspaceAgentSchema,
  WorkspaceAppSchema,
  WorkspaceAppStatusSchema,
  WorkspaceScriptSchema,
} from "./agents.js";
export { AppConnectKeySchema, SpentAppConnectSchema } from "./applications.js";
export { AuditEventSchema, QuarterHourCountSchema } from "./audit.js";
export {
  AuditDaySchema,
  AuditNumberCounterSchema,
  AuditNumberQueueSchema,
  AuditNumberSchema,
  AuditReaderSchema,
  AuditSinkSchema,
} from "./audit-stream.js";
export { ConnectionLogSchema } from "./connection-logs.js";
export { DeploymentSchema } from "./deployment.js";
export { EncryptionKeySchema } from "./encryption.js";
export {
  EventDeliverySchema,
  EventEndpointSchema,
  EventEndpointSecretSchema,
  NotifiedEventSchema,
} from "./event-endpoints.js";
export { ExternalAuthDeviceSchema, ExternalAuthLinkSchema, ExternalAuthStateSchema } from "./external-auth.js";
export {
  AiMonthSpendingSchema,
  AiMonthTotalSchema,
  AiUsageSchema,
  GroupAiBudgetSchema,
  GroupMemberSchema,
  GroupSchema,
  MemberChangeSchema,
} from "./groups.js";
export { HealthCheckSchema, ServerReplicaSchema } from "./health.js";
export { InvitationSchema } from "./invitations.js";
export { LicenseSchema } from "./licenses.js";
export { LogoSchema } from "./logos.js";
export {
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
export {
  OAuth2ClientSchema,
  OAuth2ClientSecretSchema,
  OAuth2CodeSchema,
  OAuth2DeviceCodeSchema,
  OAuth2GrantSchema,
  OAuth2RefreshTokenSchema,
  OAuth2ResourceSchema,
} from "./oauth2.js";
export { OrganizationMemberSchema, OrganizationSchema } from "./organizations.js";
export { PasskeyChallengeSchema, PasskeySchema } from "./passkeys.js";
export {
  ProvisionerDaemonSchema,
  ProvisionerJobLogSchema,
  ProvisionerJobSchema,
  ProvisionerKeySchema,
} from "./provisioners.js";
export { QuietHoursSchema } from "./quiet-hours.js";
export { LoginAddressSchema, RateCounterSchema } from "./rate-limits.js";
export { ScimGroupLinkSchema, ScimKeySchema, ScimRequestSchema, ScimUserLinkSchema } from "./scim.js";
export {
  AuthenticatorSchema,
  RecoveryCodeSchema,
  RememberedDeviceSchema,
  SecondFactorRuleSchema,
} from "./second-factors.js";
export {
  ClaimedGiftSchema,
  LoginConversionSchema,
  OneTimePasscodeSchema,
  ProviderSessionSchema,
  SignInFaultSchema,
  SignInProviderSchema,
  SignInReportSchema,
  SpentSignInSchema,
  UserLinkSchema,
} from "./sign-in.js";
export { SiteSettingSchema } from "./site-settings.js";
export {
  TaskActionSchema,
  TaskBuildSchema,
  TaskConversationMessageSchema,
  TaskConversationSchema,
  TaskLogSnapshotSchema,
  TaskMessageSchema,
  TaskSchema,
} from "./tasks.js";
export {
  TemplateAclEntrySchema,
  TemplateDocumentSchema,
  TemplatePresetSchema,
  TemplateSchema,
  TemplateVersionSchema,
} from "./templates.js";
export { ApiKeySchema, EndedKeySchema } from "./tokens.js";
export { UserSecretSchema } from "./user-secrets.js";
export { AccountNoticeSchema, UserCountSchema, UserSchema } from "./users.js";
export { WorkspaceProxyReplicaSchema, WorkspaceProxySchema } from "./workspace-proxies.js";
export {
  WorkspaceAclEntrySchema,
  WorkspaceBuildSchema,
  WorkspaceResourceSchema,
  WorkspaceTransferSchema,
  WorkspaceChangeSchema,
  WorkspaceSchema,
} from "./workspaces.js";
