import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { User } from "./users.js";

/** The identity at a provider by which a user signs in. A user has at most one. */
const UserLinkSchema = defineEntity({
  name: "UserLink",
  tableName: "user_links",
  uniques: [{ name: "user_links_user_unique", properties: ["user"] }],
  properties: {
    provider: p.enum(["oidc", "github"]).primary(),
    /** Who vouches for the subject: the URL of the provider. */
    issuer: p.string().length(2048).primary(),
    /** What the issuer calls the person, for good. */
    subject: p.string().length(255).primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade"),
    createdAt: moment(),
  },
});
export class UserLink extends UserLinkSchema.class {}
UserLinkSchema.setClass(UserLink);

/** The one-time passcode of a user, and when the last ones were made. */
const OneTimePasscodeSchema = defineEntity({
  name: "OneTimePasscode",
  tableName: "one_time_passcodes",
  properties: {
    user: () => p.manyToOne(User).primary().ref().deleteRule("cascade"),
    /** SHA-256 of the code; null once it was used. */
    codeHash: p.type("bytea").$type<Buffer>().nullable(),
    expiresAt: moment(),
    /** Tries so far, right and wrong ones. */
    attempts: p.integer().default(0),
    /** When codes were made during the last hour, oldest first. */
    requestedAt: p.type("timestamptz[]").$type<string[]>(),
  },
});
export class OneTimePasscode extends OneTimePasscodeSchema.class {}
OneTimePasscodeSchema.setClass(OneTimePasscode);

/** A user's wish to sign in through a provider from now on, until the provider confirms it. The last one counts. */
const LoginConversionSchema = defineEntity({
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

/** The state of a finished sign-in through a provider: it is good for one. */
const SpentSignInSchema = defineEntity({
  name: "SpentSignIn",
  tableName: "spent_sign_ins",
  properties: {
    stateHash: p.type("bytea").$type<Buffer>().primary(),
    /** The state itself would end here; the row may go. */
    expiresAt: moment().index("spent_sign_ins_expiry_index"),
  },
});
export class SpentSignIn extends SpentSignInSchema.class {}
SpentSignInSchema.setClass(SpentSignIn);
