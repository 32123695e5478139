import { createAgents, type CreatedAgent, renewAgents } from "../agents/creation.js";
import { endAgentTokens } from "../agents/tokens.js";
import { requireQuota } from "../groups/quota.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { now } from "../kernel/times.js";
import { linkTaskApp } from "../tasks/builds.js";
import type { DocumentResource } from "../templates/documents.js";
import { announceReplacement } from "./build-events.js";
import type { WorkspaceTransition } from "./status.js";
import { workspaceHint } from "./workspaces.js";

/** What a daemon needs to know after it has reported the resources of a job. */
export interface StoredResources {
  /** Credits. */
  dailyCost: number;
  agents: CreatedAgent[];
}

/** The build of a job, while its daemon reports. */
export interface ReportedBuild {
  id: string;
  workspaceId: string;
  ownerId: string;
  organizationId: string;
  transition: WorkspaceTransition;
  isPrebuild: boolean;
  /** Whether it is the first one after the claim of a prebuilt workspace. */
  isClaim: boolean;
  /** The cost of the previous build. */
  previous: number;
}

/** A column with the `ReportedBuild` of the job `j`, null for other jobs. */
export const reportedBuild = raw(`(
  select json_build_object('id', b.id, 'workspaceId', b.workspace_id, 'ownerId', w.owner_id,
    'organizationId', w.organization_id, 'transition', b.transition, 'isPrebuild', w.prebuilt_preset_id is not null,
    'isClaim', b.is_claim,
    'previous', coalesce((
      select p.daily_cost from workspace_builds p
      where p.workspace_id = b.workspace_id and p.build_number = b.build_number - 1), 0))
  from workspace_builds b join workspaces w on w.id = b.workspace_id where b.id = j.workspace_build_id)`);

/** A new row of `workspace_resources`. */
export type ResourceRow = ReturnType<typeof rowOf>;

/** The rows of the resources of a job. */
export const resourceRows = (
  jobId: string,
  build: ReportedBuild | null,
  resources: readonly DocumentResource[],
): ResourceRow[] =>
  resources.map((resource, position) => rowOf(jobId, build?.transition ?? "start", resource, position));

/** The agents of new resources. */
export const madeOf = (resources: readonly DocumentResource[], rows: readonly ResourceRow[]): Reported["made"] =>
  resources.map(({ agents }, position) => ({ id: rows[position]!.id, agents }));

/** Common table expression that inserts resources for each row of `source`, which has none or one. */
export const insertingResources = (rows: readonly ResourceRow[], source: Sql): Sql => sql`
  created as (
    insert into workspace_resources (id, created_at, job_id, transition, position, name, type, icon, hide, daily_cost,
      metadata)
    select r.id, now(), job_id, transition, position, name, type, icon, hide, daily_cost, metadata
    from json_populate_recordset(null::workspace_resources, ${JSON.stringify(rows)}) r cross join ${source})`;

const largestCost = 2_147_483_647;

/** Credits that resources cost each day. */
export const costOf = (resources: readonly DocumentResource[]): number =>
  Math.min(largestCost, sumOf(resources.map(({ daily_cost: cost }) => cost)));

/** What a daemon reported for a build, of which the resources are stored. */
interface Reported {
  dailyCost: number;
  made: Array<{ id: string; agents: DocumentResource["agents"] }>;
  /** Whether equal resources have been reported before. */
  isRepeated: boolean;
}

/**
 * Stores the cost of a build, whose job is locked, and creates the agents of a start. A repeated report returns new tokens.
 * Throws CONFLICT with the reason `QUOTA_EXCEEDED` if the build exceeds the quota of the owner: the caller then fails the job.
 */
export async function storeBuild(
  ctx: Context,
  build: ReportedBuild,
  { dailyCost, made, isRepeated }: Reported,
): Promise<CreatedAgent[]> {
  const isStart = build.transition === "start";
  if (isStart && !build.isPrebuild) await requireQuota(ctx, { ...build, cost: dailyCost });
  await ctx.db.updateTable("workspaceBuilds").set({ dailyCost, updatedAt: now }).where("id", "=", build.id).execute();
  ctx.publish(workspaceHint(build.workspaceId));
  if (!isStart) return [];
  if (isRepeated) return renewAgents(ctx, build.id);
  await endAgentTokens(ctx, build.workspaceId);
  const agents = await createAgents(ctx, { workspaceId: build.workspaceId, buildId: build.id, resources: made });
  await linkTaskApp(ctx, build.id);
  if (build.isClaim) await announceReplacement(ctx, build.id);
  return agents;
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
