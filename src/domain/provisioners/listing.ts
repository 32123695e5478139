import { reach, sees } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { lookup } from "../kernel/database.js";
import { notFound, Problems } from "../kernel/errors.js";
import { countIn, type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findOrganization } from "../organizations/organizations.js";
import { findUser } from "../users/users.js";
import { jobColumns, type JobRow, type ProvisionerJobStatus, type ProvisionerJobType } from "./jobs.js";
import { tagProblems } from "./tags.js";

const jobById = lookup<JobRow & { ownerId: string }>(`
  select ${jobColumns}, coalesce(w.owner_id, j.initiator_id) as "ownerId"
  from provisioner_jobs j left join workspace_builds b on b.job_id = j.id left join workspaces w on w.id = b.workspace_id
  where j.id = $1`);

/** Finds a job. Its owner is the one of its workspace, or who started an import or dry run. Throws NOT_FOUND. */
export async function findProvisionerJob(ctx: Context, id: string): Promise<JobRow> {
  const job = await ctx.row(jobById, id);
  if (!job || !sees(ctx.actor, "provisioner_job:read", job)) throw notFound();
  return job;
}

/** The conditions of a list of jobs, all of which apply. */
export interface JobFilter {
  ids?: readonly string[] | null;
  status?: readonly ProvisionerJobStatus[] | null;
  type?: ProvisionerJobType | null;
  /** Tags that the job has. */
  tags?: Record<string, unknown> | null;
  /** An id, a username, or `me`. */
  initiator?: string | null;
}

export interface JobsQuery extends PageArguments {
  /** An id, a name, or `default`. */
  organization: string;
  filter?: JobFilter | null;
}

const mostIds = 1000;

/** Lists the jobs of an organization that the caller may read, newest first: all, or their own. */
export async function listProvisionerJobs(
  ctx: Context,
  { organization: ref, filter, ...page }: JobsQuery,
): Promise<Page<JobRow>> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  const { ids, status, type, tags, initiator } = filter ?? {};
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems);
  if ((ids?.length ?? 0) > mostIds) problems.add("filter.ids", `Must have at most ${mostIds} entries.`);
  tagProblems(tags ?? {}, problems);
  problems.throwIfAny();
  const initiatorId = initiator ? (await findUser(ctx, initiator)).id : undefined;
  const isReadable = readable(ctx, organizationId);
  const matches = allOf(
    isReadable,
    given(ids, (some) => sql`j.id = any(${some}::uuid[])`),
    given(status, withStatus),
    given(type, (one) => sql`j.type = ${one}`),
    given(tags, (some) => sql`j.tags @> ${JSON.stringify(some)}::jsonb`),
  );
  const isAmong = allOf(
    sql`j.organization_id = ${organizationId}`,
    given(initiatorId, (one) => sql`j.initiator_id = ${one}`),
  );
  // Few jobs are read by their ids and sorted, many by the index that begins with the fixed columns.
  const areFew = isReadable !== undefined || ids != null;
  const order = newestFirst(areFew ? {} : { organization_id: organizationId, initiator_id: initiatorId }, isReadable);
  const from = (more?: Sql) => sql`from provisioner_jobs j where ${allOf(areFew ? isAmong : undefined, matches, more)}`;
  const rows = rowsIn(range, order, (beyond) => sql`select ${raw(jobColumns)} ${from(beyond)}`);
  return pageOf(range, await ctx.select<JobRow>(rows), {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    count: () => ctx.count(countIn(order, (more) => sql`select ${from(more)}`)),
  });
}

/** Statuses for whose jobs there is an index, and the condition of the index. */
const indexed: ReadonlyArray<{ statuses: readonly ProvisionerJobStatus[]; condition: Sql }> = [
  { statuses: ["pending", "running", "canceling"], condition: sql`j.completed_at is null` },
  { statuses: ["failed", "canceled"], condition: sql`j.status in ('failed', 'canceled')` },
];

/** The condition that the job `j` has one of the statuses. */
const withStatus = (some: readonly ProvisionerJobStatus[]): Sql =>
  allOf(
    sql`j.status = any(${some}::text[])`,
    indexed.find(({ statuses }) => some.every((status) => statuses.includes(status)))?.condition,
  );

/** The condition that the caller may read the job `j`; absent if all of the organization. */
function readable({ actor }: Context, organizationId: string): Sql | undefined {
  const { everywhere, organizations, own } = reach(actor, "provisioner_job:read");
  if (everywhere || organizations.includes(organizationId)) return undefined;
  if (!own) return sql`false`;
  const userId = userIdOf(actor) ?? null;
  return sql`j.id = any(array(
    select o.id from provisioner_jobs o
    where o.organization_id = ${organizationId} and o.initiator_id = ${userId} and o.workspace_build_id is null
    union all
    select b.job_id from workspaces w join workspace_builds b on b.workspace_id = w.id where w.owner_id = ${userId}))`;
}

/** Columns that have the same value in all rows of a list, by which an index finds them. */
type Fixed = Partial<Record<"organization_id" | "initiator_id", string | undefined>>;

const newestFirst = (fixed: Fixed, isReadable: Sql | undefined): Order => ({
  fixed: Object.entries(fixed).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column: raw(`j.${column}`), value }],
  ),
  keys: [
    {
      column: sql`j.created_at`,
      ofPlace: (id) => sql`(select j.created_at from provisioner_jobs j where ${allOf(sql`j.id = ${id}`, isReadable)})`,
    },
  ],
  id: sql`j.id`,
  isDescending: true,
});
