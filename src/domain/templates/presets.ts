import { TemplatePreset } from "../../entities/templates.js";
import { rowsByKey } from "../kernel/batches.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { TemplateDocument } from "./documents.js";
import { lockTemplate, ofTemplate } from "./templates.js";

/** Whether the prebuilds of a preset are made, or have failed too often. */
export const PrebuildStatus = { HEALTHY: "healthy", HARD_LIMITED: "hard_limited" } as const;
export type PrebuildStatus = (typeof PrebuildStatus)[keyof typeof PrebuildStatus];

/** The columns of a preset `p`. */
export const presetColumns = columnsOf(TemplatePreset, "p", [
  "id",
  "createdAt",
  "versionId",
  "name",
  "displayName",
  "description",
  "icon",
  "isDefault",
  "parameters",
  "instances",
  "prebuildTtl",
  "lastInvalidatedAt",
  "prebuildStatus",
]);

export type PresetRow = RowOf<typeof presetColumns>;

const insert = statement(`
  insert into template_presets (id, created_at, version_id, name, display_name, description, icon, is_default,
    parameters, instances, prebuild_ttl)
  select id, now(), $1, name, display_name, description, icon, is_default, parameters, instances, prebuild_ttl
  from jsonb_to_recordset($2) as p (id uuid, name text, display_name text, description text, icon text,
    is_default boolean, parameters jsonb, instances int, prebuild_ttl int)`);

/** Stores the presets of a new version. */
export async function storePresets(ctx: Context, versionId: string, { presets }: TemplateDocument): Promise<void> {
  if (presets.length === 0) return;
  const rows = presets.map(({ default: isDefault, prebuilds, ...preset }) => ({
    ...preset,
    id: newId(),
    is_default: isDefault,
    instances: prebuilds?.instances ?? 0,
    prebuild_ttl: prebuilds?.ttl_seconds || null,
  }));
  await ctx.rows(insert, versionId, JSON.stringify(rows));
}

const ofVersions = lookup<PresetRow>(
  `select ${presetColumns} from template_presets p where p.version_id = any($1::uuid[]) order by p.name collate "C"`,
);

/** Batch read of presets by version, in the order of their names. Checks no permission. */
export const presetsByVersion = async (ctx: Context, versionIds: readonly string[]): Promise<PresetRow[][]> =>
  rowsByKey(await ctx.rows(ofVersions, versionIds), versionIds, ({ versionId }) => versionId);

/** A preset whose prebuilds are replaced. */
export interface InvalidatedPreset {
  presetName: string;
  templateName: string;
  templateVersionName: string;
}

const invalidate = statement<InvalidatedPreset>(`
  with stamped as (
    update template_presets p set last_invalidated_at = now() from templates t
    where t.id = $1 and p.version_id = t.active_version_id
    returning p.name, p.version_id
  )
  select stamped.name as "presetName", t.name as "templateName", v.name as "templateVersionName"
  from stamped join template_versions v on v.id = stamped.version_id join templates t on t.id = v.template_id
  order by stamped.name collate "C"`);

/** Marks the prebuilds of all presets of the active version as outdated. Returns the presets by name. */
export async function invalidateTemplatePresets(ctx: Context, templateId: string): Promise<InvalidatedPreset[]> {
  const template = await lockTemplate(ctx, templateId, "template:update");
  requireFeature(ctx, "workspace_prebuilds");
  const presets = await ctx.rows(invalidate, template.id);
  const names = presets.map(({ presetName }) => presetName);
  if (names.length > 0) ctx.audit({ action: "update", ...ofTemplate(template), diff: { invalidated: { new: names } } });
  return presets;
}
