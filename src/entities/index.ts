import { AuditEvent } from "./audit.js";
import { Deployment } from "./deployment.js";
import { AiUsage, Group, GroupAiBudget, GroupMember } from "./groups.js";
import { IdempotencyKey, InboxCursor, InboxNotification } from "./notifications.js";
import { Organization, OrganizationMember } from "./organizations.js";
import { ApiKey } from "./tokens.js";
import { User } from "./users.js";

/** Everything that is stored. */
export const entities = [
  AiUsage,
  ApiKey,
  AuditEvent,
  Deployment,
  Group,
  GroupAiBudget,
  GroupMember,
  IdempotencyKey,
  InboxCursor,
  InboxNotification,
  Organization,
  OrganizationMember,
  User,
];
