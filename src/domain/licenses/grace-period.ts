import type { LicenseClaims } from "./claims.js";

/**
 * The level of a license at a time: in its grace period from the end of its paid term to its own end, `undefined` before its
 * start and after that.
 */
export function levelAt(
  { nbf, exp, license_expires: end }: LicenseClaims,
  at: number,
): "entitled" | "grace_period" | undefined {
  const second = at / 1000;
  if (second < nbf || second >= exp) return undefined;
  return second < end ? "entitled" : "grace_period";
}

/** The next time after `at` at which a license changes its level, in milliseconds since the epoch, or `Infinity`. */
export const nextChange = (licenses: readonly LicenseClaims[], at: number): number =>
  Math.min(
    ...licenses
      .flatMap(({ nbf, exp, license_expires: end }) => [nbf, end, exp].map((second) => second * 1000))
      .filter((time) => time > at),
  );
