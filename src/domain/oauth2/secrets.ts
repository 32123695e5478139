import { hashSecret, randomParts } from "../tokens/token-text.js";

/** The secrets of the protocol other than access tokens, and the letter of each in its text. */
const letters = {
  clientSecret: "s",
  code: "c",
  refreshToken: "r",
  deviceCode: "d",
  registrationToken: "m",
} as const;

export type SecretKind = keyof typeof letters;

/** A new secret. Its text is returned once; the id and the hash are stored. */
export interface NewSecret {
  /** Public part, 10 characters. */
  id: string;
  text: string;
  secretHash: Buffer;
}

/** Creates a secret of the form `stw<letter>_<id>_<secret>`, with 256 random bits. */
export function newSecret(kind: SecretKind): NewSecret {
  const { id, secret } = randomParts();
  return { id, text: `stw${letters[kind]}_${id}_${secret}`, secretHash: hashSecret(secret) };
}

const form = /^stw([scrdm])_([0-9A-Za-z]{10})_([0-9A-Za-z]{43})$/;

/** Parses a secret of one kind. Returns `undefined` for any other text. */
export function parseSecret(kind: SecretKind, text: string): { id: string; secret: string } | undefined {
  const [, letter, id, secret] = form.exec(text) ?? [];
  return letter === letters[kind] && id && secret ? { id, secret } : undefined;
}
