import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { longestEmail, longestName, longestRealName, longestUrl } from "./lengths.js";

const isListed = "deleted_at is null and not is_system";

/** An index in the order of the list of users, of the users with each value of a column. */
const listedBy = (column: string, name: string) => ({
  name,
  expression: `create index ${name} on users (${column}, lower(username collate "C"), id) include (username)
    where ${isListed}`,
});

/** People, service accounts, and system identities. Rows of deleted users are kept; their names are available again. */
export const UserSchema = defineEntity({
  name: "User",
  tableName: "users",
  extends: BaseSchema,
  uniques: [
    {
      name: "users_email_unique",
      expression: 'create unique index users_email_unique on users (lower(email collate "C")) where deleted_at is null',
    },
    {
      name: "users_username_unique",
      expression:
        'create unique index users_username_unique on users (lower(username collate "C")) where deleted_at is null',
    },
  ],
  indexes: [
    {
      name: "users_list_index",
      expression: `create index users_list_index on users (lower(username collate "C"), id) include (username)
        where ${isListed}`,
    },
    listedBy("status", "users_status_index"),
    listedBy("login_type", "users_login_type_index"),
    listedBy("is_service_account", "users_service_account_index"),
    {
      name: "users_created_index",
      expression: `create index users_created_index on users (created_at, id) where ${isListed}`,
    },
    {
      name: "users_last_seen_index",
      expression: `create index users_last_seen_index on users (last_seen_on) where ${isListed}`,
    },
    {
      name: "users_page_index",
      expression: `create index users_page_index on users (id) where ${isListed}`,
    },
    {
      name: "users_suspended_index",
      expression: "create index users_suspended_index on users (suspended_at) where suspended_at is not null",
    },
    {
      name: "users_site_roles_index",
      expression: "create index users_site_roles_index on users (id) where site_roles <> '{}'",
    },
    {
      // The people whom rules of second factors may concern.
      name: "users_with_password_index",
      expression: `create index users_with_password_index on users (id)
        where login_type = 'password' and status = 'active' and not is_service_account and ${isListed}`,
    },
    {
      name: "users_deprovisioned_index",
      expression: `create index users_deprovisioned_index on users (id)
        where deprovisioned_at is not null and deleted_at is null`,
    },
    {
      name: "users_search_index",
      expression: `create index users_search_index on users using gin (
        lower(username collate "C") gin_trgm_ops, lower(email collate "C") gin_trgm_ops,
        (lower(name) collate "C") gin_trgm_ops
      ) with (gin_pending_list_limit = 64) where ${isListed}`,
    },
  ],
  properties: {
    email: p.string().length(longestEmail),
    username: p.string().length(longestName),
    name: p.string().length(longestRealName).default(""),
    avatarUrl: p.string().length(longestUrl).default(""),
    status: p.enum(["active", "suspended"]).default("active"),
    loginType: p.enum(["password", "oidc", "github", "none"]),
    /** argon2id hash in PHC format; null if no password is set. */
    passwordHash: p.text().nullable().lazy(),
    /** Whether the user can do nothing else before the password was changed. */
    mustChangePassword: p.boolean().default(false),
    siteRoles: p.array().default([]),
    /** Since when each of them is held, if that is known. Kept by triggers. */
    siteRoleTimes: p.json<Record<string, string>>().defaultRaw("'{}'").lazy(),
    isServiceAccount: p.boolean().default(false),
    isSystem: p.boolean().default(false),
    createdBy: p.uuid().nullable(),
    /** Accurate to 5 minutes. */
    lastSeenAt: moment().nullable(),
    /** The day of `lastSeenAt` in UTC, by which lists select. An index of the time would be written with each activity. */
    lastSeenOn: p.date().nullable().generated("(((last_seen_at at time zone 'UTC')::date)) stored"),
    /** When the user last started a task. */
    aiSeatAt: moment().nullable(),
    /** Raised by triggers with each change that SCIM clients see. */
    scimVersion: p.integer().default(1),
    /**
     * When the identity provider that managed the user deleted it: its email and its userName are free. Cleared by
     * triggers, with each change of the status and by each link that is in use.
     */
    deprovisionedAt: moment().nullable(),
    /** The email of a deprovisioned user that another user took. */
    formerEmail: p.string().length(longestEmail).nullable(),
    /** Kept by a trigger. Of those suspended before it was, at the latest this time. */
    /** Raised by a trigger with each suspension. Keys are valid in the epoch in which they were issued. */
    credentialEpoch: p.integer().default(0),
    suspendedAt: moment().nullable(),
    /** Whether the workspaces of a suspended user keep running: since too many were suspended together, until released. */
    stopHold: p.enum(["held", "released"]).nullable(),
    deletedAt: moment().nullable(),
  },
});
export class User extends UserSchema.class {}
UserSchema.setClass(User);

/** Changes of the number of users that lists show. A trigger inserts them, and a job replaces them with their sum. */
export const UserCountSchema = defineEntity({
  name: "UserCount",
  tableName: "user_counts",
  properties: {
    id: p.uuid().primary().defaultRaw("gen_random_uuid()"),
    change: p.integer(),
  },
});
export class UserCount extends UserCountSchema.class {}
UserCountSchema.setClass(UserCount);

/** Notices about accounts that a job adds to the inboxes of administrators. No references: a foreign key would lock users. */
export const AccountNoticeSchema = defineEntity({
  name: "AccountNotice",
  tableName: "account_notices",
  indexes: [{ name: "account_notices_age_index", properties: ["createdAt"] }],
  properties: {
    id: p.uuid().primary(),
    templateId: p.uuid(),
    audience: p.enum(["administrators", "owners"]),
    /** The account that the notice is about. */
    userId: p.uuid(),
    initiatorId: p.uuid().nullable(),
    labels: p.json<Record<string, string>>(),
    createdAt: moment().defaultRaw("now()"),
  },
});
export class AccountNotice extends AccountNoticeSchema.class {}
AccountNoticeSchema.setClass(AccountNotice);
