import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** What a key of a user is for. */
export const TokenKind = {
  SESSION: "session",
  TOKEN: "token",
  OAUTH: "oauth",
  APPLICATION: "application",
} as const;
export type TokenKind = (typeof TokenKind)[keyof typeof TokenKind];

/** The kinds as the text of a token names them. */
const abbreviations = { session: "se", token: "ak", oauth: "oa", application: "ap" } as const satisfies Record<
  TokenKind,
  string
>;

const kinds = new Map<string, TokenKind>(
  Object.entries(abbreviations).map(([kind, abbreviation]) => [abbreviation, kind as TokenKind]),
);

/** A token as its holder shows it: which key it claims to be, and the proof. */
export interface Token {
  kind: TokenKind;
  id: string;
  secret: string;
}

/** A token just made: its text goes to its holder once, the rest is stored. */
export interface NewToken {
  id: string;
  text: string;
  secretHash: Buffer;
}

const form = /^stw_(se|ak|ap|oa)_([0-9A-Za-z]{10})-([0-9A-Za-z]{43})$/;

/** Reads `stw_<kind>_<id>-<secret>`; `undefined` if the text has another form. */
export function parseToken(text: string): Token | undefined {
  const parts = form.exec(text);
  return parts ? { kind: kinds.get(parts[1]!)!, id: parts[2]!, secret: parts[3]! } : undefined;
}

/** Makes a token. The id is public and names its key; the secret has 256 bits and is stored as its SHA-256 only. */
export function newToken(kind: TokenKind): NewToken {
  const [id, secret] = [randomText(10), randomText(43)];
  return { id, text: `stw_${abbreviations[kind]}_${id}-${secret}`, secretHash: hashSecret(secret) };
}

/** The SHA-256 of a random secret. Random secrets need no slow hash: nobody can try them all. */
export const hashSecret = (secret: string): Buffer => hash("sha256", secret, "buffer");

/** Whether the secret has the hash, in a time that does not tell how much of it is right. */
export const isSecretOf = (secretHash: Buffer, given: string): boolean =>
  timingSafeEqual(hashSecret(given), secretHash);

const alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Characters of `[0-9A-Za-z]`, or of another alphabet, from the system's generator, each equally likely. */
export function randomText(length: number, alphabet = alphanumerics): string {
  /** Bytes from here on would make some characters likelier than others. */
  const unbiased = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) if (byte < unbiased) text += alphabet[byte % alphabet.length];
  }
  return text;
}
