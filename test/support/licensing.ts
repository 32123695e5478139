// A license vendor: its keys, and license tokens signed with them, valid and invalid.
import { generateKeyPairSync } from "node:crypto";
import { CompactSign } from "jose";

export const second = 1_000;

/** Seconds since the epoch. */
export const now = () => Math.floor(Date.now() / second);

const day = 86_400;

/** Claims of a premium license with a term of a year and a grace period of a month. */
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

  /** A signed token with these claims and any header. */
  sign = (claims: object, header: object = {}): Promise<string> =>
    new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: "EdDSA", typ: "steward-license+jwt", kid: this.kid, ...header })
      .sign(this.#key.privateKey);

  /** A token that is valid except for these claims. */
  license = (claims: object = {}): Promise<string> => this.sign({ ...goodClaims(), ...claims });
}

/** Value of the setting that makes servers trust these vendors. */
export const trusting = (...vendors: Vendor[]) => ({
  STEWARD_LICENSE_KEYS: JSON.stringify({ keys: vendors.map(({ jwk }) => jwk) }),
});

const part = (value: object | string) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

/** An unsigned token. */
export const madeUp = (claims: object | string, header: object | string = { alg: "none" }) =>
  `${part(header)}.${part(claims)}.${part("signature")}`;
