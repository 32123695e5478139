import { createHash } from "node:crypto";
import type { Context } from "../kernel/context.js";
import { conflict, DomainError, Problems } from "../kernel/errors.js";
import { withCleanLabels, withCleanResources } from "../templates/clean-labels.js";
import { dailyCostOf } from "../templates/document-resources.js";
import type { TemplateDocument } from "../templates/template-documents.js";
import { parseReported } from "../templates/reported-versions.js";
import { quotaExceeded } from "../workspaces/quotas.js";
import { findReportedBuild, storeBuild, type StoredResources, storeResources } from "../workspaces/reported-builds.js";
import { failForQuota, Leased, leaseLost, lockRunning, renewedLease } from "./leases.js";
import { inputOf, jsonObject, listOf, required, type Input } from "../kernel/values.js";

export const ReportProvisionerResources = inputOf({
  ...Leased.shape,
  resources: required(
    listOf(jsonObject),
    "The resources of the document for the transition, with all references replaced.",
  ),
});
export type ReportProvisionerResources = Input<typeof ReportProvisionerResources>;

/**
 * Checks and stores the resources that a job is about to create. To be repeated with equal resources only, with the same
 * result. Throws CONFLICT with the reason `LEASE_LOST`, or `QUOTA_EXCEEDED` if the owner has no credits left for them,
 * after which the job has failed.
 */
export async function reportProvisionerResources(
  ctx: Context,
  { resources: given, ...leased }: ReportProvisionerResources,
): Promise<StoredResources> {
  const job = await lockRunning(ctx, leased)
    .innerJoin("templateDocuments as d", "d.id", "j.documentId")
    .select(["j.id", "j.workspaceBuildId", "j.resourcesHash", "d.content"])
    .$castTo<{ id: string; workspaceBuildId: string | null; resourcesHash: Buffer | null; content: TemplateDocument }>()
    .executeTakeFirst();
  if (!job) throw leaseLost();
  const build = job.workspaceBuildId === null ? null : await findReportedBuild(ctx, job.workspaceBuildId);
  const transition = build?.transition ?? "start";
  const problems = new Problems();
  const document = withCleanLabels(job.content);
  // A daemon may have got the document before the upgrade since which labels are cleaned.
  const reported = document === job.content ? given : withCleanResources(given);
  const resources = parseReported(document, transition, reported, problems);
  problems.throwIfAny();
  const resourcesHash = createHash("sha256").update(JSON.stringify(resources)).digest();
  if (job.resourcesHash && !job.resourcesHash.equals(resourcesHash))
    throw conflict("Other resources have been reported for this job.");

  await ctx.db
    .updateTable("provisionerJobs")
    .set({ resourcesHash, leaseExpiresAt: renewedLease(ctx) })
    .where("id", "=", job.id)
    .execute();
  const isRepeated = job.resourcesHash !== null;
  const made = isRepeated ? [] : await storeResources(ctx, { jobId: job.id, transition, resources });
  const dailyCost = dailyCostOf(resources);
  if (!build) return { dailyCost, agents: [] };
  try {
    return { dailyCost, agents: await storeBuild(ctx, build, { dailyCost, made, isRepeated }) };
  } catch (error) {
    if (error instanceof DomainError && error.details.reason === quotaExceeded)
      failForQuota(ctx, leased, [error.message, error.details.detail].filter(Boolean).join(" "));
    throw error;
  }
}
