import { sql } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { endAgentTokens } from "../agents/agent-tokens.js";
import type { Context } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { prebuildEnded } from "../prebuilds/ended-prebuilds.js";
import type { JobOutcome, JobRow } from "../provisioners/provisioner-jobs.js";
import { announceTaskBuild, endTaskOf } from "../tasks/workspace-events.js";
import { systemIdentity } from "../users/system-identities.js";
import { updateTaskStatusOf } from "../tasks/task-status.js";
import { announceDeletion, announceFailure, endedBuilds } from "./build-events.js";
import { createBuild } from "./builds.js";
import { deadlinesAt } from "./deadlines.js";
import { startAfterStop } from "./starts.js";
import { buildStatus } from "./build-status.js";
import { workspaceHint, workspacesById } from "./workspaces.js";

/** The final report of the daemon that ended a build. */
export interface BuildResult {
  /** JSON for the next build. Absent: the state does not change. */
  state?: unknown;
  /** The daemon that the following builds go to, until a stop or a deletion succeeds. */
  pinDaemonId?: string;
}

/** Applies the end of a build, in the transaction that ends its job. */
export async function buildEnded(
  ctx: Context,
  job: JobRow,
  outcome: JobOutcome,
  { state, pinDaemonId }: BuildResult,
): Promise<void> {
  const locked = endedBuilds(ctx.db).where("b.id", "=", job.workspaceBuildId).forNoKeyUpdate("w");
  const build = await locked.executeTakeFirstOrThrow();
  const { id, workspaceId } = build;
  const isSuccess = outcome === "succeeded";
  const isRunning = isSuccess && build.transition === "start";
  const isDeleted = isSuccess && build.transition === "delete";
  const { deadline, maxDeadline } = isRunning ? deadlinesAt(ctx, build, databaseTime()) : noDeadlines;
  await ctx.db
    .updateTable("workspaces")
    .set({
      latestStatus: statusOf(ctx, id),
      updatedAt: now,
      ...(isSuccess && { deadline, autobuildAfter: null, pinnedDaemonId: isRunning ? (pinDaemonId ?? null) : null }),
      ...(isDeleted && { deletedAt: now }),
    })
    .where("id", "=", workspaceId)
    .execute();
  await ctx.db
    .updateTable("workspaceBuilds")
    .set({
      ...(state !== undefined && { state: sql`${JSON.stringify(state)}::jsonb` }),
      deadline,
      maxDeadline,
      plannedDeadline: deadline,
      updatedAt: now,
    })
    .where("id", "=", id)
    .execute();
  await updateTaskStatusOf(ctx, workspaceId);
  if (isSuccess && !isRunning) await endAgentTokens(ctx, workspaceId);
  ctx.publish(workspaceHint(workspaceId));
  if (isDeleted) {
    await ctx.db.deleteFrom("workspaceAclEntries").where("workspaceId", "=", workspaceId).execute();
    await endTaskOf(ctx, workspaceId);
    await announceDeletion(ctx, build);
  }
  if (build.isAbandoned) return deleteAbandoned(ctx, workspaceId);
  const { nextStart } = build;
  if (isSuccess && nextStart) return startAfterStop(ctx, { ...build, nextStart });
  if (isSuccess) await announceTaskBuild(ctx, build);
  if (outcome === "failed") await announceFailure(ctx, build, job.error);
  if (build.prebuiltPresetId !== null && build.transition === "start")
    await prebuildEnded(ctx, build.prebuiltPresetId, outcome, job.error);
}

/** Begins the deletion of a workspace whose task was deleted while its build was open. */
async function deleteAbandoned(ctx: Context, id: string): Promise<void> {
  const [workspace] = await workspacesById(ctx, [id]);
  const initiatorId = await systemIdentity(ctx, "system");
  await createBuild(ctx, workspace!, { transition: "delete", reason: "initiator", initiatorId });
}

const noDeadlines = { deadline: null, maxDeadline: null };

/** Applies a status of a build's job that is not final, in its transaction. */
export async function buildChanged(
  ctx: Context,
  { workspaceBuildId: id }: Pick<JobRow, "workspaceBuildId">,
): Promise<void> {
  if (id === null) return;
  const workspace = await ctx.db
    .updateTable("workspaces")
    .set({ latestStatus: statusOf(ctx, id), updatedAt: now })
    .where("id", "=", ctx.db.selectFrom("workspaceBuilds").select("workspaceId").where("id", "=", id))
    .returning("id")
    .executeTakeFirst();
  if (!workspace) return;
  await ctx.db.updateTable("workspaceBuilds").set({ updatedAt: now }).where("id", "=", id).execute();
  await updateTaskStatusOf(ctx, workspace.id);
  ctx.publish(workspaceHint(workspace.id));
}

/** Selects the status of a build. */
const statusOf = ({ db }: Context, id: string) =>
  db
    .selectFrom("workspaceBuilds as b")
    .innerJoin("provisionerJobs as j", "j.id", "b.jobId")
    .select(buildStatus.as("status"))
    .where("b.id", "=", id);
