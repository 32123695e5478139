import type { Services } from "../kernel/context.js";
import type { Feature } from "./features.js";
import type { EntitlementSet } from "./state.js";
import { forbidden } from "../kernel/errors.js";

export type { Feature } from "./features.js";
export { Entitlement } from "./license-grants.js";
export type { EntitlementSet } from "./state.js";

/** A `Context`, or the services of a background job. */
type Licensed = { services: Pick<Services, "entitlements"> };

/** Reports whether the licenses grant the feature, grace period included. Reads from memory. */
export const hasFeature = ({ services }: Licensed, feature: Feature): boolean => services.entitlements.grants(feature);

/** Throws FORBIDDEN unless the licenses grant the feature. Called after the permission check; never by deletions. */
export function requireFeature(ctx: Licensed, feature: Feature): void {
  if (!hasFeature(ctx, feature)) throw forbidden(`${feature} is not licensed on this deployment.`, { feature });
}

/** Returns the entitlements as last computed, for all signed-in callers. */
export const readEntitlements = ({ services }: Licensed): EntitlementSet => services.entitlements.current;
