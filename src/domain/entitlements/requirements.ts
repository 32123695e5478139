import type { Services } from "../kernel/context.js";
import type { Feature } from "./features.js";
import type { EntitlementSet } from "./state.js";
import { forbidden } from "../kernel/errors.js";

export type { Feature } from "./features.js";
export { Entitlement } from "./grants.js";
export type { EntitlementSet } from "./state.js";

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
