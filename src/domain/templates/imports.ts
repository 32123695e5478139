import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { auditedAs } from "../audit/audit.js";
import { may } from "../authorization/authorization.js";
import { type JobOutcome, type JobRow, jobsByIds } from "../provisioners/jobs.js";

interface Imported {
  templateId: string;
  templateName: string;
  organizationId: string;
  /** The active version before the import; null without one. */
  formerId: string | null;
  activates: boolean;
}

// A later version that activates itself stays active, whichever import ends first.
const lockImported = statement<Imported>(`
  select t.id as "templateId", t.name as "templateName", t.organization_id as "organizationId",
    t.active_version_id as "formerId",
    v.archived_at is null and t.deleted_at is null and (t.active_version_id is null or v.activates and not exists (
      select from template_versions a where a.id = t.active_version_id and a.created_at > v.created_at)) as activates
  from template_versions v join templates t on t.id = v.template_id where v.id = $1
  for no key update of t`);

const markImported = statement(`
  with imported as (update template_versions set is_imported = true, updated_at = now() where id = $1)
  update templates set active_version_id = $1, updated_at = now() where id = $2 and $3`);

/**
 * Applies the end of an import, in its transaction: a version is usable once it is imported. The first one becomes the
 * active version of its template, and others if they were created so.
 */
export async function importEnded(ctx: Context, { versionId }: JobRow, outcome: JobOutcome): Promise<void> {
  if (outcome !== "succeeded" || versionId === null) return;
  const imported = await ctx.row(lockImported, versionId);
  if (!imported) return;
  const { templateId, templateName, organizationId, formerId, activates } = imported;
  await ctx.rows(markImported, versionId, templateId, activates);
  if (!activates) return;
  ctx.audit({
    action: "update",
    ...auditedAs("template", templateId, templateName, organizationId),
    diff: { activeVersionId: { old: formerId, new: versionId } },
  });
}

/** The job that imports a version; null unless the caller may read the job. */
export async function importOf(ctx: Context, { jobId }: { jobId: string }): Promise<JobRow | null> {
  const job = await ctx.load(jobsByIds, jobId);
  if (!job) return null;
  const { organizationId, initiatorId: ownerId } = job;
  return may(ctx.actor, "provisioner_job:read", { organizationId, ownerId }) ? job : null;
}
