import { type Expression, type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { selectPermitted, sees } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { anyOf, now, rowById } from "../kernel/queries.js";
import { defineListOfEach, time } from "../kernel/lists.js";
import { OrderDirection, type Page, PageArguments } from "../kernel/paging.js";
import { findOrganization } from "../organizations/organizations.js";
import { byKeptNames, keptNames } from "../users/kept-names.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { type Tags, tagProblems, tagsValue } from "./tags.js";
import {
  check,
  choice,
  type Input,
  inputOf,
  list,
  listOf,
  optional,
  pasted,
  reference,
  required,
  uuid,
} from "../kernel/values.js";

const b = columnsOf("workspaceBuilds", "b");
const j = columnsOf("provisionerJobs", "j");
const w = columnsOf("workspaces", "w");
const t = columnsOf("templates", "t");
const o = columnsOf("provisionerJobs", "o");

/** The kinds of jobs. */
export const ProvisionerJobType = {
  TEMPLATE_VERSION_IMPORT: "template_version_import",
  WORKSPACE_BUILD: "workspace_build",
  TEMPLATE_VERSION_DRY_RUN: "template_version_dry_run",
} as const;
export type ProvisionerJobType = (typeof ProvisionerJobType)[keyof typeof ProvisionerJobType];

/** The states of jobs. The last three are final. */
export const ProvisionerJobStatus = {
  PENDING: "pending",
  RUNNING: "running",
  CANCELING: "canceling",
  SUCCEEDED: "succeeded",
  FAILED: "failed",
  CANCELED: "canceled",
} as const;
export type ProvisionerJobStatus = (typeof ProvisionerJobStatus)[keyof typeof ProvisionerJobStatus];

/** How a job ended: its final status. */
export type JobOutcome = "succeeded" | "failed" | "canceled";

/** Machine-readable reasons of failed jobs. */
export const JobErrorCode = {
  REQUIRED_TEMPLATE_VARIABLES: "REQUIRED_TEMPLATE_VARIABLES",
  INSUFFICIENT_QUOTA: "INSUFFICIENT_QUOTA",
} as const;
export type JobErrorCode = (typeof JobErrorCode)[keyof typeof JobErrorCode];

/** The columns of a `JobRow`, from `provisionerJobs as j`. */
export const jobFields = [
  "j.id",
  "j.createdAt",
  "j.organizationId",
  "j.type",
  "j.status",
  "j.provisioner",
  "j.tags",
  "j.priority",
  "j.initiatorId",
  "j.documentId",
  "j.versionId",
  "j.workspaceBuildId",
  "j.pinnedDaemonId",
  "j.workerId",
  "j.workerName",
  "j.startedAt",
  "j.canceledAt",
  "j.completedAt",
  "j.error",
  "j.errorCode",
  "j.logsOverflowed",
] as const;

const jobs = (db: Db) => db.selectFrom("provisionerJobs as j").select(jobFields);

/** A job, without what belongs to its lease. */
export type JobRow = InferResult<ReturnType<typeof jobs>>[number];

/**
 * Jobs `j` and what they are about: the build `b` of the workspace `w`, or nothing, and the version `v` of the template
 * `t`.
 */
export const jobsWithSubjects = (db: Db) =>
  db
    .selectFrom("provisionerJobs as j")
    .leftJoin("workspaceBuilds as b", "b.jobId", "j.id")
    .leftJoin("workspaces as w", "w.id", "b.workspaceId")
    .leftJoin("templateVersions as v", (join) =>
      join.on("v.id", "=", sql<string>`coalesce(${b.versionId}, ${j.versionId})`),
    )
    .leftJoin("templates as t", "t.id", "v.templateId");

/** The user who may read a job: the owner of its workspace, or who started an import or dry run. */
export const ownerOfJob = sql<string>`coalesce(${w.ownerId}, ${j.initiatorId})`.as("ownerId");

/** Finds a job. Throws NOT_FOUND if the caller may not read it. */
export async function findProvisionerJob(ctx: Context, id: string): Promise<JobRow> {
  const found = jobsWithSubjects(ctx.db).select(jobFields).select(ownerOfJob);
  const job = await found.where("j.id", "=", id).executeTakeFirst();
  if (!job || !sees(ctx.actor, "provisioner_job:read", job)) throw notFound();
  return job;
}

/** Batch read of jobs by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function jobsByIds(ctx: Context, ids: readonly string[]): Promise<Array<JobRow | undefined>> {
  const rows = await jobs(ctx.db).where("j.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

/** How the template `t` of a job is shown; empty without one. */
export const templateNames = [
  sql<string>`coalesce(t.name, '')`.as("templateName"),
  sql<string>`coalesce(${t.displayName}, '')`.as("templateDisplayName"),
  sql<string>`coalesce(t.icon, '')`.as("templateIcon"),
] as const;

/** The names of the objects that a job is about. */
export interface JobMetadata {
  templateId: string | null;
  templateName: string;
  templateDisplayName: string;
  templateIcon: string;
  templateVersionName: string;
  /** Null, as are the next two, unless the job is a build. */
  workspaceId: string | null;
  workspaceName: string | null;
  workspaceBuildTransition: "start" | "stop" | "delete" | null;
}

/** Batch read of what jobs are about, for `ctx.load`. */
export async function jobMetadataOf(ctx: Context, ids: readonly string[]): Promise<JobMetadata[]> {
  const rows = await jobsWithSubjects(ctx.db)
    .where("j.id", "=", anyOf(ids))
    .select(templateNames)
    .select(({ fn }) => [
      "j.id",
      "t.id as templateId",
      fn.coalesce("v.name", sql.lit("")).as("templateVersionName"),
      "w.id as workspaceId",
      "w.name as workspaceName",
      "b.transition as workspaceBuildTransition",
    ])
    .execute();
  const found = new Map(rows.map((metadata) => [metadata.id, metadata]));
  return ids.map((id) => found.get(id)!);
}

const mostIds = 1000;

/** The conditions of a list of jobs, all of which apply. */
export const JobFilter = inputOf({
  ids: optional(list(mostIds, uuid), "IDs of jobs, {limits}."),
  status: optional(listOf(choice(ProvisionerJobStatus)), "States, one of which the job has."),
  type: optional(choice(ProvisionerJobType), "The kind of the job."),
  tags: optional(tagsValue, "Tags that the job has, values by key. At most 20."),
  initiator: optional(pasted(reference), "User who started the job: ID, username or email address then, or `me`."),
});
export type JobFilter = Input<typeof JobFilter>;

export const JobsQuery = inputOf({
  ...PageArguments.shape,
  organization: required(reference, "The organization: ID, name, or `default`."),
  filter: optional(JobFilter, "Selects jobs."),
});
export type JobsQuery = Input<typeof JobsQuery>;

const jobsOfOrganization = (ctx: Context, organization: Expression<string>) =>
  jobs(ctx.db).where("j.organizationId", "=", organization);

/** Those that the caller owns. */
function ownJobsOfOrganization(ctx: Context, organization: Expression<string>) {
  const user = userIdOf(ctx.actor) ?? null;
  return jobsOfOrganization(ctx, organization).where(
    selectPermitted(ctx.actor, "provisioner_job:read").own
      ? sql<SqlBool>`j.id = any(array(
          select o.id from provisioner_jobs o
          where ${o.organizationId} = ${organization} and ${o.initiatorId} = ${user} and ${o.workspaceBuildId} is null
          union all
          select ${b.jobId} from workspaces w join workspace_builds b on ${b.workspaceId} = w.id where ${w.ownerId} = ${user}))`
      : sql<SqlBool>`false`,
  );
}

/** Statuses for whose jobs there is an index, and the condition of the index. */
const indexed: ReadonlyArray<{ statuses: readonly ProvisionerJobStatus[]; condition: Expression<SqlBool> }> = [
  { statuses: ["pending", "running", "canceling"], condition: sql`${j.completedAt} is null` }, // provisioner_jobs_open_index
  { statuses: ["failed", "canceled"], condition: sql`j.status in ('failed', 'canceled')` }, // provisioner_jobs_failed_index
];

/** The condition that the job `j` has one of the statuses. */
function hasStatus(statuses: readonly ProvisionerJobStatus[]): Expression<SqlBool> {
  const index = indexed.find((each) => statuses.every((status) => each.statuses.includes(status)));
  return sql`(j.status = any(${statuses}::text[]) and ${index?.condition ?? sql`true`})`;
}

/** The condition that the job `j` has the type. Those of templates are few among the builds of workspaces. */
const hasType = (type: ProvisionerJobType): Expression<SqlBool> =>
  type === "workspace_build" ? sql`j.type = ${type}` : sql`(j.type = ${type} and ${j.workspaceBuildId} is null)`; // provisioner_jobs_type_index

const definition = {
  id: { column: "j.id", of: ({ id }: JobRow) => id },
  orders: { createdAt: { createdAt: time<JobRow>("j.createdAt") } }, // provisioner_jobs_page_index
  filters: {
    ids: (_: unknown, ids: readonly string[]) => sql<SqlBool>`j.id = ${anyOf(ids)}`,
    status: (_: unknown, statuses: readonly ProvisionerJobStatus[]) => hasStatus(statuses),
    type: (_: unknown, type: ProvisionerJobType) => hasType(type),
    tags: (_: unknown, tags: Record<string, unknown>) => sql<SqlBool>`j.tags @> ${JSON.stringify(tags)}::jsonb`,
    // provisioner_jobs_initiator_index, provisioner_jobs_initiator_username_index, provisioner_jobs_initiator_email_index
    initiator: byKeptNames({ id: "j.initiatorId", username: "j.initiatorUsername", email: "j.initiatorEmail" }),
  },
};
const lists = {
  all: defineListOfEach(jobsOfOrganization, definition),
  own: defineListOfEach(ownJobsOfOrganization, definition),
};

/** Lists the jobs of an organization that the caller may read, newest first: all, or their own. */
export async function listProvisionerJobs(ctx: Context, query: JobsQuery): Promise<Page<JobRow>> {
  const { organization, filter, ...page } = query;
  const { id: organizationId } = await findOrganization(ctx, organization);
  const problems = new Problems();
  check(JobFilter, filter ?? {}, problems, "filter");
  tagProblems(filter?.tags ?? {}, problems);
  const initiator = filter?.initiator ? keptNames(ctx, [filter.initiator]) : undefined;
  const { everywhere, organizations } = selectPermitted(ctx.actor, "provisioner_job:read");
  const readable = everywhere || organizations.includes(organizationId) ? lists.all : lists.own;
  const orderBy = { field: "createdAt", direction: OrderDirection.DESC } as const;
  return readable.pageOf(ctx, organizationId, { filter: { ...filter, initiator }, orderBy, page }, problems);
}

/** The priorities of jobs: those of people are done before those of prebuilds. */
export const priorities = { people: 0, prebuilds: 1 } as const;

/** A job for the queue. */
export interface NewJob {
  /** Default: a new id. Set if an object that refers to the job is stored before the job. */
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

/** Stores a job in the transaction of the mutation, and tells the daemons after the commit. Returns its id. */
export async function enqueueJob(ctx: Context, { templateVersionId, failed, ...job }: NewJob): Promise<string> {
  const id = job.id ?? newId();
  await ctx.db
    .insertInto("provisionerJobs")
    .values({
      ...job,
      id,
      createdAt: now,
      versionId: templateVersionId,
      ...(failed && { ...failed, status: "failed", completedAt: now }),
    })
    .execute();
  if (!failed) ctx.publish(workHint(job.organizationId));
  return id;
}

/** The hint that the status or the log of a job changed. */
export const jobHint = (id: string) => ({ topic: "jobs", id: `j:${id}` }) as const;

/** The hint that an organization may have work for its daemons. */
export const workHint = (organizationId: string) => ({ topic: "jobs", id: organizationId }) as const;

/** The hint that a daemon has room for a job, or must cancel one. */
export const daemonHint = (id: string) => ({ topic: "jobs", id: `d:${id}` }) as const;

/** The hint that a connection of a daemon was replaced by a newer one, or that the daemon was deleted. */
export const presenceHint = (id: string) => ({ topic: "jobs", id: `p:${id}` }) as const;
