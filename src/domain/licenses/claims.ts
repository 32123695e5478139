import { quote } from "../kernel/errors.js";
import { emailProblem } from "../kernel/text.js";

/** The claims of a license. Times are in seconds since the epoch. */
export interface LicenseClaims {
  iss: "steward";
  version: 1;
  iat: number;
  nbf: number;
  /** The end of the grace period. */
  exp: number;
  /** The end of the paid term. */
  license_expires: number;
  account_type: string;
  account_id: string;
  jti?: string;
  /** An email address. */
  sub?: string;
  /** The deployments that may use it; any if absent or empty. */
  deployment_ids?: string[];
  feature_set?: string;
  /** By feature name: a limit, or a number above 0 if granted. */
  features?: Record<string, number>;
  trial?: boolean;
  require_telemetry?: boolean;
}

/** The supported feature sets, in lower case. */
export const featureSets = ["", "enterprise", "premium"] as const;

const maxTermYears = 5;

/** Lists the faults of claims, one sentence each; empty if they are valid `LicenseClaims`. */
export function claimFaults(claims: Record<string, unknown>): string[] {
  const malformed = Object.entries(forms).filter(([name, { holds }]) => !holds(claims[name]));
  const faults = malformed.map(([name, { rule }]) => `${name} must be ${rule}.`);
  return [...faults, ...orderFaults(claims)];
}

interface Form {
  holds: (value: unknown) => boolean;
  /** Completes "must be". */
  rule: string;
}

/** The last second of the year 9999, the maximum of RFC 3339. */
const lastSecond = 253_402_300_799;

export const isTime = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= lastSecond;

const isName = (value: unknown) => typeof value === "string" && value.length > 0 && value.length <= 200;
const isWholeNumber = (value: unknown) => Number.isInteger(value) && Math.abs(Number(value)) <= 2_147_483_647;
const isMapOfNumbers = (value: unknown) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isWholeNumber);

const exactly = (wanted: unknown): Form => ({ holds: (value) => value === wanted, rule: JSON.stringify(wanted) });
const time: Form = { holds: isTime, rule: "a time in whole seconds since 1970" };
const name: Form = { holds: isName, rule: "1 to 200 characters of text" };
const optional = ({ holds, rule }: Form): Form => ({
  holds: (value) => value === undefined || holds(value),
  rule: `${rule}, or absent`,
});
const text = (holds: (value: string) => boolean, rule: string): Form => ({
  holds: (value) => typeof value === "string" && holds(value),
  rule,
});
const truth: Form = { holds: (value) => typeof value === "boolean", rule: "true or false" };

const forms: Record<keyof LicenseClaims, Form> = {
  iss: exactly("steward"),
  version: exactly(1),
  iat: time,
  nbf: time,
  exp: time,
  license_expires: time,
  account_type: name,
  account_id: name,
  jti: optional(text(() => true, "text")),
  sub: optional(text((value) => emailProblem(value) === undefined, "an email address")),
  deployment_ids: optional({
    holds: (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
    rule: "a list of deployment ids",
  }),
  feature_set: optional(
    text(
      (value) => (featureSets as readonly string[]).includes(value.toLowerCase()),
      `one of ${featureSets.map((set) => quote(set)).join(", ")}`,
    ),
  ),
  features: optional({ holds: isMapOfNumbers, rule: "a map from names to whole numbers of 32 bits" }),
  trial: optional(truth),
  require_telemetry: optional(truth),
};

/** Lists times in the wrong order. Malformed times, reported elsewhere, become NaN and compare as false. */
function orderFaults(claims: Record<string, unknown>): string[] {
  const timeOf = (claim: keyof LicenseClaims) => (isTime(claims[claim]) ? claims[claim] : NaN);
  const [iat, nbf, exp, end] = [timeOf("iat"), timeOf("nbf"), timeOf("exp"), timeOf("license_expires")];
  const faults: string[] = [];
  if (nbf >= exp) faults.push("nbf must be before exp.");
  if (end <= nbf) faults.push("license_expires must be after nbf.");
  if (end > exp) faults.push("license_expires must not be after exp.");
  if (end > latestEnd(iat)) faults.push(`license_expires must be at most ${maxTermYears} years after iat.`);
  return faults;
}

function latestEnd(iat: number): number {
  const end = new Date(iat * 1000);
  return end.setUTCFullYear(end.getUTCFullYear() + maxTermYears) / 1000;
}
