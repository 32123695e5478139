import type { ProvisionerActor } from "../kernel/actor.js";
import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import type { TemplateDocument } from "../templates/documents.js";
import { openVariables, type StoredVariables, type VariableValue } from "../templates/variables.js";
import { hashSecret, randomText } from "../tokens/text.js";
import { type JobRow, workHint } from "./jobs.js";
import { daemonMatches, isOnline, isWaiting, tagsMatch } from "./matching.js";

/** What a daemon needs for a job. */
export interface Assignment {
  document: unknown;
  /** Secret, in the order of the document. */
  variables: VariableValue[];
  /** Those of the build or dry run; for imports, the defaults of the document. */
  parameters: VariableValue[];
  transition: "start" | "stop" | "delete";
  /** Null unless the job is a build. */
  buildNumber: number | null;
  /** Whether the build hands a prebuilt workspace to its owner. */
  claim: boolean;
  /** What the latest build left that left something; null if none did. */
  state: unknown;
  accessUrl: string;
  workspace: { id: string; name: string; owner: { id: string; username: string } } | null;
  task: { id: string; prompt: string } | null;
}

/** A job that was handed out, with the token of its lease. It must be accepted before `expiresAt`. */
export interface AssignedJob {
  jobId: string;
  lease: string;
  expiresAt: string;
  type: JobRow["type"];
  tags: Record<string, string>;
  assignment: Assignment;
}

/** Jobs for a daemon, and those that it must cancel. */
export interface Work {
  assigned: AssignedJob[];
  cancelRequested: string[];
}

/** Maximum number of jobs that are handed out at a time: the others are left to other daemons. */
export const batchSize = 4;

/** Seconds within which a daemon must accept a job. */
const patience = 15;

interface AssignedRow extends StoredVariables {
  cancelRequested: string[];
  /** Null if there is no job, as are all other values. */
  jobId: string | null;
  place: number;
  expiresAt: string;
  type: JobRow["type"];
  tags: Record<string, string>;
  document: TemplateDocument;
  /** Null for imports. */
  parameters: Record<string, string> | null;
  transition: Assignment["transition"];
  buildNumber: number | null;
  claim: boolean;
  state: unknown;
  workspaceId: string | null;
  workspaceName: string;
  ownerId: string;
  ownerUsername: string;
  taskId: string | null;
  prompt: string;
}

// A daemon that did not accept a job gets it again only if no other one could take it. The inner limit is a constant, for
// which Postgres reads the index of the queue; the outer one keeps it from locking more rows than are handed out.
const assignJobs = statement<AssignedRow>(`
  with held as materialized (
    select id, status from provisioner_jobs
    where worker_id = $1 and completed_at is null
      and (status in ('running', 'canceling') or status = 'pending' and lease_expires_at > now())
  ), picked as materialized (
    select id from (
      select j.id from provisioner_jobs j
      where ${isWaiting} and j.organization_id = $2 and j.provisioner = any($4::text[])
        and (j.pinned_daemon_id is null or j.pinned_daemon_id = $1) and ${tagsMatch("$5::jsonb")}
        and (j.refused_by is distinct from $1 or not exists (
          select from provisioner_daemons d where d.id <> $1 and ${isOnline} and ${daemonMatches}))
      order by j.priority, j.created_at, j.id limit ${batchSize} for update of j skip locked
    ) next
    limit (select greatest(0, least(cardinality($7::bytea[]), $6 - count(*))) from held)
  ), numbered as (
    select id, row_number() over () as place from picked
  ), assigned as (
    update provisioner_jobs j set worker_id = $1, worker_name = $3, lease_hash = ($7::bytea[])[n.place],
      lease_expires_at = now() + interval '${patience} seconds'
    from numbered n where j.id = n.id
    returning j.*, n.place
  )
  select array(select id from held where status = 'canceling') as "cancelRequested", j.id as "jobId",
    j.place::int - 1 as place, j.lease_expires_at as "expiresAt", j.type, j.tags, c.content as document,
    coalesce(b.parameters, j.parameters) as parameters, coalesce(b.transition, 'start') as transition,
    b.build_number as "buildNumber", coalesce(b.is_claim, false) as claim, (
      select p.state from workspace_builds p
      where p.workspace_id = b.workspace_id and p.build_number < b.build_number and p.state is not null
      order by p.build_number desc limit 1) as state,
    w.id as "workspaceId", w.name as "workspaceName", u.id as "ownerId", u.username as "ownerUsername",
    k.id as "taskId", k.initial_prompt as prompt, v.id, v.template_id as "templateId",
    v.variables_key_id as "variablesKeyId", v.variables_nonce as "variablesNonce",
    v.variables_ciphertext as "variablesCiphertext"
  from (select) as one left join assigned j on true
    left join template_documents c on c.id = j.document_id
    left join workspace_builds b on b.job_id = j.id
    left join workspaces w on w.id = b.workspace_id
    left join users u on u.id = w.owner_id
    left join tasks k on k.workspace_id = w.id and k.deleted_at is null
    left join template_versions v on v.id = coalesce(b.version_id, j.version_id)
  order by j.place`);

/**
 * Hands out jobs to a daemon that holds less than `slots`: those of people first, then by age. No other daemon gets them
 * within 15 seconds. Also returns all jobs that the daemon must cancel.
 */
export async function assignWork(ctx: Context, daemon: ProvisionerActor, slots: number): Promise<Work> {
  const leases = Array.from({ length: Math.min(slots, batchSize) }, () => randomText(43));
  const { id, organizationId, name, provisioners, tags } = daemon;
  const values = [id, organizationId, name, provisioners, tags, slots, leases.map(hashSecret)];
  const found = await ctx.services.database.query(assignJobs, values);
  return {
    assigned: found.filter(({ jobId }) => jobId !== null).map((row) => assignedJob(ctx, row, leases[row.place]!)),
    cancelRequested: found[0]!.cancelRequested,
  };
}

const returnJobs = statement<{ id: string }>(`
  update provisioner_jobs set worker_id = null, worker_name = '', lease_hash = null, lease_expires_at = null
  where id = any($1::uuid[]) and worker_id = $2 and status = 'pending' returning id`);

/** Returns jobs to the queue that were assigned to a daemon whose connection ended before it received them. */
export async function returnWork(
  { database, events }: Pick<Services, "database" | "events">,
  { id, organizationId }: ProvisionerActor,
  jobIds: readonly string[],
): Promise<void> {
  const returned = await database.query(returnJobs, [jobIds, id]);
  if (returned.length > 0) events.publish(workHint(organizationId));
}

function assignedJob({ services, config }: Context, row: AssignedRow, lease: string): AssignedJob {
  const { expiresAt, type, tags, document, transition, buildNumber, claim, state } = row;
  const { workspaceId, workspaceName: name, taskId, prompt } = row;
  const owner = { id: row.ownerId, username: row.ownerUsername };
  const parameters = row.parameters
    ? Object.entries(row.parameters).map(([parameter, value]) => ({ name: parameter, value }))
    : defaultsOf(document);
  const assignment: Assignment = {
    document,
    variables: openVariables(services, row),
    parameters,
    transition,
    buildNumber,
    claim,
    state,
    accessUrl: config.accessUrl,
    workspace: workspaceId === null ? null : { id: workspaceId, name, owner },
    task: taskId === null ? null : { id: taskId, prompt },
  };
  return { jobId: row.jobId!, lease, expiresAt, type, tags, assignment };
}

/** The parameters of a document that have a default. */
const defaultsOf = ({ parameters }: TemplateDocument): VariableValue[] =>
  parameters.flatMap(({ name, default: value }) => (value === undefined ? [] : { name, value }));
