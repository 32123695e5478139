import { createHash } from "node:crypto";
import type { Context } from "../kernel/context.js";
import { shaped } from "../kernel/database.js";
import { conflict, DomainError, Problems } from "../kernel/errors.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import type { TemplateDocument } from "../templates/documents.js";
import { parseReported } from "../templates/reported.js";
import {
  costOf,
  insertingResources,
  madeOf,
  type ReportedBuild,
  reportedBuild,
  type ResourceRow,
  resourceRows,
  storeBuild,
  type StoredResources,
} from "../workspaces/reported.js";
import { failForQuota } from "./completion.js";
import { held, isHeldWith, type Leased, leaseLost, leaseSeconds } from "./leases.js";

export interface ReportProvisionerResources extends Leased {
  resources: ReadonlyArray<Record<string, unknown>>;
}

/** A job, and what has been reported of it. */
interface Reporting {
  document: TemplateDocument;
  /** Null for imports and dry runs. */
  build: ReportedBuild | null;
  /** Of the resources that were reported; null for none. */
  hash: Buffer | null;
}

const isRunning = raw("j.status in ('running', 'canceling')");

/** Stores the resources of a job that were not reported before, and renews the lease. No row: the lease was lost. */
const recording = (
  ctx: Context,
  values: ReturnType<typeof held>,
  hash: Buffer,
  rows: readonly ResourceRow[],
): Sql => sql`
  with held as materialized (
    select j.id, j.resources_hash is null as "isFirst" from provisioner_jobs j
    where ${isHeldWith(values)} and ${isRunning} and (j.resources_hash is null or j.resources_hash = ${hash}) for update
  ), reported as (
    update provisioner_jobs j set resources_hash = ${hash},
      lease_expires_at = now() + make_interval(secs => ${leaseSeconds(ctx)})
    from held where j.id = held.id
  ), ${insertingResources(rows, sql`held where held."isFirst"`)}
  select "isFirst" from held`;

/**
 * Checks and stores the resources that a job is about to create. To be repeated with equal resources only, with the same
 * result. Throws CONFLICT with the reason `LEASE_LOST`, or `QUOTA_EXCEEDED` if the owner has no credits left for them,
 * after which the job has failed.
 */
export async function reportProvisionerResources(
  ctx: Context,
  { resources: given, ...leased }: ReportProvisionerResources,
): Promise<StoredResources> {
  const values = held(ctx, leased);
  const [reporting] = await ctx.select<Reporting>(sql`
    select d.content as document, ${reportedBuild} as build, j.resources_hash as hash
    from provisioner_jobs j join template_documents d on d.id = j.document_id
    where ${isHeldWith(values)} and ${isRunning}`);
  if (!reporting) throw leaseLost();
  const { document, build } = reporting;
  const problems = new Problems();
  const resources = parseReported(document, build?.transition ?? "start", given, problems);
  problems.throwIfAny();
  const hash = createHash("sha256").update(JSON.stringify(resources)).digest();
  if (reporting.hash && !reporting.hash.equals(hash))
    throw conflict("Other resources have been reported for this job.");

  const rows = resourceRows(leased.jobId, build, resources);
  const { text, values: all } = recording(ctx, values, hash, rows);
  const record = shaped<{ isFirst: boolean }>(text);
  const recorded = await (build ? ctx.row(record, ...all) : ctx.row(record, ...all));
  if (!recorded) throw leaseLost();
  const dailyCost = costOf(resources);
  if (!build) return { dailyCost, agents: [] };
  try {
    return {
      dailyCost,
      agents: await storeBuild(ctx, build, { dailyCost, made: madeOf(resources, rows), isRepeated: !recorded.isFirst }),
    };
  } catch (error) {
    if (error instanceof DomainError && error.details.reason === "QUOTA_EXCEEDED") failForQuota(ctx, leased);
    throw error;
  }
}
