import { randomBytes } from "node:crypto";

const alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns random characters, uniformly distributed over an alphabet. Default: `[0-9A-Za-z]`. */
export function randomText(length: number, alphabet = alphanumerics): string {
  /** Larger bytes are skipped: they would make some characters more probable. */
  const unbiased = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) if (byte < unbiased) text += alphabet[byte % alphabet.length];
  }
  return text;
}
