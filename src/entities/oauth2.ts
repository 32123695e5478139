import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { User } from "./users.js";
import { longestLabel, longestUrl } from "./lengths.js";

/** OAuth2 applications: made by an administrator, self-registered (RFC 7591), or described by a metadata document. */
export const OAuth2ClientSchema = defineEntity({
  name: "OAuth2Client",
  tableName: "oauth2_clients",
  extends: BaseSchema,
  uniques: [{ name: "oauth2_clients_document_unique", properties: ["documentUrl"] }],
  indexes: [
    {
      name: "oauth2_clients_list_index",
      expression: `create index oauth2_clients_list_index on oauth2_clients (lower(name collate "C"), id)`,
    },
    {
      name: "oauth2_clients_search_index",
      expression: `create index oauth2_clients_search_index on oauth2_clients using gin ((lower(name) collate "C") gin_trgm_ops)`,
    },
    {
      name: "oauth2_clients_name_index",
      expression: `create index oauth2_clients_name_index on oauth2_clients (kind, lower(name collate "C"), id)`,
    },
    {
      name: "oauth2_clients_unused_index",
      expression:
        "create index oauth2_clients_unused_index on oauth2_clients (last_used_at, created_at) where kind <> 'admin'",
    },
  ],
  properties: {
    kind: p.enum(["admin", "dynamic", "document"]),
    /** Whether it has secrets. */
    type: p.enum(["confidential", "public"]),
    name: p.string().length(longestLabel),
    icon: p.string().length(longestUrl).default(""),
    /** At least one unless only grants without redirect are enabled. The first is the contract's `callback_url`. */
    redirectUris: p.array(),
    pkceRequired: p.boolean(),
    /** The widest scopes that it can get; null sets no limit. */
    scopeCeiling: p.array().nullable(),
    grantTypes: p.array(),
    /** How it authenticates at the token endpoint; null if it registered no way, and may use any. */
    authMethod: p.enum(["client_secret_basic", "client_secret_post", "none"]).nullable(),
    /** The service account that tokens of `client_credentials` act as. */
    serviceUser: () =>
      p.manyToOne(User).ref().nullable().deleteRule("set null").index("oauth2_clients_service_user_index"),
    /** The resource of requests that name none (RFC 8707), in canonical form. */
    defaultResource: p.string().length(longestUrl).nullable(),
    /** The `client_id` of clients that a metadata document describes. */
    documentUrl: p.string().length(longestUrl).nullable(),
    /** When the copy of the document becomes stale, and when it must not be used any more. */
    documentFreshUntil: moment().nullable(),
    documentUsableUntil: moment().nullable(),
    /** Members of the registration that are stored but not used (RFC 7591 §2). */
    metadata: p.json<Record<string, unknown>>(),
    /** SHA-256 of the registration access token, and of its successor until that is used. */
    registrationHash: p.type("bytea").$type<Buffer>().nullable(),
    nextRegistrationHash: p.type("bytea").$type<Buffer>().nullable(),
    /** Accurate to 5 minutes. */
    lastUsedAt: moment().nullable(),
    createdBy: () => p.manyToOne(User).ref().nullable().deleteRule("set null").index("oauth2_clients_creator_index"),
    createdIp: p.string().length(45).nullable(),
    isDisabled: p.boolean().default(false),
  },
});
export class OAuth2Client extends OAuth2ClientSchema.class {}
OAuth2ClientSchema.setClass(OAuth2Client);

/** URIs for which an application is the resource server (RFC 8707), in canonical form. */
export const OAuth2ResourceSchema = defineEntity({
  name: "OAuth2Resource",
  tableName: "oauth2_resources",
  properties: {
    uri: p.string().length(longestUrl).primary(),
    client: () => p.manyToOne(OAuth2Client).ref().deleteRule("cascade").index("oauth2_resources_client_index"),
  },
});
export class OAuth2Resource extends OAuth2ResourceSchema.class {}
OAuth2ResourceSchema.setClass(OAuth2Resource);

/** Secrets of confidential applications: `stws_<key>_<secret>`; of the secret, only the SHA-256 is stored. */
export const OAuth2ClientSecretSchema = defineEntity({
  name: "OAuth2ClientSecret",
  tableName: "oauth2_client_secrets",
  extends: BaseSchema,
  uniques: [{ name: "oauth2_client_secrets_key_unique", properties: ["key"] }],
  properties: {
    client: () => p.manyToOne(OAuth2Client).ref().deleteRule("cascade").index("oauth2_client_secrets_client_index"),
    /** Public part of the secret. */
    key: p.string().length(10),
    secretHash: p.type("bytea").$type<Buffer>(),
    /** Last characters of the secret, for people who compare it. */
    suffix: p.string().length(6),
    /** Accurate to 5 minutes. */
    lastUsedAt: moment().nullable(),
    expiresAt: moment().nullable(),
  },
});
export class OAuth2ClientSecret extends OAuth2ClientSecretSchema.class {}
OAuth2ClientSecretSchema.setClass(OAuth2ClientSecret);

/** The access that users granted to applications. Codes and tokens belong to a grant and end with it. */
export const OAuth2GrantSchema = defineEntity({
  name: "OAuth2Grant",
  tableName: "oauth2_grants",
  indexes: [
    { name: "oauth2_grants_user_client_index", properties: ["user", "client"] },
    { name: "oauth2_grants_client_index", properties: ["client", "id"] },
    {
      name: "oauth2_grants_made_by_index",
      expression: "create index oauth2_grants_made_by_index on oauth2_grants (made_by) where made_by is not null",
    },
    {
      name: "oauth2_grants_audience_index",
      expression:
        "create index oauth2_grants_audience_index on oauth2_grants ((audiences[1]), id) where revoked_at is null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    client: () => p.manyToOne(OAuth2Client).ref().deleteRule("cascade").index(false),
    /** The secret that the application used for its latest tokens. */
    secret: () =>
      p.manyToOne(OAuth2ClientSecret).ref().nullable().deleteRule("set null").index("oauth2_grants_secret_index"),
    scopes: p.array(),
    /** Resources that tokens are issued for, in canonical form. Empty: the whole of this server. */
    audiences: p.array(),
    /** The id of the key with which the user allowed it; null for service accounts of applications. */
    madeBy: p.string().length(10).nullable(),
    ip: p.string().length(45).nullable(),
    createdAt: moment(),
    /** Accurate to 5 minutes. */
    lastUsedAt: moment(),
    /** Until its code is redeemed: when the code expires. */
    expiresAt: moment().index("oauth2_grants_expiry_index"),
    revokedAt: moment().nullable(),
    revokeReason: p.string().length(32).nullable(),
  },
});
export class OAuth2Grant extends OAuth2GrantSchema.class {}
OAuth2GrantSchema.setClass(OAuth2Grant);

/** Authorization codes: `stwc_<id>_<secret>`. Used ones are kept for a day after they expired, to detect replays. */
export const OAuth2CodeSchema = defineEntity({
  name: "OAuth2Code",
  tableName: "oauth2_codes",
  properties: {
    id: p.string().length(10).primary(),
    secretHash: p.type("bytea").$type<Buffer>(),
    grant: () => p.manyToOne(OAuth2Grant).ref().deleteRule("cascade").index("oauth2_codes_grant_index"),
    /** Where the code was sent. */
    redirectUri: p.string().length(longestUrl),
    /** SHA-256 of the verifier in base64url (RFC 7636 §4.2). */
    codeChallenge: p.string().length(43).nullable(),
    state: p.enum(["issued", "used", "burnt"]),
    expiresAt: moment().index("oauth2_codes_expiry_index"),
  },
});
export class OAuth2Code extends OAuth2CodeSchema.class {}
OAuth2CodeSchema.setClass(OAuth2Code);

/** Refresh tokens: `stwr_<id>_<secret>`. Spent ones are kept as long as their grant, to detect reuse. */
export const OAuth2RefreshTokenSchema = defineEntity({
  name: "OAuth2RefreshToken",
  tableName: "oauth2_refresh_tokens",
  properties: {
    id: p.string().length(10).primary(),
    secretHash: p.type("bytea").$type<Buffer>(),
    grant: () => p.manyToOne(OAuth2Grant).ref().deleteRule("cascade").index("oauth2_refresh_tokens_grant_index"),
    createdAt: moment(),
    expiresAt: moment(),
    spentAt: moment().nullable(),
    /** How often it was used again within the grace period. */
    repeats: p.smallint().default(0),
  },
});
export class OAuth2RefreshToken extends OAuth2RefreshTokenSchema.class {}
OAuth2RefreshTokenSchema.setClass(OAuth2RefreshToken);

/** Device codes: `stwd_<id>_<secret>` (RFC 8628). */
export const OAuth2DeviceCodeSchema = defineEntity({
  name: "OAuth2DeviceCode",
  tableName: "oauth2_device_codes",
  uniques: [{ name: "oauth2_device_codes_user_code_unique", properties: ["userCode"] }],
  properties: {
    id: p.string().length(10).primary(),
    secretHash: p.type("bytea").$type<Buffer>(),
    /** Eight letters without the dash. */
    userCode: p.string().length(8),
    client: () => p.manyToOne(OAuth2Client).ref().deleteRule("cascade").index("oauth2_device_codes_client_index"),
    /** The grant of the user who approved it. */
    grant: () =>
      p.manyToOne(OAuth2Grant).ref().nullable().deleteRule("cascade").index("oauth2_device_codes_grant_index"),
    scopes: p.array(),
    /** Scopes that were requested, and that the application cannot get. */
    refusedScopes: p.array().default([]),
    audiences: p.array(),
    state: p.enum(["pending", "approved", "denied", "redeemed"]),
    /** The address of the device. */
    ip: p.string().length(45).nullable(),
    createdAt: moment(),
    expiresAt: moment().index("oauth2_device_codes_expiry_index"),
    polledAt: moment().nullable(),
    /** Seconds that the client must wait between polls. */
    pollInterval: p.smallint(),
  },
});
export class OAuth2DeviceCode extends OAuth2DeviceCodeSchema.class {}
OAuth2DeviceCodeSchema.setClass(OAuth2DeviceCode);
