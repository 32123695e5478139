import { sql } from "kysely";
import { createAgents, type CreatedAgent, renewAgents } from "../agents/create-agents.js";
import { endAgentTokens } from "../agents/agent-tokens.js";
import { requireQuota } from "./quotas.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { linkTaskApp } from "../tasks/workspace-events.js";
import type { DocumentResource } from "../templates/document-resources.js";
import { announceReplacement } from "./build-events.js";
import type { WorkspaceTransition } from "./build-status.js";
import { workspaceHint } from "./workspaces.js";

/** The response to a daemon that has reported the resources of a job. */
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

/** Finds a build for the report of its daemon. */
export async function findReportedBuild(ctx: Context, id: string): Promise<ReportedBuild> {
  const { prebuiltPresetId, previous, ...build } = await ctx.db
    .selectFrom("workspaceBuilds as b")
    .innerJoin("workspaces as w", "w.id", "b.workspaceId")
    .leftJoin("workspaceBuilds as p", (join) =>
      join
        .onRef("p.workspaceId", "=", "b.workspaceId")
        .on("p.buildNumber", "=", (eb) => eb(eb.ref("b.buildNumber"), "-", 1)),
    )
    .where("b.id", "=", id)
    .select([
      "b.id",
      "b.workspaceId",
      "w.ownerId",
      "w.organizationId",
      "b.transition",
      "w.prebuiltPresetId",
      "b.isClaim",
      "p.dailyCost as previous",
    ])
    .executeTakeFirstOrThrow();
  return { ...build, isPrebuild: prebuiltPresetId !== null, previous: previous ?? 0 };
}

/** Resources that a daemon reports for a job, and for which transition. */
interface NewResources {
  jobId: string;
  transition: WorkspaceTransition;
  resources: readonly DocumentResource[];
}

/** Stores the resources of a job. Returns their ids and agents. */
export async function storeResources(
  ctx: Context,
  { jobId, transition, resources }: NewResources,
): Promise<Reported["made"]> {
  const rows = resources.map(({ name, type, icon, hide, daily_cost: dailyCost, metadata }, position) => ({
    id: newId(),
    createdAt: now,
    jobId,
    transition,
    position,
    name,
    type,
    icon,
    hide,
    dailyCost,
    metadata: sql<typeof metadata>`${JSON.stringify(metadata)}`,
  }));
  if (rows.length > 0) await ctx.db.insertInto("workspaceResources").values(rows).execute();
  return resources.map(({ agents }, position) => ({ id: rows[position]!.id, agents }));
}

/** The report of a daemon for a build whose resources are stored. */
interface Reported {
  dailyCost: number;
  made: Array<{ id: string; agents: DocumentResource["agents"] }>;
  /** Whether equal resources have been reported before. */
  isRepeated: boolean;
}

/**
 * Stores the cost of a build, whose job is locked, and creates the agents of a start. A repeated report returns new
 * tokens. Throws CONFLICT with the reason `QUOTA_EXCEEDED` if the build exceeds the quota of the owner: the caller then
 * fails the job.
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
