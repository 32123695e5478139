import { createHash } from "node:crypto";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import type { Ending } from "../kernel/endings.js";
import { conflict, DomainError, Problems } from "../kernel/errors.js";
import { sql } from "../kernel/sql.js";
import type { TemplateDocument } from "../templates/documents.js";
import { parseReported } from "../templates/reported.js";
import { storeResources, type StoredResources } from "../workspaces/reported.js";
import { failForQuota } from "./completion.js";
import type { JobRow } from "./jobs.js";
import { held, isHeld, type Leased, leaseLost, leaseSeconds } from "./leases.js";

export interface ReportProvisionerResources extends Leased {
  resources: ReadonlyArray<Record<string, unknown>>;
}

interface Reporting extends Pick<JobRow, "id" | "workspaceBuildId"> {
  document: TemplateDocument;
  transition: "start" | "stop" | "delete";
  resourcesHash: Buffer | null;
}

const lockReporting = statement<Reporting>(`
  select j.id, j.workspace_build_id as "workspaceBuildId", d.content as document, coalesce(b.transition, 'start') as transition,
    j.resources_hash as "resourcesHash"
  from provisioner_jobs j join template_documents d on d.id = j.document_id
    left join workspace_builds b on b.job_id = j.id
  where ${isHeld} and j.status in ('running', 'canceling') for update of j`);

interface Report {
  id: string;
  /** Base64. */
  hash: string;
  /** Seconds that the lease lasts from now on. */
  lease: number;
}

/** The part of the last statement of a transaction that records its report. */
const recordReport: Ending<Report> = (rows) => sql`
  reported as (
    update provisioner_jobs j set resources_hash = decode(report ->> 'hash', 'base64'),
      lease_expires_at = now() + make_interval(secs => (report ->> 'lease')::float8)
    from (select ${rows}::json -> 0 as report) r where j.id = (report ->> 'id')::uuid)`;

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
  ctx.atCommit(recordReport, { id: job.id, hash: hash.toString("base64"), lease: leaseSeconds(ctx) });
  try {
    return await storeResources(ctx, job, resources, resourcesHash !== null);
  } catch (error) {
    if (error instanceof DomainError && error.details.reason === "QUOTA_EXCEEDED") failForQuota(ctx, leased);
    throw error;
  }
}
