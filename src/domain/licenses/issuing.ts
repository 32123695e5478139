import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { CompactSign } from "jose";
import type { LicenseClaims } from "./claims.js";
import { licenseType } from "./verification.js";

/** Generates a key pair to sign licenses: the private key as PKCS#8 PEM, the public key as a JWK. */
export function newLicenseKey(kid: string): { pem: string; jwk: Record<string, unknown> } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    pem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    jwk: { ...publicKey.export({ format: "jwk" }), kid },
  };
}

/** Signs the claims as a license (RFC 7515 §7.1). */
export const signLicense = (claims: LicenseClaims, kid: string, key: KeyObject): Promise<string> =>
  new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: "EdDSA", typ: licenseType, kid })
    .sign(key);
