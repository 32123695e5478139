import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { type JobErrorCode, type ProvisionerJobType, workHint } from "./jobs.js";
import type { Tags } from "./tags.js";

/** The priorities of jobs: those of people are done before those of prebuilds. */
export const priorities = { people: 0, prebuilds: 1 } as const;

/** A job for the queue. */
export interface NewJob {
  /** Default: a new id. For what refers to its job and is stored before it. */
  id?: string;
  organizationId: string;
  type: ProvisionerJobType;
  /** The provisioner of the document. */
  provisioner: string;
  /** With `scope` and `owner`, by `scoped`. */
  tags: Tags;
  initiatorId: string;
  documentId: string;
  /** For imports and dry runs. */
  templateVersionId?: string;
  /** For builds, whose row may be stored later. */
  workspaceBuildId?: string;
  /** For dry runs: builds have their own values. */
  parameters?: Record<string, string>;
  priority: (typeof priorities)[keyof typeof priorities];
  /** The only daemon that may take it. */
  pinnedDaemonId?: string | null;
  /** Stores the job as failed, without any daemon. The caller applies the outcome. */
  failed?: { error: string; errorCode: JobErrorCode | "" };
}

const insertJob = statement(`
  insert into provisioner_jobs (id, created_at, organization_id, type, status, provisioner, tags, priority,
    initiator_id, document_id, version_id, workspace_build_id, parameters, pinned_daemon_id, error, error_code,
    completed_at)
  values ($1, now(), $2, $3, case when $14 then 'failed' else 'pending' end, $4, $5, $6, $7, $8, $9, $10, $11, $12,
    $13, $15, case when $14 then now() end)`);

/** Stores a job in the transaction of the mutation, and tells the daemons after the commit. Returns its id. */
export async function enqueueJob(ctx: Context, job: NewJob): Promise<string> {
  const id = job.id ?? newId();
  const { organizationId, type, provisioner, tags, priority, initiatorId, documentId, failed } = job;
  const what = [organizationId, type, provisioner, tags, priority, initiatorId, documentId];
  const given = [job.templateVersionId, job.workspaceBuildId, job.parameters, job.pinnedDaemonId];
  const failure = [failed?.error ?? "", failed !== undefined, failed?.errorCode ?? ""];
  await ctx.row(insertJob, id, ...what, ...given, ...failure);
  if (!failed) ctx.publish(workHint(organizationId));
  return id;
}
