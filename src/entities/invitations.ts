import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { User } from "./users.js";

/** A membership that an invitation gives. */
export interface StoredMembership {
  organizationId: string;
  roles: string[];
}

/**
 * Invitations of people who have no account yet, kept for a while after their end. A queue (`kernel/queue`) while mail waits
 * to be sent. What an invitation gives is no reference: objects that are gone when it is accepted are not given.
 */
export const InvitationSchema = defineEntity({
  name: "Invitation",
  tableName: "invitations",
  extends: BaseSchema,
  uniques: [
    {
      name: "invitations_open_unique",
      expression:
        'create unique index invitations_open_unique on invitations (lower(email collate "C")) where end_reason is null',
    },
    { name: "invitations_token_unique", properties: ["tokenHash"] },
  ],
  indexes: [
    {
      name: "invitations_list_index",
      expression: 'create index invitations_list_index on invitations (lower(email collate "C"), id)',
    },
    { name: "invitations_created_index", properties: ["createdAt", "id"] },
    {
      name: "invitations_search_index",
      expression: `create index invitations_search_index on invitations using gin (
        (lower(email) collate "C") gin_trgm_ops, (lower(name) collate "C") gin_trgm_ops
      )`,
    },
    { name: "invitations_expiry_index", properties: ["expiresAt"] },
    {
      name: "invitations_inviter_index",
      expression: "create index invitations_inviter_index on invitations (inviter_id) where end_reason is null",
    },
    {
      name: "invitations_due_index",
      expression:
        "create index invitations_due_index on invitations (next_attempt_at, id) where mail_state in ('pending', 'leased')",
    },
    {
      name: "invitations_key_index",
      expression: "create index invitations_key_index on invitations (key_id, id) where key_id is not null",
    },
  ],
  properties: {
    email: p.string().length(254),
    name: p.string().length(128).default(""),
    siteRoles: p.array().default([]),
    memberships: p.json<StoredMembership[]>(),
    groupIds: p.array().columnType("uuid[]").default([]),
    /** How the person will sign in; null if that is for the person to choose. */
    loginType: p.enum(["password", "oidc", "github"]).nullable(),
    inviter: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    /** The credential epoch of the inviter when it was sent: a suspension ends it. */
    inviterEpoch: p.integer(),
    /** SHA-256 of the token of its link. */
    tokenHash: p.type("bytea").$type<Buffer>(),
    expiresAt: moment(),
    sentAt: moment(),
    /** How often it was sent. */
    sendCount: p.integer().default(1),
    /** The state of its mail; null where its link was handed over. */
    mailState: p.enum(["pending", "leased", "sent", "failed"]).nullable(),
    /** Why the last attempt to send it failed. */
    mailFault: p.string().length(512).nullable(),
    attempts: p.integer().default(0),
    nextAttemptAt: moment().nullable(),
    leaseToken: p.uuid().nullable(),
    /** The token of its link, encrypted, until it is mailed. */
    key: () => p.manyToOne(EncryptionKey).ref().nullable().index(false),
    tokenNonce: p.type("bytea").$type<Buffer>().nullable(),
    tokenCiphertext: p.type("bytea").$type<Buffer>().nullable(),
    /** Why it can no longer be accepted; null while it can be, or has expired. */
    endReason: p.enum(["accepted", "revoked", "replaced"]).nullable(),
    endedAt: moment().nullable(),
    /** The account of the person who accepted it. */
    userId: p.uuid().nullable(),
  },
});
export class Invitation extends InvitationSchema.class {}
InvitationSchema.setClass(Invitation);
