import type { Context } from "./kernel/context.js";
import { diffOf } from "./audit/audit.js";
import { authorize } from "./authorization/authorization.js";
import { requireFeature } from "./entitlements/requirements.js";
import { Problems } from "./kernel/errors.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "./deployment/site-settings.js";

/** How the deployment keeps workspaces at hand. */
export interface PrebuildsSettings {
  /** While it is, none are made and none are deleted. Jobs that are queued and claims go on. */
  reconciliationPaused: boolean;
}

const settings = siteSetting<PrebuildsSettings>("prebuilds", { reconciliationPaused: false });

export const readPrebuildsSettings = (ctx: Context): Promise<PrebuildsSettings> => readSiteSetting(ctx, settings);

export interface UpdatePrebuildsSettings {
  reconciliationPaused?: boolean | null;
}

/** What is stored now, and whether it was different before. */
export interface UpdatedPrebuildsSettings {
  prebuildsSettings: PrebuildsSettings;
  changed: boolean;
}

/** Replaces the settings of prebuilds. */
export async function updatePrebuildsSettings(
  ctx: Context,
  { reconciliationPaused }: UpdatePrebuildsSettings,
): Promise<UpdatedPrebuildsSettings> {
  authorize(ctx.actor, "deployment_config:update");
  requireFeature(ctx, "workspace_prebuilds");
  const problems = new Problems();
  problems.add("reconciliationPaused", reconciliationPaused == null ? "Is required." : undefined);
  problems.throwIfAny();

  const prebuildsSettings = { reconciliationPaused: reconciliationPaused === true };
  const diff = diffOf(await replaceSiteSetting(ctx, settings, prebuildsSettings), prebuildsSettings);
  const changed = Object.keys(diff).length > 0;
  if (changed) ctx.audit({ action: "update", resourceType: "prebuilds_settings", diff });
  return { prebuildsSettings, changed };
}
