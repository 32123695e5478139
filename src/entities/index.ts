import { AuditEvent } from "./audit.js";
import { Deployment } from "./deployment.js";
import { EncryptionKey } from "./encryption.js";
import { AiUsage, Group, GroupAiBudget, GroupMember } from "./groups.js";
import { IdempotencyKey, InboxCursor, InboxNotification } from "./notifications.js";
import { Organization, OrganizationMember } from "./organizations.js";
import { QuietHours } from "./quiet-hours.js";
import { LoginAddress, RateCounter } from "./rate-limits.js";
import { LoginConversion, OneTimePasscode, SpentSignIn, UserLink } from "./sign-in.js";
import { ApiKey } from "./tokens.js";
import { UserSecret } from "./user-secrets.js";
import { User } from "./users.js";

/** Everything that is stored. */
export const entities = [
  AiUsage,
  ApiKey,
  AuditEvent,
  Deployment,
  EncryptionKey,
  Group,
  GroupAiBudget,
  GroupMember,
  IdempotencyKey,
  InboxCursor,
  InboxNotification,
  LoginAddress,
  LoginConversion,
  OneTimePasscode,
  Organization,
  OrganizationMember,
  QuietHours,
  RateCounter,
  SpentSignIn,
  User,
  UserLink,
  UserSecret,
];
