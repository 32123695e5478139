import { hash, timingSafeEqual } from "node:crypto";
import { randomText } from "../../runtime/random.js";

/** The purpose of a user's key. */
export const TokenKind = {
  SESSION: "session",
  TOKEN: "token",
  OAUTH: "oauth",
  APPLICATION: "application",
} as const;
export type TokenKind = (typeof TokenKind)[keyof typeof TokenKind];

/** The kinds as spelled in the text of a token. */
const abbreviations = { session: "se", token: "ak", oauth: "oa", application: "ap" } as const satisfies Record<
  TokenKind,
  string
>;

const kinds = new Map<string, TokenKind>(
  Object.entries(abbreviations).map(([kind, abbreviation]) => [abbreviation, kind as TokenKind]),
);

/** A parsed token: the id of a key, and its secret. */
export interface Token {
  kind: TokenKind;
  id: string;
  secret: string;
}

/** A new token. Its text is returned to the holder once; id and hash are stored. */
export interface NewToken {
  id: string;
  text: string;
  secretHash: Buffer;
}

const form = /^stw_(se|ak|ap|oa)_([0-9A-Za-z]{10})-([0-9A-Za-z]{43})$/;

/** Parses `stw_<kind>_<id>-<secret>`; `undefined` for any other text. */
export function parseToken(text: string): Token | undefined {
  const parts = form.exec(text);
  return parts ? { kind: kinds.get(parts[1]!)!, id: parts[2]!, secret: parts[3]! } : undefined;
}

/** Creates a token. The id is public and identifies the key; of the secret, of 256 bits, only the SHA-256 is stored. */
export function newToken(kind: TokenKind): NewToken {
  const { id, secret } = randomParts();
  return { id, text: `stw_${abbreviations[kind]}_${id}-${secret}`, secretHash: hashSecret(secret) };
}

/** A random id and a secret of 256 bits. */
export function randomParts(): { id: string; secret: string } {
  const text = randomText(53);
  return { id: text.slice(0, 10), secret: text.slice(10) };
}

/** The SHA-256 of a random secret. Random secrets do not need a slow hash, since they cannot be enumerated. */
export const hashSecret = (secret: string): Buffer => hash("sha256", secret, "buffer");

/** Whether the secret has the hash, in constant time. */
export const isSecretOf = (secretHash: Buffer, given: string): boolean =>
  timingSafeEqual(hashSecret(given), secretHash);
