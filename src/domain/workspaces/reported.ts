import { createAgents, type CreatedAgent, renewAgents } from "../agents/creation.js";
import { endAgentTokens } from "../agents/tokens.js";
import { requireQuota } from "../groups/quota.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { type Ending, endingOf } from "../kernel/endings.js";
import { newId } from "../kernel/ids.js";
import { sql } from "../kernel/sql.js";
import type { JobRow } from "../provisioners/jobs.js";
import { linkTaskApp } from "../tasks/builds.js";
import type { DocumentResource } from "../templates/documents.js";
import type { WorkspaceTransition } from "./status.js";
import { workspaceHint } from "./workspaces.js";

/** What a daemon needs to know after it has reported the resources of a job. */
export interface StoredResources {
  /** Credits. */
  dailyCost: number;
  agents: CreatedAgent[];
}

interface ReportedBuild {
  id: string;
  workspaceId: string;
  ownerId: string;
  organizationId: string;
  transition: WorkspaceTransition;
  isPrebuild: boolean;
  /** The cost of the previous build. */
  previous: number;
}

const buildOf = statement<ReportedBuild>(`
  select b.id, b.workspace_id as "workspaceId", w.owner_id as "ownerId", w.organization_id as "organizationId",
    b.transition, w.prebuilt_preset_id is not null as "isPrebuild", coalesce((
      select p.daily_cost from workspace_builds p where p.workspace_id = b.workspace_id
        and p.build_number = b.build_number - 1), 0) as previous
  from workspace_builds b join workspaces w on w.id = b.workspace_id where b.id = $1`);

/** The statement, or the part of the last one of a transaction, that inserts resources. */
const insertResources: Ending<ReturnType<typeof rowOf>> = (rows) => sql`
  created as (
    insert into workspace_resources (id, created_at, job_id, transition, position, name, type, icon, hide, daily_cost,
      metadata)
    select id, now(), job_id, transition, position, name, type, icon, hide, daily_cost, metadata
    from json_populate_recordset(null::workspace_resources, ${rows}))`;

async function insertNow(ctx: Context, rows: ReadonlyArray<ReturnType<typeof rowOf>>): Promise<void> {
  const [insert, values] = endingOf(new Map([[insertResources, rows]]));
  await ctx.rows(insert, ...values);
}

const storeCost = statement("update workspace_builds set daily_cost = $2, updated_at = now() where id = $1");

const largestCost = 2_147_483_647;

/**
 * Stores the resources that a daemon reported for a job, which is locked and whose resources were checked, and creates
 * the agents of a start. A repeated report of equal ones stores nothing and returns new tokens. Throws CONFLICT with the reason
 * `QUOTA_EXCEEDED` if the build exceeds the quota of the owner: the caller then fails the job.
 */
export async function storeResources(
  ctx: Context,
  job: Pick<JobRow, "id" | "workspaceBuildId">,
  resources: readonly DocumentResource[],
  isRepeated: boolean,
): Promise<StoredResources> {
  const dailyCost = Math.min(largestCost, sumOf(resources.map(({ daily_cost: cost }) => cost)));
  const build = job.workspaceBuildId === null ? undefined : await ctx.row(buildOf, job.workspaceBuildId);
  const isStart = build?.transition === "start";
  if (build && isStart && !build.isPrebuild) await requireQuota(ctx, { ...build, cost: dailyCost });
  const rows = resources.map((resource, position) => rowOf(job.id, build?.transition ?? "start", resource, position));
  if (!build && !isRepeated) ctx.atCommit(insertResources, ...rows);
  if (!build) return { dailyCost, agents: [] };
  if (!isRepeated) await insertNow(ctx, rows);
  await ctx.row(storeCost, build.id, dailyCost);
  ctx.publish(workspaceHint(build.workspaceId));
  if (!isStart) return { dailyCost, agents: [] };
  if (isRepeated) return { dailyCost, agents: await renewAgents(ctx, build.id) };
  await endAgentTokens(ctx, build.workspaceId);
  const made = resources.map(({ agents }, position) => ({ id: rows[position]!.id, agents }));
  const agents = await createAgents(ctx, { workspaceId: build.workspaceId, buildId: build.id, resources: made });
  await linkTaskApp(ctx, build.id);
  return { dailyCost, agents };
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);

const rowOf = (
  jobId: string,
  transition: WorkspaceTransition,
  { name, type, icon, hide, daily_cost, metadata }: DocumentResource,
  position: number,
) => ({
  id: newId(),
  job_id: jobId,
  transition,
  position,
  name,
  type,
  icon,
  hide,
  daily_cost,
  metadata,
});
