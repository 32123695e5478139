import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";

/** People, service accounts and the system's own identities. Deleted users stay as rows; their names are free again. */
const UserSchema = defineEntity({
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
  properties: {
    email: p.string().length(254),
    username: p.string().length(32),
    name: p.string().length(128).default(""),
    avatarUrl: p.string().length(2048).default(""),
    status: p.enum(["active", "suspended"]).default("active"),
    loginType: p.enum(["password", "oidc", "github", "none"]),
    /** argon2id in PHC form; null where no password was set. */
    passwordHash: p.text().nullable().lazy(),
    siteRoles: p.array().default([]),
    isServiceAccount: p.boolean().default(false),
    isSystem: p.boolean().default(false),
    createdBy: p.uuid().nullable(),
    /** Up to 5 minutes late. */
    lastSeenAt: moment().nullable(),
    deletedAt: moment().nullable(),
  },
});
export class User extends UserSchema.class {}
UserSchema.setClass(User);
