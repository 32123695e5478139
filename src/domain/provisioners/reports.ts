import { createHash } from "node:crypto";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, DomainError, Problems } from "../kernel/errors.js";
import type { TemplateDocument } from "../templates/documents.js";
import { parseReported } from "../templates/reported.js";
import { storeResources, type StoredResources } from "../workspaces/reported.js";
import { failForQuota } from "./completion.js";
import { jobColumns, type JobRow } from "./jobs.js";
import { held, isHeld, type Leased, leaseLost, leaseSeconds } from "./leases.js";

export interface ReportProvisionerResources extends Leased {
  resources: ReadonlyArray<Record<string, unknown>>;
}

interface Reporting extends JobRow {
  document: TemplateDocument;
  transition: "start" | "stop" | "delete";
  resourcesHash: Buffer | null;
}

const lockReporting = statement<Reporting>(`
  select ${jobColumns}, d.content as document, coalesce(b.transition, 'start') as transition,
    j.resources_hash as "resourcesHash"
  from provisioner_jobs j join template_documents d on d.id = j.document_id
    left join workspace_builds b on b.job_id = j.id
  where ${isHeld} and j.status in ('running', 'canceling') for update of j`);

const storeReport = statement(`
  update provisioner_jobs set resources_hash = $2, lease_expires_at = now() + make_interval(secs => $3) where id = $1`);

/**
 * Checks and stores the resources that a job is about to create. To be repeated with equal resources only, with the same
 * result. Throws CONFLICT with the reason `LEASE_LOST`, or `QUOTA_EXCEEDED` if the owner has no credits left for them,
 * after which the job has failed.
 */
export async function reportProvisionerResources(
  ctx: Context,
  { resources: given, ...leased }: ReportProvisionerResources,
): Promise<StoredResources> {
  const reporting = await ctx.row(lockReporting, ...held(ctx, leased));
  if (!reporting) throw leaseLost();
  const { document, transition, resourcesHash, ...job } = reporting;
  const problems = new Problems();
  const resources = parseReported(document, transition, given, problems);
  problems.throwIfAny();
  const hash = createHash("sha256").update(JSON.stringify(resources)).digest();
  if (resourcesHash && !resourcesHash.equals(hash)) throw conflict("Other resources have been reported for this job.");
  await ctx.row(storeReport, job.id, hash, leaseSeconds(ctx));
  try {
    return await storeResources(ctx, job, resources);
  } catch (error) {
    if (error instanceof DomainError && error.details.reason === "QUOTA_EXCEEDED") failForQuota(ctx, leased);
    throw error;
  }
}
