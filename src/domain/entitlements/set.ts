import type { LicenseClaims } from "../licenses/claims.js";
import { type FeatureName, featureNames } from "./features.js";
import type { EntitlementSet, FeatureState, UsagePeriod } from "./state.js";
import { Entitlement, type Grants, grantsAt, levelAt } from "./grants.js";
import { monthOf, type Period, type Usage } from "./usage.js";
import { warningsOf } from "./warnings.js";

/** What a set is computed from. */
export interface Facts {
  /** The genuine licences, whatever their times; without any keys to tell them by, none is asked for. */
  licenses: readonly LicenseClaims[] | undefined;
  /** Why others are not genuine. */
  errors: readonly string[];
  usage: Usage;
  countManagedAgents: (period: Period) => Promise<number>;
  /** Whether connections are recorded at all. */
  connectionLog: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Computes what the deployment may use. */
export async function entitlementsFrom(facts: Facts): Promise<EntitlementSet> {
  const { licenses, errors, now } = facts;
  const grants = licenses ? grantsAt(licenses, now) : undefined;
  const features = await featureStates(facts, grants);
  const counting = (licenses ?? []).filter((claims) => levelAt(claims, now));
  return {
    features,
    errors,
    warnings: licenses ? warningsOf(licenses, features, facts.usage.inUse, now) : [],
    hasLicense: counting.length > 0,
    trial: counting.length > 0 && counting.every(({ trial }) => trial),
    requireTelemetry: counting.some(({ require_telemetry: isRequired }) => isRequired),
    refreshedAt: text(now),
  };
}

/** Without grants, as they are where licences are not asked for, everything is on. */
async function featureStates(facts: Facts, grants: Grants | undefined): Promise<FeatureState[]> {
  const period = periodOf(grants, facts.now);
  const actual: Partial<Record<FeatureName, number>> = {
    user_limit: facts.usage.activeUsers,
    managed_agent_limit: await facts.countManagedAgents(period),
  };
  return featureNames.map((name) => {
    const grant = grants?.get(name);
    const entitlement = grants ? (grant?.level ?? Entitlement.NOT_ENTITLED) : Entitlement.ENTITLED;
    const isOn = name !== "connection_log" || facts.connectionLog;
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

/** The term of the licence that limits managed agents, else the calendar month. */
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
