import type { LicenseClaims } from "../licenses/claims.js";
import { levelAt } from "../licenses/grace-period.js";
import { type Feature, type FeatureName, limitFeatures, switchFeatures } from "./features.js";

/** The level at which a feature is licensed. */
export const Entitlement = {
  ENTITLED: "entitled",
  GRACE_PERIOD: "grace_period",
  NOT_ENTITLED: "not_entitled",
} as const;
export type Entitlement = (typeof Entitlement)[keyof typeof Entitlement];

/** The best grant of a feature among the licenses. */
export interface Grant {
  level: "entitled" | "grace_period";
  /** The limit; 1 for features without one. */
  amount: number;
  claims: LicenseClaims;
}

export type Grants = ReadonlyMap<FeatureName, Grant>;

/** The best grant of each feature among the licenses at a time, in milliseconds since the epoch. */
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

const isBetter = (grant: Grant, other: Grant) =>
  grant.level === other.level ? grant.amount > other.amount : grant.level === "entitled";

const sets: Record<string, readonly Feature[]> = {
  "": [],
  enterprise: switchFeatures.filter((feature) => feature !== "multiple_organizations"),
  premium: switchFeatures,
};

/** The features of a license: its set, with single features added, limited, or removed by 0. */
function grantedBy({ feature_set: set = "", features = {} }: LicenseClaims): Map<FeatureName, number> {
  const granted = new Map<FeatureName, number>(sets[set.toLowerCase()]!.map((feature) => [feature, 1]));
  for (const feature of limitFeatures) if (features[feature]! >= 0) granted.set(feature, features[feature]!);
  for (const feature of switchFeatures) {
    if (features[feature]! > 0) granted.set(feature, 1);
    else if (features[feature] === 0) granted.delete(feature);
  }
  return granted;
}
