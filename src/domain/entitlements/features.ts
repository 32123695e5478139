/** Features with a limit. Usage beyond the limit causes a warning, not an error. */
export const limitFeatures = ["user_limit", "managed_agent_limit"] as const;

/** Features that a license enables. */
export const switchFeatures = [
  "audit_log",
  "connection_log",
  "scim",
  "template_rbac",
  "aibridge",
  "multiple_organizations",
  "multiple_external_auth",
  "external_provisioner_daemons",
  "appearance",
  "advanced_template_scheduling",
  "workspace_proxy",
  "workspace_prebuilds",
  "workspace_external_agent",
] as const;

export type LimitFeature = (typeof limitFeatures)[number];

/** A feature that is either available or rejected, by its name in licenses. */
export type Feature = (typeof switchFeatures)[number];

export type FeatureName = LimitFeature | Feature;

export const featureNames: readonly FeatureName[] = [...limitFeatures, ...switchFeatures];
