import type { FeatureName } from "./features.js";
import type { Entitlement } from "./grants.js";

/** When the use of a limited feature counts. Times are RFC 3339, as below. */
export interface UsagePeriod {
  /** Without a licence, none. */
  issuedAt: string | null;
  start: string;
  end: string;
}

/** What the deployment may do with a feature, and does. */
export interface FeatureState {
  name: FeatureName;
  entitlement: Entitlement;
  /** Whether it works: granted, grace included, and not switched off. */
  enabled: boolean;
  /** Null is unlimited. */
  limit: number | null;
  actual: number | null;
  usagePeriod: UsagePeriod | null;
}

/** What the deployment may use, as of one moment. */
export interface EntitlementSet {
  /** Each feature there is, always in the same order. */
  features: readonly FeatureState[];
  errors: readonly string[];
  warnings: readonly string[];
  /** Whether any licence counts. */
  hasLicense: boolean;
  /** Whether there are licences that count, and all of them are trials. */
  trial: boolean;
  requireTelemetry: boolean;
  refreshedAt: string;
}
