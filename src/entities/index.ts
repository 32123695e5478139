import { WorkspaceAgent, WorkspaceAgentLog, WorkspaceApp, WorkspaceAppStatus, WorkspaceScript } from "./agents.js";
import { AppConnectKey, SpentAppConnect } from "./applications.js";
import { AuditEvent } from "./audit.js";
import { ConnectionLog } from "./connection-logs.js";
import { Deployment } from "./deployment.js";
import { EncryptionKey } from "./encryption.js";
import { ExternalAuthDevice, ExternalAuthLink, ExternalAuthState } from "./external-auth.js";
import { AiUsage, Group, GroupAiBudget, GroupMember, MemberChange } from "./groups.js";
import { Invitation } from "./invitations.js";
import { License } from "./licenses.js";
import {
  IdempotencyKey,
  InboxCursor,
  InboxEpoch,
  InboxNotification,
  NotificationAttempt,
  NotificationMessage,
  NotificationPreference,
  NotificationTemplateMethod,
  NotificationTransport,
} from "./notifications.js";
import {
  OAuth2Client,
  OAuth2ClientSecret,
  OAuth2Code,
  OAuth2DeviceCode,
  OAuth2Grant,
  OAuth2RefreshToken,
  OAuth2Resource,
} from "./oauth2.js";
import { Organization, OrganizationMember } from "./organizations.js";
import { ProvisionerDaemon, ProvisionerJob, ProvisionerJobLog, ProvisionerKey } from "./provisioners.js";
import { QuietHours } from "./quiet-hours.js";
import { LoginAddress, RateCounter } from "./rate-limits.js";
import { LoginConversion, OneTimePasscode, SpentSignIn, UserLink } from "./sign-in.js";
import { ScimGroupLink, ScimKey, ScimRequest, ScimUserLink } from "./scim.js";
import { SiteSetting } from "./site-settings.js";
import {
  Task,
  TaskAction,
  TaskBuild,
  TaskConversation,
  TaskConversationMessage,
  TaskLogSnapshot,
  TaskMessage,
} from "./tasks.js";
import { Template, TemplateAclEntry, TemplateDocument, TemplatePreset, TemplateVersion } from "./templates.js";
import { ApiKey, EndedKey } from "./tokens.js";
import { UserSecret } from "./user-secrets.js";
import { AccountNotice, User, UserCount } from "./users.js";
import { WorkspaceProxy, WorkspaceProxyReplica } from "./workspace-proxies.js";
import { Workspace, WorkspaceAclEntry, WorkspaceBuild, WorkspaceResource, WorkspaceTransfer } from "./workspaces.js";

/** All entities. */
export const entities = [
  AccountNotice,
  AiUsage,
  ApiKey,
  EndedKey,
  AppConnectKey,
  AuditEvent,
  ConnectionLog,
  Deployment,
  EncryptionKey,
  ExternalAuthDevice,
  ExternalAuthLink,
  ExternalAuthState,
  Group,
  GroupAiBudget,
  GroupMember,
  IdempotencyKey,
  InboxCursor,
  InboxEpoch,
  InboxNotification,
  Invitation,
  License,
  LoginAddress,
  MemberChange,
  LoginConversion,
  NotificationAttempt,
  NotificationMessage,
  NotificationPreference,
  NotificationTemplateMethod,
  NotificationTransport,
  OAuth2Client,
  OAuth2ClientSecret,
  OAuth2Code,
  OAuth2DeviceCode,
  OAuth2Grant,
  OAuth2RefreshToken,
  OAuth2Resource,
  OneTimePasscode,
  Organization,
  OrganizationMember,
  ProvisionerDaemon,
  ProvisionerJob,
  ProvisionerJobLog,
  ProvisionerKey,
  QuietHours,
  RateCounter,
  ScimGroupLink,
  ScimKey,
  ScimRequest,
  ScimUserLink,
  SiteSetting,
  SpentAppConnect,
  SpentSignIn,
  Task,
  TaskAction,
  TaskBuild,
  TaskConversation,
  TaskConversationMessage,
  TaskLogSnapshot,
  TaskMessage,
  Template,
  TemplateAclEntry,
  TemplateDocument,
  TemplatePreset,
  TemplateVersion,
  User,
  UserCount,
  UserLink,
  UserSecret,
  Workspace,
  WorkspaceAclEntry,
  WorkspaceAgent,
  WorkspaceAgentLog,
  WorkspaceApp,
  WorkspaceAppStatus,
  WorkspaceBuild,
  WorkspaceProxy,
  WorkspaceProxyReplica,
  WorkspaceResource,
  WorkspaceTransfer,
  WorkspaceScript,
];
