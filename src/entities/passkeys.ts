import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { longestLabel } from "./lengths.js";
import { User } from "./users.js";

/** Passkeys of users: public keys of WebAuthn, whose private keys are in authenticators. */
export const PasskeySchema = defineEntity({
  name: "Passkey",
  tableName: "passkeys",
  uniques: [{ name: "passkeys_credential_id_unique", properties: ["credentialId"] }],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade").index("passkeys_user_index"),
    name: p.string().length(longestLabel),
    /** The name of the key in its authenticator. */
    credentialId: p.type("bytea").$type<Buffer>(),
    /** In the form of COSE (RFC 9052). */
    publicKey: p.type("bytea").$type<Buffer>(),
    /** How often the authenticator has signed, as far as is known; 0 for those that do not count. */
    signCount: p.bigint("number"),
    /** How browsers reach the authenticator, such as `usb` or `internal`. */
    transports: p.array().default([]),
    /** Whether copies of the private key exist, such as in the account of a platform. */
    isBackedUp: p.boolean(),
    createdAt: moment(),
    lastUsedAt: moment().nullable(),
  },
});
export class Passkey extends PasskeySchema.class {}
PasskeySchema.setClass(Passkey);

/** Random values that passkeys sign. Each counts once, for a few minutes. */
export const PasskeyChallengeSchema = defineEntity({
  name: "PasskeyChallenge",
  tableName: "passkey_challenges",
  properties: {
    /** SHA-256 of the challenge. */
    challengeHash: p.type("bytea").$type<Buffer>().primary(),
    purpose: p.enum(["add", "prove", "complete", "sign_in"]),
    /** The user whose passkeys can sign it; null for those of any. */
    user: () => p.manyToOne(User).ref().nullable().deleteRule("cascade").index("passkey_challenges_user_index"),
    /** The session that it is for; null for a sign-in. */
    keyId: p.string().length(10).nullable(),
    expiresAt: moment().index("passkey_challenges_expiry_index"),
  },
});
export class PasskeyChallenge extends PasskeyChallengeSchema.class {}
PasskeyChallengeSchema.setClass(PasskeyChallenge);
