import { quote } from "../kernel/errors.js";
import { emailProblem } from "../kernel/text.js";

/** What a licence says. Times are seconds since the epoch. */
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
  /** An e-mail. */
  sub?: string;
  /** The deployments that may use it; all, if there are none. */
  deployment_ids?: string[];
  feature_set?: string;
  /** By the name of the feature: a limit, or above 0 for granted. */
  features?: Record<string, number>;
  trial?: boolean;
  require_telemetry?: boolean;
}

/** The sets of features there are, in lower case. */
export const featureSets = ["", "enterprise", "premium"] as const;

const longestTermInYears = 5;

/** What is wrong with the claims, one sentence per fault; nothing if they are `LicenseClaims`. */
export function claimFaults(claims: Record<string, unknown>): string[] {
  const ofForm = Object.entries(forms).filter(([name, { holds }]) => !holds(claims[name]));
  const faults = ofForm.map(([name, { rule }]) => `${name} must be ${rule}.`);
  return [...faults, ...orderFaults(claims)];
}

interface Form {
  holds: (value: unknown) => boolean;
  /** Follows "must be". */
  rule: string;
}

/** The last second of the year 9999: what comes later has no RFC 3339 form. */
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
  sub: optional(text((value) => emailProblem(value) === undefined, "an e-mail address")),
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

/** Faults of times against each other. What is no time has its own fault: as NaN it is neither before nor after. */
function orderFaults(claims: Record<string, unknown>): string[] {
  const timeOf = (claim: keyof LicenseClaims) => (isTime(claims[claim]) ? claims[claim] : NaN);
  const [iat, nbf, exp, end] = [timeOf("iat"), timeOf("nbf"), timeOf("exp"), timeOf("license_expires")];
  const faults: string[] = [];
  if (nbf >= exp) faults.push("nbf must be before exp.");
  if (end <= nbf) faults.push("license_expires must be after nbf.");
  if (end > exp) faults.push("license_expires must not be after exp.");
  if (end > longestTerm(iat)) faults.push(`license_expires must be at most ${longestTermInYears} years after iat.`);
  return faults;
}

function longestTerm(iat: number): number {
  const end = new Date(iat * 1000);
  return end.setUTCFullYear(end.getUTCFullYear() + longestTermInYears) / 1000;
}
