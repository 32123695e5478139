// Somebody who sells licences: keys, and tokens signed with them, good ones and bad ones.
import { generateKeyPairSync } from "node:crypto";
import { CompactSign } from "jose";

export const second = 1_000;

/** Seconds since the epoch. */
export const now = () => Math.floor(Date.now() / second);

const day = 86_400;

/** A premium licence whose term lasts a year and whose grace lasts a month. */
export const goodClaims = () => ({
  iss: "steward",
  version: 1,
  iat: now(),
  nbf: now() - 60,
  exp: now() + 395 * day,
  license_expires: now() + 365 * day,
  account_type: "direct",
  account_id: "acme",
  feature_set: "premium",
  features: {},
});

export class Vendor {
  readonly #key = generateKeyPairSync("ed25519");

  constructor(readonly kid = "k1") {}

  get jwk() {
    return { ...this.#key.publicKey.export({ format: "jwk" }), kid: this.kid };
  }

  /** A token with these claims, and whatever header. */
  sign = (claims: object, header: object = {}): Promise<string> =>
    new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "EdDSA", typ: "steward-license+jwt", kid: this.kid, ...header })
      .sign(this.#key.privateKey);

  /** A good licence but for these claims. */
  license = (claims: object = {}): Promise<string> => this.sign({ ...goodClaims(), ...claims });
}

/** The setting that makes servers trust these vendors. */
export const trusting = (...vendors: Vendor[]) => ({
  STEWARD_LICENSE_KEYS: JSON.stringify({ keys: vendors.map(({ jwk }) => jwk) }),
});

const part = (value: object | string) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** A token that nobody signed. */
export const madeUp = (claims: object | string, header: object | string = { alg: "none" }) =>
  `${part(header)}.${part(claims)}.${part("signature")}`;
