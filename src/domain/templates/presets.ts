import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { anyOf, now, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import type { PrebuildSchedule } from "./prebuild-schedules.js";
import type { TemplateDocument } from "./template-documents.js";
import { lockTemplate, ofTemplate } from "./templates.js";
import { versionsById } from "./template-versions.js";

/** Whether the prebuilds of a preset are made, or have failed too often. */
export const PrebuildStatus = { HEALTHY: "healthy", HARD_LIMITED: "hard_limited" } as const;
export type PrebuildStatus = (typeof PrebuildStatus)[keyof typeof PrebuildStatus];

const presets = (db: Db) =>
  db
    .selectFrom("templatePresets as p")
    .select([
      "p.id",
      "p.createdAt",
      "p.versionId",
      "p.name",
      "p.displayName",
      "p.description",
      "p.icon",
      "p.isDefault",
      "p.parameters",
      "p.instances",
      "p.prebuildSchedules",
      "p.scheduledInstances",
      "p.prebuildTtl",
      "p.lastInvalidatedAt",
      "p.prebuildStatus",
    ]);

export type PresetRow = InferResult<ReturnType<typeof presets>>[number];

/** Stores the presets of a new version. */
export async function storePresets(ctx: Context, versionId: string, { presets: given }: TemplateDocument) {
  if (given.length === 0) return;
  const rows = given.map(({ name, display_name, description, icon, default: isDefault, parameters, prebuilds }) => ({
    id: newId(),
    createdAt: now,
    versionId,
    name,
    displayName: display_name,
    description,
    icon,
    isDefault,
    parameters,
    instances: prebuilds?.instances ?? 0,
    prebuildTtl: prebuilds?.ttl_seconds || null,
    prebuildSchedules: sql<PrebuildSchedule[]>`${JSON.stringify(prebuilds?.schedules ?? [])}::jsonb`,
  }));
  await ctx.db.insertInto("templatePresets").values(rows).execute();
}

/** Batch read of presets by version, in the order of their names. Checks no permission. */
export async function presetsByVersion(ctx: Context, versionIds: readonly string[]): Promise<PresetRow[][]> {
  const rows = await presets(ctx.db)
    .where("p.versionId", "=", anyOf(versionIds))
    .orderBy("p.name", (order) => order.collate("C"))
    .execute();
  return rowsByKey(rows, versionIds, ({ versionId }) => versionId);
}

/** A preset whose prebuilds are replaced. */
export interface InvalidatedPreset {
  presetName: string;
  templateName: string;
  templateVersionName: string;
}

/** Marks the prebuilds of all presets of the active version as outdated. Returns the presets by name. */
export async function invalidateTemplatePresets(ctx: Context, templateId: string): Promise<InvalidatedPreset[]> {
  const template = await lockTemplate(ctx, templateId, "template:update");
  requireFeature(ctx, "workspace_prebuilds");
  const version = template.activeVersionId && (await ctx.load(versionsById, template.activeVersionId));
  if (!version) return [];
  await ctx.db
    .updateTable("templatePresets")
    .set({ lastInvalidatedAt: now })
    .where("versionId", "=", version.id)
    .execute();
  const invalidated = await ctx.load(presetsByVersion, version.id);
  const names = invalidated.map(({ name }) => name);
  if (names.length > 0) ctx.audit({ action: "update", ...ofTemplate(template), diff: { invalidated: { new: names } } });
  return names.map((presetName) => ({
    presetName,
    templateName: template.name,
    templateVersionName: version.name,
  }));
}
