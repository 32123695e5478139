import type { LicenseClaims } from "../licenses/claims.js";
import { type Feature, type FeatureName, limitFeatures, switchFeatures } from "./features.js";

/** How far a feature is paid for. */
export const Entitlement = {
  ENTITLED: "entitled",
  GRACE_PERIOD: "grace_period",
  NOT_ENTITLED: "not_entitled",
} as const;
export type Entitlement = (typeof Entitlement)[keyof typeof Entitlement];

/** What the best of the licences gives of one feature. */
export interface Grant {
  level: "entitled" | "grace_period";
  /** 1 for what is only switched on. */
  amount: number;
  claims: LicenseClaims;
}

export type Grants = ReadonlyMap<FeatureName, Grant>;

/** What the licences grant together at a time, in milliseconds since the epoch: of each feature the best there is. */
export function grantsAt(licenses: readonly LicenseClaims[], at: number): Grants {
  const best = new Map<FeatureName, Grant>();
  for (const claims of licenses) {
    const level = levelAt(claims, at);
    if (!level) continue;
    for (const [feature, amount] of grantedBy(claims)) {
      const grant = { level, amount, claims };
      const other = best.get(feature);
      if (!other || isBetter(grant, other)) best.set(feature, grant);
    }
  }
  return best;
}

/** What a licence is good for at a time; nothing before it begins and after its grace period. */
export function levelAt({ nbf, exp, license_expires: end }: LicenseClaims, at: number): Grant["level"] | undefined {
  const second = at / 1000;
  if (second < nbf || second >= exp) return undefined;
  return second < end ? "entitled" : "grace_period";
}

/** The first time after this one at which a licence changes its level; `Infinity` if none ever does. */
export const nextChange = (licenses: readonly LicenseClaims[], at: number): number =>
  Math.min(
    ...licenses
      .flatMap(({ nbf, exp, license_expires: end }) => [nbf, end, exp].map((second) => second * 1000))
      .filter((time) => time > at),
  );

const isBetter = (grant: Grant, other: Grant) =>
  grant.level === other.level ? grant.amount > other.amount : grant.level === "entitled";

const sets: Record<string, readonly Feature[]> = {
  "": [],
  enterprise: switchFeatures.filter((feature) => feature !== "multiple_organizations"),
  premium: switchFeatures,
};

/** The features of the set, and what the licence says of single ones: a limit, granted, or 0 for left out. */
function grantedBy({ feature_set: set = "", features = {} }: LicenseClaims): Map<FeatureName, number> {
  const granted = new Map<FeatureName, number>(sets[set.toLowerCase()]!.map((feature) => [feature, 1]));
  for (const feature of limitFeatures) if (features[feature]! >= 0) granted.set(feature, features[feature]!);
  for (const feature of switchFeatures) {
    if (features[feature]! > 0) granted.set(feature, 1);
    else if (features[feature] === 0) granted.delete(feature);
  }
  return granted;
}
