import type { LicenseClaims } from "../licenses/claims.js";
import { type FeatureName, featureNames } from "./features.js";
import type { EntitlementSet, FeatureState, UsagePeriod } from "./state.js";
import { Entitlement, type Grants, grantsAt } from "./license-grants.js";
import { levelAt } from "../licenses/grace-period.js";
import { monthOf, type Period, type Usage } from "./usage.js";
import { warningsOf } from "./warnings.js";

/** The input of the computation. */
export interface EntitlementInputs {
  /** The valid licenses, future and expired ones included; `undefined` if no keys are configured and none is needed. */
  licenses: readonly LicenseClaims[] | undefined;
  /** The faults of the invalid licenses. */
  errors: readonly string[];
  usage: Usage;
  countManagedAgents: (period: Period) => Promise<number>;
  /** Whether the settings enable the connection log. */
  hasConnectionLog: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Computes the entitlements of the deployment. */
export async function entitlementsFrom(inputs: EntitlementInputs): Promise<EntitlementSet> {
  const { licenses, errors, now } = inputs;
  const grants = licenses ? grantsAt(licenses, now) : undefined;
  const features = await featureStates(inputs, grants);
  const effective = (licenses ?? []).filter((claims) => levelAt(claims, now));
  return {
    features,
    errors,
    warnings: licenses ? warningsOf(licenses, features, inputs.usage.inUse, now) : [],
    hasLicense: effective.length > 0,
    trial: effective.length > 0 && effective.every(({ trial }) => trial),
    requireTelemetry: effective.some(({ require_telemetry: isRequired }) => isRequired),
    refreshedAt: text(now),
  };
}

/** The state of every feature. Without `grants` (no license is needed), all features are entitled. */
async function featureStates(inputs: EntitlementInputs, grants: Grants | undefined): Promise<FeatureState[]> {
  const period = periodOf(grants, inputs.now);
  const actual: Partial<Record<FeatureName, number>> = {
    user_limit: inputs.usage.activeUsers,
    managed_agent_limit: await inputs.countManagedAgents(period),
  };
  return featureNames.map((name) => {
    const grant = grants?.get(name);
    const entitlement = grants ? (grant?.level ?? Entitlement.NOT_ENTITLED) : Entitlement.ENTITLED;
    const isOn = name !== "connection_log" || inputs.hasConnectionLog;
    return {
      name,
      entitlement,
      enabled: entitlement !== Entitlement.NOT_ENTITLED && isOn,
      limit: name in actual ? (grant?.amount ?? null) : null,
      actual: actual[name] ?? null,
      usagePeriod: name === "managed_agent_limit" ? texts(period) : null,
    };
  });
}

type LicensedPeriod = Period & { issuedAt?: number };

/** The term of the license that limits managed agents, else the calendar month. */
function periodOf(grants: Grants | undefined, now: number): LicensedPeriod {
  const claims = grants?.get("managed_agent_limit")?.claims;
  if (!claims) return monthOf(now);
  return { issuedAt: claims.iat * 1000, start: claims.nbf * 1000, end: claims.license_expires * 1000 };
}

const texts = ({ issuedAt, start, end }: LicensedPeriod): UsagePeriod => ({
  issuedAt: issuedAt === undefined ? null : text(issuedAt),
  start: text(start),
  end: text(end),
});

const text = (time: number) => new Date(time).toISOString();
