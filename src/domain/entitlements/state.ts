import type { FeatureName } from "./features.js";
import type { Entitlement } from "./license-grants.js";

/** The period in which usage of a limited feature is counted. Times are RFC 3339. */
export interface UsagePeriod {
  /** Null without a license. */
  issuedAt: string | null;
  start: string;
  end: string;
}

/** The entitlement to a feature and its actual usage. */
export interface FeatureState {
  name: FeatureName;
  entitlement: Entitlement;
  /** Whether it is available: entitled or in its grace period, and not disabled by a setting. */
  enabled: boolean;
  /** Null if unlimited. */
  limit: number | null;
  actual: number | null;
  usagePeriod: UsagePeriod | null;
}

/** The entitlements of the deployment at one time. */
export interface EntitlementSet {
  /** All features, in a fixed order. */
  features: readonly FeatureState[];
  errors: readonly string[];
  warnings: readonly string[];
  /** Whether any license is in effect. */
  hasLicense: boolean;
  /** Whether licenses are in effect and all of them are trials. */
  trial: boolean;
  requireTelemetry: boolean;
  refreshedAt: string;
}
