import * as z from "zod/mini";
import { quote } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { emailAddress, isValid } from "../kernel/values.js";

/** The last second of the year 9999, the maximum of RFC 3339. */
const lastSecond = 253_402_300_799;

export const isTime = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= lastSecond;

const isName = (value: unknown) => typeof value === "string" && value.length > 0 && value.length <= 200;
const isEmail = (value: unknown) => isValid(emailAddress, value);
const areTexts = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === "string");
const isWholeNumber = (value: unknown) => Number.isInteger(value) && Math.abs(Number(value)) <= 2_147_483_647;
const isMapOfNumbers = (value: unknown) => isObject(value) && Object.values(value).every(isWholeNumber);

/** The supported feature sets, in lower case. */
const featureSets = ["", "enterprise", "premium"];
const isFeatureSet = (value: unknown) => typeof value === "string" && featureSets.includes(value.toLowerCase());

const time = z.custom<number>(isTime, "a time in whole seconds since 1970");
const name = z.custom<string>(isName, "1 to 200 characters of text");
const flag = z.optional(z.boolean("true or false, or absent"));

/** Times are in seconds since the epoch. The messages complete "must be". */
const schema = z.object({
  iss: z.literal("steward", quote("steward")),
  version: z.literal(1, "1"),
  iat: time,
  nbf: time,
  /** The end of the grace period. */
  exp: time,
  /** The end of the paid term. */
  license_expires: time,
  account_type: name,
  account_id: name,
  jti: z.optional(z.string("text, or absent")),
  /** An email address. */
  sub: z.optional(z.custom<string>(isEmail, "an email address, or absent")),
  /** The deployments that may use it; any if absent or empty. */
  deployment_ids: z.optional(z.custom<string[]>(areTexts, "a list of deployment ids, or absent")),
  feature_set: z.optional(
    z.custom<string>(isFeatureSet, `one of ${featureSets.map((set) => quote(set)).join(", ")}, or absent`),
  ),
  /** By feature name: a limit, or a number above 0 if granted. */
  features: z.optional(
    z.custom<Record<string, number>>(isMapOfNumbers, "a map from names to whole numbers of 32 bits, or absent"),
  ),
  trial: flag,
  require_telemetry: flag,
});

/** The claims of a license. */
export type LicenseClaims = z.output<typeof schema>;

/** Lists the faults of claims, one sentence each; empty if they are valid `LicenseClaims`. */
export function claimFaults(claims: Record<string, unknown>): string[] {
  const { error } = z.safeParse(schema, claims);
  const malformed = error?.issues.map(({ path, message }) => `${String(path[0])} must be ${message}.`) ?? [];
  return [...malformed, ...orderFaults(claims)];
}

const maxTermYears = 5;

/** Lists times in the wrong order. Malformed times, reported elsewhere, become NaN and compare as false. */
function orderFaults(claims: Record<string, unknown>): string[] {
  const timeOf = (claim: keyof LicenseClaims) => (isTime(claims[claim]) ? claims[claim] : NaN);
  const iat = timeOf("iat");
  const nbf = timeOf("nbf");
  const exp = timeOf("exp");
  const end = timeOf("license_expires");
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
