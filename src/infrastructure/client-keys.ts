import { createPrivateKey, type KeyObject, type webcrypto } from "node:crypto";
import { isObject, jsonIn } from "../runtime/json.js";

/** A private key with which this server signs assertions, and its ID among the public keys of the client. */
interface ClientKey {
  key: webcrypto.CryptoKey;
  kid?: string;
}

/** Completes "must be". */
export const clientKeyRule =
  "a private key as PEM or as a JWK: RSA of 2048 bits or more, an elliptic curve (P-256, P-384, P-521), or Ed25519";

/** Whether a text is a private key that can sign assertions. */
export const isClientKey = (text: string): boolean => algorithmOf(read(text)?.key) !== undefined;

/** Reads a private key. Throws for a text that is none. */
export async function importClientKey(text: string): Promise<ClientKey> {
  const { key, kid } = read(text) ?? {};
  const algorithm = algorithmOf(key);
  if (!key || !algorithm) throw new Error(`The key of the client must be ${clientKeyRule}.`);
  const bytes = key.export({ format: "der", type: "pkcs8" });
  return {
    key: await crypto.subtle.importKey("pkcs8", bytes, algorithm, false, ["sign"]),
    ...(kid !== undefined && { kid }),
  };
}

function read(text: string): { key: KeyObject; kid?: string } | undefined {
  try {
    if (!text.trimStart().startsWith("{")) return { key: createPrivateKey(text) };
    const jwk = jsonIn(text);
    if (!isObject(jwk)) return undefined;
    const key = createPrivateKey({ key: jwk, format: "jwk" });
    return { key, ...(typeof jwk.kid === "string" && { kid: jwk.kid }) };
  } catch {
    return undefined;
  }
}

const curves: Readonly<Record<string, string>> = { prime256v1: "P-256", secp384r1: "P-384", secp521r1: "P-521" };

type Algorithm = webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams | webcrypto.Algorithm;

function algorithmOf(key: KeyObject | undefined): Algorithm | undefined {
  const { namedCurve = "", modulusLength = 0 } = key?.asymmetricKeyDetails ?? {};
  switch (key?.asymmetricKeyType) {
    case "rsa":
      return modulusLength >= 2048 ? { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } : undefined;
    case "ec":
      return curves[namedCurve] === undefined ? undefined : { name: "ECDSA", namedCurve: curves[namedCurve] };
    case "ed25519":
      return { name: "Ed25519" };
    default:
      return undefined;
  }
}
