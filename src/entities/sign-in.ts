import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { longestLabel, longestName, longestUrl } from "./lengths.js";
import { ApiKey } from "./tokens.js";
import { User } from "./users.js";

/** Maximum length in characters of the subject of a provider, which the column and the input have. */
export const longestSubject = 255;

/** Maximum lengths in characters, which the columns and the inputs of providers have. */
export const providerLengths = { icon: 16_384, clientId: 255, claim: 128, failure: 512 } as const;

/** A claim whose values give groups, organizations, and roles. */
export interface ClaimMapping {
  /** Name of a claim, or a path of names with dots between them. */
  claim: string;
  /** Between the values of a text; empty if it is one value. */
  separator: string;
  /** The fate of earlier gifts if the claim is absent, empty, or no list of texts. */
  absent: ClaimFate;
  empty: ClaimFate;
  malformed: ClaimFate;
  grants: readonly ClaimGrant[];
  /** Gives the groups of an organization that are called like values, which match the pattern. */
  groupsOf: string;
  groupPattern: string;
  /** How many groups the mapping may make there; 0 for existing ones alone. */
  mostNewGroups: number;
}

/** Earlier gifts of a claim that says nothing are kept or removed. */
export const ClaimFate = { KEEP: "keep", REMOVE: "remove" } as const;
export type ClaimFate = (typeof ClaimFate)[keyof typeof ClaimFate];

/** Gifts to people of whom a claim has one of some values. */
export interface ClaimGrant {
  values: readonly string[];
  /** By ID, or by a name that only one group has. */
  groups: readonly string[];
  /** By ID or name; empty if the roles are those of the deployment. */
  organization: string;
  roles: readonly string[];
}

/** Providers at which users sign in, besides those that the settings of the server declare. */
export const SignInProviderSchema = defineEntity({
  name: "SignInProvider",
  tableName: "sign_in_providers",
  extends: BaseSchema,
  uniques: [{ name: "sign_in_providers_name_unique", properties: ["name"] }],
  indexes: [
    {
      name: "sign_in_providers_key_index",
      expression: "create index sign_in_providers_key_index on sign_in_providers (key_id, id) where key_id is not null",
    },
  ],
  properties: {
    /** Last part of the path of its sign-in, and the `provider` of links. */
    name: p.string().length(longestName),
    kind: p.enum(["oidc", "github"]),
    displayName: p.string().length(longestLabel),
    icon: p.string().length(providerLengths.icon),
    /** The issuer of OpenID Connect, or the site of GitHub. */
    issuer: p.string().length(longestUrl),
    clientId: p.string().length(providerLengths.clientId),
    /** How the server authenticates: by a secret, or by assertions that a private key signs. */
    clientAuth: p.enum(["secret", "private_key"]),
    /** The secret or the private key, encrypted. */
    secretCiphertext: p.type("bytea").$type<Buffer>().nullable(),
    secretNonce: p.type("bytea").$type<Buffer>().nullable(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().index(false),
    scopes: p.array(),
    subjectClaim: p.string().length(providerLengths.claim),
    /** Whether addresses in its domains count as verified if it does not say so. */
    emailVerified: p.enum(["trusted", "required"]),
    emailDomains: p.array(),
    followsEmail: p.boolean(),
    /** Which accounts without an identity it may link by their address. */
    linksByEmail: p.enum(["any", "domains", "never"]),
    admitsNewcomers: p.boolean(),
    /** The organizations that newcomers join; empty for the default one. */
    organizationIds: p.array().columnType("uuid[]"),
    /** The tenants (`tid`) and hosted domains (`hd`) whose users may sign in; empty for all. */
    tenants: p.array(),
    hostedDomains: p.array(),
    /** Values of `amr` and of `acr` by which it says that it checked a second factor; empty for none. */
    factorMethods: p.array().default([]),
    factorContexts: p.array().default([]),
    claimMappings: p.json<ClaimMapping[]>().default([]),
    appliesClaims: p.boolean().default(false),
    /** Whether who signs out here signs out there as well. */
    signsOut: p.boolean().default(false),
    /** Seconds between two checks of people who are signed in; 0 for none. */
    checkInterval: p.integer().default(0),
    /** Whether the groups that it made have the members alone that it gives them. */
    locksGroups: p.boolean().default(false),
    isEnabled: p.boolean(),
    /** Its place among the providers of this table, from 0. */
    position: p.integer(),
    /** Counts its changes: a sign-in that began before a change does not end after it. */
    revision: p.integer().default(1),
  },
});
export class SignInProvider extends SignInProviderSchema.class {}
SignInProviderSchema.setClass(SignInProvider);

/** When people last signed in through a provider, and when that last failed. Accurate to a minute. */
export const SignInReportSchema = defineEntity({
  name: "SignInReport",
  tableName: "sign_in_reports",
  properties: {
    /** Name of the provider, also of one that the settings declare. */
    provider: p.string().length(longestName).primary(),
    succeededAt: moment().nullable(),
    failedAt: moment().nullable(),
    failure: p.string().length(providerLengths.failure).default(""),
    /** When a claim was malformed, or a gift could not be given or taken; and which. */
    warnedAt: moment().nullable(),
    warning: p.string().length(providerLengths.failure).default(""),
  },
});
export class SignInReport extends SignInReportSchema.class {}
SignInReportSchema.setClass(SignInReport);

/** When administrators were last told of a fault in the claims of a provider. */
export const SignInFaultSchema = defineEntity({
  name: "SignInFault",
  tableName: "sign_in_faults",
  properties: {
    /** Name of the provider. */
    provider: p.string().length(longestName).primary(),
    /** Kind of the fault, with the claim. */
    fault: p.string().length(160).primary(),
    toldAt: moment(),
  },
});
export class SignInFault extends SignInFaultSchema.class {}
SignInFaultSchema.setClass(SignInFault);

/**
 * Gifts that a user has because of claims: groups, memberships of organizations, and roles. Each provider takes away only
 * its own, and what no row says was given by people.
 */
export const ClaimedGiftSchema = defineEntity({
  name: "ClaimedGift",
  tableName: "claimed_gifts",
  properties: {
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    /** Name of the provider. */
    provider: p.string().length(longestName).primary(),
    /** `group:<id>`, `organization:<id>`, `role:<organization>:<role>`, or `site:<role>`. */
    gift: p.string().length(128).primary(),
    claim: p.string().length(providerLengths.claim),
    createdAt: moment(),
  },
});
export class ClaimedGift extends ClaimedGiftSchema.class {}
ClaimedGiftSchema.setClass(ClaimedGift);

/** Identities of users at identity providers, at most one per user and provider. */
export const UserLinkSchema = defineEntity({
  name: "UserLink",
  tableName: "user_links",
  uniques: [
    {
      name: "user_links_user_provider_unique",
      expression: "create unique index user_links_user_provider_unique on user_links (user_id, provider)",
    },
  ],
  properties: {
    /** Name of the provider. */
    provider: p.text().primary(),
    /** Kind of the provider; null for that which is called like its kind. */
    kind: p.text().$type<"oidc" | "github">().nullable(),
    /** URL of the provider that issues the subject. */
    issuer: p.string().length(2048).primary(),
    /** Permanent ID of the user at the issuer: the value of `claim`. */
    subject: p.string().length(longestSubject).primary(),
    /** Claim of ID tokens that the subject is from. */
    claim: p.string().length(128).default("sub"),
    user: () => p.manyToOne(User).ref().deleteRule("cascade"),
    createdAt: moment(),
  },
});
export class UserLink extends UserLinkSchema.class {}
UserLinkSchema.setClass(UserLink);

/** The one-time passcode of a user, and when the last ones were created. */
export const OneTimePasscodeSchema = defineEntity({
  name: "OneTimePasscode",
  tableName: "one_time_passcodes",
  properties: {
    user: () => p.manyToOne(User).primary().ref().deleteRule("cascade"),
    /** SHA-256 of the passcode; null after use. */
    codeHash: p.type("bytea").$type<Buffer>().nullable(),
    expiresAt: moment(),
    /** Number of attempts, successful or not. */
    attempts: p.integer().default(0),
    /** When passcodes were created during the last hour, oldest first. */
    requestedAt: p.type("timestamptz[]").$type<string[]>(),
  },
});
export class OneTimePasscode extends OneTimePasscodeSchema.class {}
OneTimePasscodeSchema.setClass(OneTimePasscode);

/** Pending conversions of users to sign-in with a provider, which has yet to confirm them. One per user. */
export const LoginConversionSchema = defineEntity({
  name: "LoginConversion",
  tableName: "login_conversions",
  uniques: [{ name: "login_conversions_state_unique", properties: ["stateHash"] }],
  properties: {
    user: () => p.manyToOne(User).primary().ref().deleteRule("cascade"),
    stateHash: p.type("bytea").$type<Buffer>(),
    toType: p.enum(["oidc", "github"]),
    expiresAt: moment(),
    usedAt: moment().nullable(),
  },
});
export class LoginConversion extends LoginConversionSchema.class {}
LoginConversionSchema.setClass(LoginConversion);

/** Sessions that began at an OpenID provider, by which its logouts find them. */
export const ProviderSessionSchema = defineEntity({
  name: "ProviderSession",
  tableName: "provider_sessions",
  uniques: [{ name: "provider_sessions_api_key_unique", properties: ["apiKey"] }],
  indexes: [
    {
      name: "provider_sessions_sid_index",
      expression: "create index provider_sessions_sid_index on provider_sessions (provider, sid) where sid is not null",
    },
    { name: "provider_sessions_subject_index", properties: ["provider", "subject"] },
    {
      name: "provider_sessions_check_index",
      expression:
        "create index provider_sessions_check_index on provider_sessions (check_at) where check_at is not null",
    },
    {
      name: "provider_sessions_key_index",
      expression: "create index provider_sessions_key_index on provider_sessions (key_id, id) where key_id is not null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    apiKey: () => p.manyToOne(ApiKey).ref().deleteRule("cascade").index(false),
    /** Name of the provider. */
    provider: p.string().length(longestName),
    /** That of the ID token, without a final slash. */
    issuer: p.string().length(longestUrl),
    /** The `sub` of the person there, also where another claim identifies people. */
    subject: p.string().length(longestSubject),
    /** The name of the session there. */
    sid: p.string().length(longestSubject).nullable(),
    /** The tokens of the provider, encrypted. */
    tokensCiphertext: p.type("bytea").$type<Buffer>().nullable(),
    tokensNonce: p.type("bytea").$type<Buffer>().nullable(),
    key: () => p.manyToOne(EncryptionKey).ref().nullable().index(false),
    /** When the provider is asked again about the person; null if it is not. */
    checkAt: moment().nullable(),
    createdAt: moment(),
  },
});
export class ProviderSession extends ProviderSessionSchema.class {}
ProviderSessionSchema.setClass(ProviderSession);

/** States of completed sign-ins with a provider, and the logouts of providers. Each can be used once. */
export const SpentSignInSchema = defineEntity({
  name: "SpentSignIn",
  tableName: "spent_sign_ins",
  properties: {
    stateHash: p.type("bytea").$type<Buffer>().primary(),
    /** When the state expires and the row can be deleted. */
    expiresAt: moment().index("spent_sign_ins_expiry_index"),
  },
});
export class SpentSignIn extends SpentSignInSchema.class {}
SpentSignInSchema.setClass(SpentSignIn);
