import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { OAuth2ClientSecret, OAuth2Grant } from "./oauth2.js";
import { User } from "./users.js";
import { longestLabel, longestName } from "./lengths.js";

/** Sessions and API keys of users. A token is `stw_<kind>_<id>-<secret>`; only the SHA-256 of the secret is stored. */
export const ApiKeySchema = defineEntity({
  name: "ApiKey",
  tableName: "api_keys",
  uniques: [
    {
      name: "api_keys_token_name_unique",
      expression:
        "create unique index api_keys_token_name_unique on api_keys (user_id, lower(name)) where kind = 'token'",
    },
  ],
  indexes: [
    {
      name: "api_keys_parent_index",
      expression: "create index api_keys_parent_index on api_keys (parent_id) where parent_id is not null",
    },
    {
      name: "api_keys_grant_index",
      expression: "create index api_keys_grant_index on api_keys (grant_id) where grant_id is not null",
    },
    {
      name: "api_keys_client_secret_index",
      expression:
        "create index api_keys_client_secret_index on api_keys (client_secret_id) where client_secret_id is not null",
    },
    {
      name: "api_keys_token_expiry_index",
      expression: "create index api_keys_token_expiry_index on api_keys (expires_at) where kind = 'token'",
    },
    {
      name: "api_keys_made_by_index",
      expression: "create index api_keys_made_by_index on api_keys (made_by) where made_by is not null",
    },
  ],
  properties: {
    id: p.string().length(10).primary(),
    secretHash: p.type("bytea").$type<Buffer>(),
    /** That of the credentials of its user when it was issued, in which alone it is valid; -1 for none. */
    epoch: p.integer(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index("api_keys_user_index"),
    kind: p.enum(["session", "token", "oauth", "application"]),
    name: p.string().length(longestLabel).default(""),
    scopes: p.array(),
    /** The grant of an OAuth2 access token, which ends with it; null for those of client credentials. */
    grant: () => p.manyToOne(OAuth2Grant).ref().nullable().deleteRule("cascade").index(false),
    /** The application that got an access token with client credentials; its secrets end with it. */
    clientId: p.uuid().nullable(),
    /** The secret with which it did, and with which the token ends. */
    clientSecret: () => p.manyToOne(OAuth2ClientSecret).ref().nullable().deleteRule("cascade").index(false),
    /** Resources that an OAuth2 access token is issued for (RFC 8707). Empty: the whole of this server. */
    audiences: p.array().default([]),
    /** The key that requested this one. Both end together. */
    parent: () => p.manyToOne(ApiKey).ref().nullable().deleteRule("cascade").index(false),
    /** The id of the key that made this one. It may have ended: makers are no parents. */
    madeBy: p.string().length(10).nullable(),
    createdAt: moment(),
    /** Accurate to 5 minutes. */
    lastUsedAt: moment().nullable(),
    /** When the user of a session last proved again who that is; null if only at sign-in. */
    provedAt: moment().nullable(),
    /** How the user of a session signed in, if that is known; `provider` for a second factor of the provider. */
    factor: p
      .string()
      .length(16)
      .$type<"password" | "authenticator" | "recovery_code" | "passkey" | "provider">()
      .nullable(),
    /** Name of the provider at which a session began. */
    provider: p.string().length(longestName).nullable(),
    expiresAt: moment().index("api_keys_expiry_index"),
    /** When its user was last told that it ends soon. */
    endNoticedAt: moment().nullable(),
    ip: p.string().length(45).nullable(),
    userAgent: p.string().length(512).nullable(),
  },
});
export class ApiKey extends ApiKeySchema.class {}
ApiKeySchema.setClass(ApiKey);

/** Sessions and tokens that have ended, as long as something that they made is left. A trigger inserts them. */
export const EndedKeySchema = defineEntity({
  name: "EndedKey",
  tableName: "ended_keys",
  indexes: [
    {
      name: "ended_keys_made_by_index",
      expression: "create index ended_keys_made_by_index on ended_keys (made_by) where made_by is not null",
    },
  ],
  properties: {
    id: p.string().length(10).primary(),
    kind: p.string().length(16),
    name: p.string().length(longestLabel),
    madeBy: p.string().length(10).nullable(),
    endedAt: moment().index("ended_keys_time_index"),
  },
});
export class EndedKey extends EndedKeySchema.class {}
EndedKeySchema.setClass(EndedKey);
