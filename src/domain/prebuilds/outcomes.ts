import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notify } from "../notifications/notify.js";
import { templateAdministrators } from "../notifications/recipients.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import type { JobOutcome } from "../provisioners/jobs.js";

/** Number of failures in a row after which no more workspaces are prebuilt for a preset. */
const mostFailures = 3;

interface Counted {
  presetName: string;
  templateId: string;
  templateName: string;
  organizationId: string;
  /** Whether this failure was the last that is tolerated. */
  isLimited: boolean;
}

const countFailure = statement<Counted>(`
  update template_presets p set prebuild_failures = prebuild_failures + 1,
    prebuild_status = case when prebuild_failures + 1 >= ${mostFailures} then 'hard_limited' else prebuild_status end
  from template_versions v join templates t on t.id = v.template_id
  where p.id = $1 and v.id = p.version_id
  returning p.name as "presetName", t.id as "templateId", coalesce(nullif(t.display_name, ''), t.name) as "templateName",
    t.organization_id as "organizationId", p.prebuild_failures = ${mostFailures} as "isLimited"`);

const forgetFailures = statement(
  "update template_presets set prebuild_failures = 0 where id = $1 and prebuild_failures > 0",
);

/**
 * Counts the starts of prebuilt workspaces that fail in a row, and tells the administrators of the template when there
 * are too many. To be called last in the transaction that ends the build.
 */
export async function prebuildEnded(ctx: Context, presetId: string, outcome: JobOutcome): Promise<void> {
  if (outcome === "succeeded") await ctx.row(forgetFailures, presetId);
  if (outcome !== "failed") return;
  const counted = await ctx.row(countFailure, presetId);
  if (!counted?.isLimited) return;
  const { presetName, templateId, templateName, organizationId } = counted;
  await notify(ctx, {
    template: templateNotifications.prebuildLimit,
    recipients: templateAdministrators(ctx, organizationId),
    targets: [templateId],
    labels: { template: templateName, preset: presetName },
    data: {},
  });
}
