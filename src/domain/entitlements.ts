import type { Services } from "../context.js";
import type { Feature } from "./entitlements/features.js";
import type { EntitlementSet } from "./entitlements/set.js";
import { forbidden } from "./errors.js";

export type { Feature } from "./entitlements/features.js";
export { Entitlement } from "./entitlements/grants.js";
export type { EntitlementSet } from "./entitlements/set.js";

/** A `Context` is one, and so are the services of a background job. */
type Licensed = { services: Pick<Services, "entitlements"> };

/** Whether the licences of the deployment grant the feature, grace included. Costs nothing: the set is at hand. */
export const hasFeature = ({ services }: Licensed, feature: Feature): boolean => services.entitlements.grants(feature);

/** Throws unless the licences grant the feature. Verbs call it after their permission check; deletions never do. */
export function requireFeature(ctx: Licensed, feature: Feature): void {
  if (!hasFeature(ctx, feature)) throw forbidden(`${feature} is not licensed on this deployment.`, { feature });
}

/** What the deployment may use, as computed last: for everybody who is signed in. */
export const readEntitlements = ({ services }: Licensed): EntitlementSet => services.entitlements.current;
