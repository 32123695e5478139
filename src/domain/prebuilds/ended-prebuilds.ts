import type { Context } from "../kernel/context.js";
import { notify, oncePerHour, templateAdministrators } from "../notifications/notify.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import type { JobOutcome } from "../provisioners/provisioner-jobs.js";

/** Number of failures in a row after which no more workspaces are prebuilt for a preset. */
const mostFailures = 3;

/**
 * Counts the starts of prebuilt workspaces that fail in a row, and tells the administrators of the template of failures,
 * once an hour for each version, and when there are too many. To be called last in the transaction that ends the build.
 */
export async function prebuildEnded(ctx: Context, presetId: string, outcome: JobOutcome, error: string): Promise<void> {
  const preset = ctx.db.updateTable("templatePresets").where("id", "=", presetId);
  if (outcome === "succeeded") await preset.set({ prebuildFailures: 0 }).where("prebuildFailures", ">", 0).execute();
  if (outcome !== "failed") return;
  const counted = await preset
    .set(({ eb }) => ({ prebuildFailures: eb("prebuildFailures", "+", 1) }))
    .returning(["name", "versionId", "prebuildFailures"])
    .executeTakeFirst();
  if (!counted) return;
  const template = await ctx.db
    .selectFrom("templateVersions as v")
    .innerJoin("templates as t", "t.id", "v.templateId")
    .where("v.id", "=", counted.versionId)
    .select(["t.id", "t.name", "t.displayName", "t.organizationId", "v.name as version"])
    .executeTakeFirstOrThrow();
  const isLimited = counted.prebuildFailures === mostFailures;
  if (isLimited) await preset.set({ prebuildStatus: "hard_limited" }).execute();
  const labels = { template: template.displayName || template.name, preset: counted.name };
  const about = {
    recipients: templateAdministrators(ctx, template.organizationId),
    targets: [template.id],
    data: {},
  };
  const failure = {
    ...about,
    template: templateNotifications.prebuildFailed,
    dedupeKey: oncePerHour(counted.versionId),
    labels: { ...labels, version: template.version, reason: error || "The log of the build has the reason." },
  };
  const limit = { ...about, template: templateNotifications.prebuildLimit, labels };
  await notify(ctx, failure, ...(isLimited ? [limit] : []));
}
