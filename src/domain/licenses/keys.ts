import { createPublicKey, type KeyObject } from "node:crypto";

/** The Ed25519 keys that may have signed a licence, by `kid`. */
export type LicenseKeys = ReadonlyMap<string, KeyObject>;

export const licenseKeysRule =
  "a JWKS of Ed25519 public keys with different `kid`s, as `steward license keygen` writes it";

/** Reads a JWK Set (RFC 7517 §5) of OKP keys (RFC 8037 §2). A private key is refused: it has no business on a server. */
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
