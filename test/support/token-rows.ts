// Tokens and the hashes that the tables have of them. Fixtures insert rows directly, since hundreds of sign-ins would take
// minutes. The forms are written again here: tokens that clients keep must stay valid in later releases.
import { hash } from "node:crypto";
import { randomText } from "./ids.js";

/** A token: its public id, its text, and the hash that is stored. */
export interface NewToken {
  id: string;
  text: string;
  secretHash: Buffer;
}

const keys = { session: "stw_se", token: "stw_ak", oauth: "stw_oa", application: "stw_ap" } as const;
const secrets = {
  clientSecret: "stws",
  code: "stwc",
  refreshToken: "stwr",
  deviceCode: "stwd",
  registrationToken: "stwm",
} as const;

/** Kinds of the keys of users. */
export type TokenKind = keyof typeof keys;

/** Kinds of the other secrets of OAuth2. */
export type SecretKind = keyof typeof secrets;

/** The SHA-256 of a random secret. */
export const hashSecret = (secret: string): Buffer => hash("sha256", secret, "buffer");

function make(prefix: string, separator: string): NewToken {
  const id = randomText(10);
  const secret = randomText(43);
  return { id, text: `${prefix}_${id}${separator}${secret}`, secretHash: hashSecret(secret) };
}

/** Makes the key of a user: `stw_<kind>_<id>-<secret>`. */
export const newToken = (kind: TokenKind): NewToken => make(keys[kind], "-");

/** Makes a secret of OAuth2: `stw<letter>_<id>_<secret>`. */
export const newSecret = (kind: SecretKind): NewToken => make(secrets[kind], "_");

/** The public id and the secret of the key of a user. */
export function parseToken(text: string): { id: string; secret: string } {
  const [, id, secret] = /^stw_[a-z]{2}_([0-9A-Za-z]{10})-([0-9A-Za-z]{43})$/.exec(text) ?? [];
  if (id === undefined || secret === undefined) throw new Error(`No token: ${text}`);
  return { id, secret };
}
