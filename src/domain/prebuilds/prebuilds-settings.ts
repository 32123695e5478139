import type { Context } from "../kernel/context.js";
import { flag, inputOf, type Input, required } from "../kernel/values.js";
import { authorize } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";

/** Settings of prebuilt workspaces. */
export interface PrebuildsSettings {
  /** While true, no prebuilds are created or deleted. Queued jobs and claims continue. */
  reconciliationPaused: boolean;
}

const settings = siteSetting<PrebuildsSettings>("prebuilds", { reconciliationPaused: false });

export const readPrebuildsSettings = (ctx: Context): Promise<PrebuildsSettings> => readSiteSetting(ctx, settings);

/** The stored settings, and whether the update changed them. */
export interface UpdatedPrebuildsSettings {
  prebuildsSettings: PrebuildsSettings;
  changed: boolean;
}

export const UpdatePrebuildsSettings = inputOf({
  reconciliationPaused: required(
    flag,
    "Whether to pause reconciliation, so that no prebuilt workspace is created or deleted.",
  ),
});
export type UpdatePrebuildsSettings = Input<typeof UpdatePrebuildsSettings>;

/** Replaces the prebuilds settings. Throws FORBIDDEN without the permission or the license. */
export async function updatePrebuildsSettings(
  ctx: Context,
  { reconciliationPaused }: PrebuildsSettings,
): Promise<UpdatedPrebuildsSettings> {
  authorize(ctx.actor, "deployment_config:update");
  requireFeature(ctx, "workspace_prebuilds");
  const prebuildsSettings = { reconciliationPaused };
  const resource = { resourceType: "prebuilds_settings" };
  const changed = await replaceSiteSetting(ctx, settings, prebuildsSettings, resource);
  return { prebuildsSettings, changed };
}
