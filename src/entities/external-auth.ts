import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { User } from "./users.js";

const bytes = () => p.type("bytea").$type<Buffer>();
const encryptionKey = () => p.manyToOne(EncryptionKey).ref().index(false);

/** Accounts of users at outside services, with their tokens. At most one per user and provider. */
export const ExternalAuthLinkSchema = defineEntity({
  name: "ExternalAuthLink",
  tableName: "external_auth_links",
  extends: BaseSchema,
  uniques: [{ name: "external_auth_links_unique", properties: ["providerId", "user"] }],
  indexes: [
    { name: "external_auth_links_access_key_index", properties: ["accessTokenKey", "id"] },
    { name: "external_auth_links_refresh_key_index", properties: ["refreshTokenKey", "id"] },
    { name: "external_auth_links_extra_key_index", properties: ["extraKey", "id"] },
    {
      name: "external_auth_links_revocation_index",
      expression:
        "create index external_auth_links_revocation_index on external_auth_links (revoke_at) where revoke_at is not null",
    },
  ],
  properties: {
    /** ID in the configuration, in lower case. The provider may have been removed since. */
    providerId: p.string().length(32),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index("external_auth_links_user_index"),
    accessTokenCiphertext: bytes(),
    accessTokenNonce: bytes(),
    accessTokenKey: () => encryptionKey(),
    refreshTokenCiphertext: bytes().nullable(),
    refreshTokenNonce: bytes().nullable(),
    refreshTokenKey: () => encryptionKey().nullable().deleteRule("no action"),
    /** Further fields of the token response, as JSON. */
    extraCiphertext: bytes().nullable(),
    extraNonce: bytes().nullable(),
    extraKey: () => encryptionKey().nullable().deleteRule("no action"),
    /** Null if the access token does not expire. */
    expiresAt: moment().nullable(),
    scopes: p.array().default([]),
    /** The account at the provider, as last read. */
    account: p.json().nullable(),
    /** Why the last refresh failed permanently; empty if it did not. */
    refreshError: p.string().length(400).default(""),
    validation: p.enum(["valid", "invalid", "unknown"]).default("unknown"),
    validatedAt: moment().nullable(),
    /** Until when the provider must not be called to validate: it has reported a rate limit. */
    validationPausedUntil: moment().nullable(),
    /** Counts the replacements of the tokens. */
    version: p.integer().default(1),
    /** Until when a replica may be refreshing the token. */
    refreshingUntil: moment().nullable(),
    /** When to revoke the token of a deleted user; null while the user exists. */
    revokeAt: moment().nullable(),
    revokeAttempts: p.integer().default(0),
  },
});
export class ExternalAuthLink extends ExternalAuthLinkSchema.class {}
ExternalAuthLinkSchema.setClass(ExternalAuthLink);

/** Pending links by redirect. A state can be used once, by the browser that it was created for. */
export const ExternalAuthStateSchema = defineEntity({
  name: "ExternalAuthState",
  tableName: "external_auth_states",
  uniques: [{ name: "external_auth_states_state_unique", properties: ["stateHash"] }],
  indexes: [
    { name: "external_auth_states_user_index", properties: ["user", "providerId"] },
    { name: "external_auth_states_key_index", properties: ["key", "id"] },
  ],
  properties: {
    id: p.uuid().primary(),
    stateHash: bytes(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    providerId: p.string().length(32),
    /** SHA-256 of the cookie of the browser. */
    browserHash: bytes(),
    /** PKCE (RFC 7636); null for providers without it. */
    verifierCiphertext: bytes().nullable(),
    verifierNonce: bytes().nullable(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().deleteRule("cascade").index(false),
    /** Empty for the page of the provider. */
    returnPath: p.string().length(8192).default(""),
    expiresAt: moment().index("external_auth_states_expiry_index"),
    consumedAt: moment().nullable(),
  },
});
export class ExternalAuthState extends ExternalAuthStateSchema.class {}
ExternalAuthStateSchema.setClass(ExternalAuthState);

/** Device codes (RFC 8628), pending or redeemed. */
export const ExternalAuthDeviceSchema = defineEntity({
  name: "ExternalAuthDevice",
  tableName: "external_auth_devices",
  uniques: [{ name: "external_auth_devices_code_unique", properties: ["user", "providerId", "codeHash"] }],
  indexes: [{ name: "external_auth_devices_key_index", properties: ["key", "id"] }],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    providerId: p.string().length(32),
    codeHash: bytes(),
    codeCiphertext: bytes(),
    codeNonce: bytes(),
    key: () => p.manyToOne(EncryptionKey).ref().deleteRule("cascade").index(false),
    /** Minimum time between polls. */
    intervalSeconds: p.integer(),
    nextPollAt: moment(),
    /** Until when a request may be polling. */
    pollingUntil: moment().nullable(),
    expiresAt: moment().index("external_auth_devices_expiry_index"),
    /** When the code was exchanged for a token. */
    redeemedAt: moment().nullable(),
  },
});
export class ExternalAuthDevice extends ExternalAuthDeviceSchema.class {}
ExternalAuthDeviceSchema.setClass(ExternalAuthDevice);
