import { createPublicKey, type KeyObject } from "node:crypto";

/** The trusted Ed25519 public keys, by `kid`. */
export type LicenseKeys = ReadonlyMap<string, KeyObject>;

export const licenseKeysRule =
  "a JWKS of Ed25519 public keys with different `kid`s, as `steward license keygen` writes it";

/** Parses a JWK Set (RFC 7517 §5) of OKP public keys (RFC 8037 §2); `undefined` if any is invalid or private. */
export function readLicenseKeys(text: string): LicenseKeys | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys: Array<Record<string, unknown>> };
    const read = new Map(keys.map((key) => [key.kid as string, publicKey(key)]));
    return read.size > 0 && read.size === keys.length ? read : undefined;
  } catch {
    return undefined;
  }
}

function publicKey({ kty, crv, x, kid, d }: Record<string, unknown>): KeyObject {
  const isOurs = kty === "OKP" && crv === "Ed25519" && typeof x === "string" && d === undefined;
  if (!isOurs || typeof kid !== "string" || kid === "") throw new Error("Not an Ed25519 public key with an id.");
  return createPublicKey({ key: { kty, crv, x }, format: "jwk" });
}
