import { compactVerify } from "jose";
import { quote } from "../kernel/errors.js";
import { claimFaults, isTime, type LicenseClaims } from "./claims.js";
import type { LicenseKeys } from "./license-keys.js";
import { type LicenseToken, readToken, tokenRule } from "./token.js";

/** The result of a verification: the claims, or the faults. */
export type Verdict = { claims: LicenseClaims; faults?: undefined } | { claims?: undefined; faults: string[] };

/** Accepted values of `alg`: EdDSA is the older name of Ed25519 (RFC 9864 §2.2). */
const algorithms = ["EdDSA", "Ed25519"];
export const licenseType = "steward-license+jwt";

/** Verifies format, signature, expiry, and claims at a time in milliseconds since the epoch. */
export async function verifyLicense(text: string, keys: LicenseKeys, at: number): Promise<Verdict> {
  const token = readToken(text);
  if (!token) return { faults: [`Must be ${tokenRule}.`] };
  const faults = [...headerFaults(token), ...keyFaults(token, keys)];
  if (faults.length === 0 && !(await isSigned(text, token, keys))) faults.push("The signature does not fit.");
  if (faults.length === 0) faults.push(...contentFaults(token, at));
  return faults.length > 0 ? { faults } : { claims: token.claims as unknown as LicenseClaims };
}

/** Lists the faults of the header, independent of the signature. */
export function headerFaults({ header: { alg, typ } }: LicenseToken): string[] {
  const faults: string[] = [];
  if (!algorithms.includes(alg as string)) faults.push(`The algorithm must be ${algorithms.join(" or ")}.`);
  if (typ !== licenseType) faults.push(`The type must be ${licenseType}.`);
  return faults;
}

function keyFaults({ header: { kid } }: LicenseToken, keys: LicenseKeys): string[] {
  if (typeof kid !== "string") return ["The header must name the key."];
  return keys.has(kid) ? [] : [`The key ${quote(kid)} is not one that this deployment trusts.`];
}

/** Lists the faults of expiry and claims, independent of the signature. */
export const contentFaults = (token: LicenseToken, at: number): string[] =>
  isOver(token, at) ? ["The license has expired."] : claimFaults(token.claims);

const isSigned = (text: string, { header }: LicenseToken, keys: LicenseKeys): Promise<boolean> =>
  compactVerify(text, keys.get(header.kid as string)!, { algorithms }).then(
    () => true,
    () => false,
  );

/** Reports whether the license covers the deployment. */
export const isFor = (deploymentId: string, { deployment_ids: ids = [] }: LicenseClaims): boolean =>
  ids.length === 0 || ids.some((id) => id.toLowerCase() === deploymentId);

/** The end of the grace period in milliseconds since the epoch; `undefined` if `exp` is absent or malformed. */
export const endOf = ({ claims: { exp } }: LicenseToken): number | undefined => (isTime(exp) ? exp * 1000 : undefined);

export const isOver = (token: LicenseToken, at: number): boolean => (endOf(token) ?? Infinity) <= at;
