import { databaseTime } from "../../clock.js";
import { endAgentTokens } from "../agents/tokens.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { prebuildEnded } from "../prebuilds/outcomes.js";
import type { JobOutcome, JobRow } from "../provisioners/jobs.js";
import { announceTaskBuild, endTaskOf } from "../tasks/builds.js";
import { taskIdOf, updateTaskStatus } from "../tasks/status.js";
import { announceDeletion, announceFailure } from "./build-events.js";
import { deadlinesAt } from "./deadlines.js";
import { lockEndedBuild } from "./ended-builds.js";
import { buildStatus } from "./status.js";
import { workspaceHint } from "./workspaces.js";

/** What the daemon that ended a build reported. */
export interface BuildResult {
  /** JSON for the next build. Absent: the state does not change. */
  state?: unknown;
  /** The daemon that the following builds go to, until a stop or a deletion succeeds. */
  pinDaemonId?: string;
}

const store = statement<{ taskId: string | null }>(`
  with build as (
    update workspace_builds set state = coalesce($2::jsonb, state), deadline = $3, max_deadline = $4,
      updated_at = now() where id = $1
  )
  update workspaces w set latest_status = ${buildStatus}, updated_at = now(),
    deadline = case when j.status <> 'succeeded' then w.deadline else $3 end,
    autobuild_after = case when j.status <> 'succeeded' then w.autobuild_after end,
    pinned_daemon_id = case when j.status <> 'succeeded' then w.pinned_daemon_id
      when b.transition = 'start' then $5::uuid end,
    deleted_at = case when j.status = 'succeeded' and b.transition = 'delete' then now() end
  from workspace_builds b join provisioner_jobs j on j.id = b.job_id
  where b.id = $1 and w.id = b.workspace_id
  returning ${taskIdOf("w.id")} as "taskId"`);

const removeAccess = statement("delete from workspace_acl_entries where workspace_id = $1");

/** Applies the end of a build, in the transaction that ends its job. */
export async function buildEnded(
  ctx: Context,
  job: JobRow,
  outcome: JobOutcome,
  { state, pinDaemonId }: BuildResult,
): Promise<void> {
  const build = await lockEndedBuild(ctx, job);
  const isRunning = outcome === "succeeded" && build.transition === "start";
  const { deadline, maxDeadline } = isRunning ? deadlinesAt(ctx, build, databaseTime()) : noDeadlines;
  const stored = state === undefined ? null : JSON.stringify(state);
  const values = [job.workspaceBuildId, stored, deadline, maxDeadline, pinDaemonId ?? null];
  await updateTaskStatus(ctx, (await ctx.row(store, ...values))!.taskId);
  if (outcome === "succeeded" && build.transition !== "start") await endAgentTokens(ctx, build.workspaceId);
  ctx.publish(workspaceHint(build.workspaceId));
  if (outcome === "succeeded" && build.transition === "delete") {
    await ctx.row(removeAccess, build.workspaceId);
    await endTaskOf(ctx, build.workspaceId);
    await announceDeletion(ctx, build);
  }
  if (outcome === "succeeded") await announceTaskBuild(ctx, build);
  if (outcome === "failed") await announceFailure(ctx, build, job.error);
  if (build.prebuiltPresetId !== null && build.transition === "start")
    await prebuildEnded(ctx, build.prebuiltPresetId, outcome);
}

const noDeadlines = { deadline: null, maxDeadline: null };

const keepStatus = statement<{ id: string; taskId: string | null }>(`
  with build as (update workspace_builds set updated_at = now() where id = $1)
  update workspaces w set latest_status = ${buildStatus}, updated_at = now()
  from workspace_builds b join provisioner_jobs j on j.id = b.job_id
  where b.id = $1 and w.id = b.workspace_id
  returning w.id, ${taskIdOf("w.id")} as "taskId"`);

/** Applies a status of a build's job that is not final, in its transaction. */
export async function buildChanged(ctx: Context, job: JobRow): Promise<void> {
  const workspace = await ctx.row(keepStatus, job.workspaceBuildId);
  if (!workspace) return;
  await updateTaskStatus(ctx, workspace.taskId);
  ctx.publish(workspaceHint(workspace.id));
}
