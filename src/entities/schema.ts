// The database as Kysely's types see it, inferred from the entities: tables and columns in camel case, as CamelCasePlugin
// spells them.
import type { InferKyselyDB } from "@mikro-orm/postgresql";
import type { ColumnType } from "kysely";
import type {
  WorkspaceAgentLogSchema,
  WorkspaceAgentSchema,
  WorkspaceAppSchema,
  WorkspaceAppStatusSchema,
  WorkspaceScriptSchema,
} from "./agents.js";
import type { AppConnectKeySchema, SpentAppConnectSchema } from "./applications.js";
import type { AuditEventSchema } from "./audit.js";
import type { ConnectionLogSchema } from "./connection-logs.js";
import type { DeploymentSchema } from "./deployment.js";
import type { EncryptionKeySchema } from "./encryption.js";
import type { ExternalAuthDeviceSchema, ExternalAuthLinkSchema, ExternalAuthStateSchema } from "./external-auth.js";
import type {
  AiUsageSchema,
  GroupAiBudgetSchema,
  GroupMemberSchema,
  GroupSchema,
  MemberChangeSchema,
} from "./groups.js";
import type { InvitationSchema } from "./invitations.js";
import type { LicenseSchema } from "./licenses.js";
import type {
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
import type {
  OAuth2ClientSchema,
  OAuth2ClientSecretSchema,
  OAuth2CodeSchema,
  OAuth2DeviceCodeSchema,
  OAuth2GrantSchema,
  OAuth2RefreshTokenSchema,
  OAuth2ResourceSchema,
} from "./oauth2.js";
import type { OrganizationMemberSchema, OrganizationSchema } from "./organizations.js";
import type {
  ProvisionerDaemonSchema,
  ProvisionerJobLogSchema,
  ProvisionerJobSchema,
  ProvisionerKeySchema,
} from "./provisioners.js";
import type { QuietHoursSchema } from "./quiet-hours.js";
import type { LoginAddressSchema, RateCounterSchema } from "./rate-limits.js";
import type { ScimGroupLinkSchema, ScimKeySchema, ScimRequestSchema, ScimUserLinkSchema } from "./scim.js";
import type { LoginConversionSchema, OneTimePasscodeSchema, SpentSignInSchema, UserLinkSchema } from "./sign-in.js";
import type { SiteSettingSchema } from "./site-settings.js";
import type {
  TaskActionSchema,
  TaskBuildSchema,
  TaskConversationMessageSchema,
  TaskConversationSchema,
  TaskLogSnapshotSchema,
  TaskMessageSchema,
  TaskSchema,
} from "./tasks.js";
import type {
  TemplateAclEntrySchema,
  TemplateDocumentSchema,
  TemplatePresetSchema,
  TemplateSchema,
  TemplateVersionSchema,
} from "./templates.js";
import type { ApiKeySchema, EndedKeySchema } from "./tokens.js";
import type { UserSecretSchema } from "./user-secrets.js";
import type { AccountNoticeSchema, UserCountSchema, UserSchema } from "./users.js";
import type { WorkspaceProxyReplicaSchema, WorkspaceProxySchema } from "./workspace-proxies.js";
import type {
  WorkspaceAclEntrySchema,
  WorkspaceBuildSchema,
  WorkspaceResourceSchema,
  WorkspaceTransferSchema,
  WorkspaceSchema,
} from "./workspaces.js";

type Entities =
  | typeof AccountNoticeSchema
  | typeof AiUsageSchema
  | typeof ApiKeySchema
  | typeof EndedKeySchema
  | typeof AppConnectKeySchema
  | typeof AuditEventSchema
  | typeof ConnectionLogSchema
  | typeof DeploymentSchema
  | typeof EncryptionKeySchema
  | typeof ExternalAuthDeviceSchema
  | typeof ExternalAuthLinkSchema
  | typeof ExternalAuthStateSchema
  | typeof GroupAiBudgetSchema
  | typeof GroupMemberSchema
  | typeof GroupSchema
  | typeof IdempotencyKeySchema
  | typeof InboxCursorSchema
  | typeof InboxEpochSchema
  | typeof InboxNotificationSchema
  | typeof InvitationSchema
  | typeof LicenseSchema
  | typeof LoginAddressSchema
  | typeof LoginConversionSchema
  | typeof MemberChangeSchema
  | typeof NotificationAttemptSchema
  | typeof NotificationMessageSchema
  | typeof NotificationPreferenceSchema
  | typeof NotificationTemplateMethodSchema
  | typeof NotificationTransportSchema
  | typeof OAuth2ClientSchema
  | typeof OAuth2ClientSecretSchema
  | typeof OAuth2CodeSchema
  | typeof OAuth2DeviceCodeSchema
  | typeof OAuth2GrantSchema
  | typeof OAuth2RefreshTokenSchema
  | typeof OAuth2ResourceSchema
  | typeof OneTimePasscodeSchema
  | typeof OrganizationMemberSchema
  | typeof OrganizationSchema
  | typeof ProvisionerDaemonSchema
  | typeof ProvisionerJobLogSchema
  | typeof ProvisionerJobSchema
  | typeof ProvisionerKeySchema
  | typeof QuietHoursSchema
  | typeof RateCounterSchema
  | typeof ScimGroupLinkSchema
  | typeof ScimKeySchema
  | typeof ScimRequestSchema
  | typeof ScimUserLinkSchema
  | typeof SiteSettingSchema
  | typeof SpentAppConnectSchema
  | typeof SpentSignInSchema
  | typeof TaskActionSchema
  | typeof TaskBuildSchema
  | typeof TaskConversationMessageSchema
  | typeof TaskConversationSchema
  | typeof TaskLogSnapshotSchema
  | typeof TaskMessageSchema
  | typeof TaskSchema
  | typeof TemplateAclEntrySchema
  | typeof TemplateDocumentSchema
  | typeof TemplatePresetSchema
  | typeof TemplateSchema
  | typeof TemplateVersionSchema
  | typeof UserCountSchema
  | typeof UserLinkSchema
  | typeof UserSchema
  | typeof UserSecretSchema
  | typeof WorkspaceAclEntrySchema
  | typeof WorkspaceAgentLogSchema
  | typeof WorkspaceAgentSchema
  | typeof WorkspaceAppSchema
  | typeof WorkspaceAppStatusSchema
  | typeof WorkspaceBuildSchema
  | typeof WorkspaceProxyReplicaSchema
  | typeof WorkspaceProxySchema
  | typeof WorkspaceResourceSchema
  | typeof WorkspaceTransferSchema
  | typeof WorkspaceSchema
  | typeof WorkspaceScriptSchema;

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** Rows hold times as RFC 3339 text; statements take them as text or `Date`. */
type Read<Value> = Value extends Date ? string : Value;
type Written<Value> = Value extends Date ? Date | string : Value;
type Column<Value> = [Value] extends [ColumnType<infer Selected, infer Inserted, infer Updated>]
  ? ColumnType<Read<Selected>, Written<Inserted>, Written<Updated>>
  : ColumnType<Read<Value>, Written<Value>, Written<Value>>;
type Table<Columns> = { [Name in keyof Columns & string as Camel<Name>]: Column<Columns[Name]> };

type Inferred = InferKyselyDB<Entities>;
type Tables = { [Name in keyof Inferred as Camel<Name>]: Table<Inferred[Name]> };

/** The columns of composite foreign keys, which are not inferred. */
interface Composite {
  groupMembers: Omit<Tables["groupMembers"], "membershipOrganization" | "membershipUser"> & {
    organizationId: string;
    userId: string;
  };
}

/** All tables by name. */
export type Schema = Omit<Tables, keyof Composite> & Composite;
