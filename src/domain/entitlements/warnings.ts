import type { LicenseClaims } from "../licenses/claims.js";
import type { Feature, FeatureName, LimitFeature } from "./features.js";
import { Entitlement, grantsAt } from "./license-grants.js";
import { levelAt } from "../licenses/grace-period.js";
import type { FeatureState } from "./state.js";

const day = 86_400_000;

/** Milliseconds before the end of a term at which warnings start. */
const noticePeriod = ({ trial }: LicenseClaims) => (trial ? 7 : 30) * day;

/** The warnings for operators, without duplicates. */
export function warningsOf(
  licenses: readonly LicenseClaims[],
  features: readonly FeatureState[],
  inUse: readonly Feature[],
  now: number,
): string[] {
  return [
    ...new Set([
      ...termsEnding(licenses, now),
      ...gracePeriods(licenses, now),
      ...excesses(features),
      ...features
        .filter(({ name, entitlement }) => entitlement === Entitlement.NOT_ENTITLED && isUsed(inUse, name))
        .map(({ name }) => `${name} is in use, but not licensed.`),
    ]),
  ];
}

const isUsed = (inUse: readonly string[], name: FeatureName) => inUse.includes(name);

/** Warnings about terms that end soon, unless other licenses continue all of their features. */
function termsEnding(licenses: readonly LicenseClaims[], now: number): string[] {
  const present = licenses.filter((claims) => levelAt(claims, now) === "entitled");
  return present.flatMap((claims) => {
    const end = claims.license_expires * 1000;
    if (end - now > noticePeriod(claims)) return [];
    const then = grantsAt(licenses, end);
    const ending = [...grantsAt([claims], now).keys()].filter((name) => then.get(name)?.level !== "entitled");
    return ending.length > 0 ? [`The license term ends at ${text(end)}: ${ending.join(", ")}.`] : [];
  });
}

/** Warnings about features in their grace period. */
function gracePeriods(licenses: readonly LicenseClaims[], now: number): string[] {
  const byEnd = Map.groupBy(
    [...grantsAt(licenses, now)].filter(([, { level }]) => level === "grace_period"),
    ([, { claims }]) => claims.exp * 1000,
  );
  return [...byEnd].map(([end, grants]) => {
    const names = grants.map(([name]) => name).join(", ");
    return `The license term is over, and the grace period ends at ${text(end)}: ${names}.`;
  });
}

const counted: Record<LimitFeature, string> = {
  user_limit: "active users",
  managed_agent_limit: "managed agents",
};

const excesses = (features: readonly FeatureState[]): string[] =>
  features
    .filter(({ limit, actual }) => limit !== null && actual !== null && actual > limit)
    .map(
      ({ name, limit, actual }) => `There are ${actual} ${counted[name as LimitFeature]}; the license is for ${limit}.`,
    );

const text = (time: number) => new Date(time).toISOString();
