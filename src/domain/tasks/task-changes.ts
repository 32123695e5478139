import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { badInput, notFound } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { flag, inputOf, type Input, optional, required } from "../kernel/values.js";
import { cancelJobIfAllowed, cancelPendingJob, lockJobOf } from "../provisioners/ended-jobs.js";
import { isOpen } from "../workspaces/build-status.js";
import { latestBuildOf } from "../workspaces/builds.js";
import { deleteLocked, startLocked, stopLocked } from "../workspaces/transitions.js";
import { lockWorkspace } from "../workspaces/workspaces.js";
import { requireBudget } from "../groups/ai-spending.js";
import { inputProblem, taskText } from "./input-text.js";
import { taskHint } from "./task-status.js";
import { findTaskFor, notInStatus, TaskReference, type TaskRow, tasksById } from "./tasks.js";
import { endTaskOf } from "./workspace-events.js";

const auditedTask = ({ id, name, organizationId }: TaskRow) => auditedAs("task", id, name, organizationId);

export const UpdateTaskInput = inputOf({
  ...TaskReference.shape,
  input: required(taskText, "The prompt of the next start."),
});
export type UpdateTaskInput = Input<typeof UpdateTaskInput>;

/** Replaces the prompt for the next start of a paused task. Returns its id. Throws CONFLICT in other states. */
export async function updateTaskInput(ctx: Context, { input, ...reference }: UpdateTaskInput): Promise<string> {
  const found = await findTaskFor(ctx, reference, "task:update");
  if (!input.trim()) throw badInput([{ field: "input", detail: "Must not be blank." }]);
  const problem = inputProblem(ctx, input);
  if (problem) throw badInput([{ field: "input", detail: problem }]);
  const task = await lockedTask(ctx, found, "read");
  if (task.status !== "paused") throw notInStatus(task, "Only the input of a paused task can change.");
  if (input === task.initialPrompt) return task.id;
  await ctx.db
    .updateTable("tasks")
    .set({ initialPrompt: input, updatedAt: now })
    .where("id", "=", task.id)
    .where("deletedAt", "is", null)
    .execute();
  ctx.audit({ action: "update", ...auditedTask(task), diff: { initialPrompt: { old: "***", new: "***" } } });
  ctx.publish(taskHint(task.id));
  return task.id;
}

/** A task and a build that was created for it. */
export interface TaskBuild {
  taskId: string;
  buildId: string;
}

/** Pauses a task: stops its workspace. Throws CONFLICT while a build is open, and if it is stopped already. */
export async function pauseTask(ctx: Context, reference: TaskReference): Promise<TaskBuild> {
  const { id, workspaceId } = await findTaskFor(ctx, reference, "workspace:stop");
  const workspace = await lockWorkspace(ctx, workspaceId, "stop");
  const build = await stopLocked(ctx, workspace, "task_manual_pause");
  ctx.publish(taskHint(id));
  return { taskId: id, buildId: build.id };
}

/**
 * Resumes a paused task, or tries again after a build that failed or was canceled: starts its workspace with the current
 * prompt and the version of the last start. Throws CONFLICT while it runs or a build is open.
 */
export async function resumeTask(ctx: Context, reference: TaskReference): Promise<TaskBuild> {
  const { id, ownerId, organizationId, workspaceId } = await findTaskFor(ctx, reference, "workspace:start");
  await requireBudget(ctx, ownerId, organizationId);
  const workspace = await lockWorkspace(ctx, workspaceId, "start");
  const build = await startLocked(ctx, workspace, { reason: "task_resume" });
  ctx.publish(taskHint(id));
  return { taskId: id, buildId: build.id };
}

export const DeleteTask = inputOf({
  ...TaskReference.shape,
  duringBuild: optional(
    flag,
    "Whether to delete the task even while a build runs: the build is canceled, if the caller may cancel it, and the workspace is deleted when it has ended. Default: false.",
  ),
});
export type DeleteTask = Input<typeof DeleteTask>;

/**
 * Deletes a task and its workspace. The task is gone immediately; a build that only waits is canceled. Returns the task
 * before the deletion. Throws CONFLICT while a build is running or being canceled, unless the task is to be deleted
 * `duringBuild`: the build is then canceled, if the caller may, and its end begins the deletion of the workspace.
 */
export async function deleteTask(ctx: Context, { duringBuild, ...reference }: DeleteTask): Promise<TaskRow> {
  const task = await findTaskFor(ctx, reference, "task:delete");
  if (duringBuild && task.buildId !== null) await lockJobOf(ctx, task.buildId);
  let workspace = await lockWorkspace(ctx, task.workspaceId, "delete");
  const build = workspace.latestStatus === "pending" ? await latestBuildOf(ctx, workspace) : undefined;
  if (build && (await cancelPendingJob(ctx, build.jobId)))
    workspace = await lockWorkspace(ctx, task.workspaceId, "delete");
  await endTaskOf(ctx, workspace.id);
  if (duringBuild && isOpen(workspace.latestStatus)) {
    // `buildEnded` begins the deletion.
    const open = await latestBuildOf(ctx, workspace);
    await cancelJobIfAllowed(ctx, open!.jobId);
  } else await deleteLocked(ctx, workspace, false);
  ctx.audit({ action: "delete", ...auditedTask(task) });
  return task;
}

/** The task after its workspace was locked, so that no build begins meanwhile. */
async function lockedTask(ctx: Context, { id, workspaceId }: TaskRow, action: "read"): Promise<TaskRow> {
  await lockWorkspace(ctx, workspaceId, action);
  const [task] = await tasksById(ctx, [id]);
  if (!task) throw notFound();
  return task;
}
