import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** Maximum length in characters of the subject of a provider, which the column and the input have. */
export const longestSubject = 255;

/** Identities of users at identity providers, at most one per user. */
export const UserLinkSchema = defineEntity({
  name: "UserLink",
  tableName: "user_links",
  uniques: [{ name: "user_links_user_unique", properties: ["user"] }],
  properties: {
    provider: p.enum(["oidc", "github"]).primary(),
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

/** States of completed sign-ins with a provider. Each state can be used once. */
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
