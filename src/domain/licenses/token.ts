import { isDeeper, isObject } from "../../runtime/json.js";

/** A decoded license. Its signature is not verified. */
export interface LicenseToken {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
}

const maxBytes = 16_384;

/** Maximum nesting of objects and lists; very deep values would overflow `JSON.stringify`. */
const maxDepth = 32;

/** The format that `readToken` accepts. Completes "must be". */
export const tokenRule =
  "a license as a JWT: three parts in base64url, of which the first two are JSON objects, at most 16 KiB";

/** Decodes a JWS in compact serialization (RFC 7515 §3.1) without verifying its signature. */
export function readToken(text: string): LicenseToken | undefined {
  if (text.length > maxBytes) return undefined;
  const parts = text.split(".").map(bytesOf);
  if (parts.length !== 3 || parts.includes(undefined)) return undefined;
  const [header, claims] = parts.map((part) => objectIn(part!));
  return header && claims && { header, claims };
}

/** Decodes strictly: only one encoding of a license is accepted. */
function bytesOf(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, "base64url");
  return bytes.length > 0 && bytes.toString("base64url") === part ? bytes : undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function objectIn(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return isObject(value) && !isDeeper(value, maxDepth) ? value : undefined;
  } catch {
    return undefined;
  }
}
