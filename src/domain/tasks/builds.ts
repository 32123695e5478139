import type { Context } from "../kernel/context.js";
import { now } from "../kernel/times.js";
import { notify } from "../notifications/notify.js";
import { taskNotifications } from "../notifications/templates/tasks.js";
import { taskHint } from "./hints.js";
import { isUnfinished } from "./messages.js";
import { updateTaskStatus } from "./status.js";

/** The task of a workspace, if it has one. */
const taskOf = ({ db }: Context, workspaceId: string) =>
  db
    .selectFrom("tasks")
    .select(["id", "name", "ownerId"])
    .where("workspaceId", "=", workspaceId)
    .where("deletedAt", "is", null)
    .executeTakeFirst();

/** Notes that a start of a workspace begins, if it is the workspace of a task. */
export async function taskBuildStarts(ctx: Context, workspaceId: string, buildNumber: number): Promise<void> {
  const task = await taskOf(ctx, workspaceId);
  if (!task) return;
  await addTaskBuild(ctx, task, buildNumber);
  ctx.publish(taskHint(task.id));
}

/** Adds a start to a task, whose owner uses AI from now on. */
export async function addTaskBuild(
  { db }: Context,
  { id: taskId, ownerId }: { id: string; ownerId: string },
  buildNumber: number,
): Promise<void> {
  await db.updateTable("users").set({ aiSeatAt: now }).where("id", "=", ownerId).execute();
  await db.insertInto("taskBuilds").values({ taskId, buildNumber }).execute();
}

/** Links the task of a workspace with the agent and the app that a start has created. */
export async function linkTaskApp(ctx: Context, buildId: string): Promise<void> {
  const task = await ctx.db
    .updateTable("taskBuilds as s")
    .from("workspaceBuilds as b")
    .innerJoin("tasks as t", "t.workspaceId", "b.workspaceId")
    .innerJoin("templateVersions as v", "v.id", "b.versionId")
    .innerJoin("workspaceAgents as a", (join) =>
      join.onRef("a.buildId", "=", "b.id").onRef("a.name", "=", "v.taskAgent"),
    )
    .leftJoin("workspaceApps as p", (join) => join.onRef("p.agentId", "=", "a.id").onRef("p.slug", "=", "v.taskApp"))
    .set((eb) => ({ agentId: eb.ref("a.id"), appId: eb.ref("p.id") }))
    .where("b.id", "=", buildId)
    .whereRef("s.taskId", "=", "t.id")
    .whereRef("s.buildNumber", "=", "b.buildNumber")
    .returning("s.taskId as id")
    .executeTakeFirst();
  if (task) await updateTaskStatus(ctx, task.id);
}

/** Deletes the task of a workspace, with its queue and its stored conversation, when the workspace is deleted. */
export async function endTaskOf(ctx: Context, workspaceId: string): Promise<void> {
  const task = await ctx.db
    .updateTable("tasks")
    .set({ deletedAt: now, updatedAt: now })
    .where("workspaceId", "=", workspaceId)
    .where("deletedAt", "is", null)
    .returning("id")
    .executeTakeFirst();
  if (!task) return;
  await ctx.db
    .updateTable("taskMessages")
    .set({ state: "canceled", finishedAt: now })
    .where("taskId", "=", task.id)
    .where(isUnfinished)
    .execute();
  await ctx.db.deleteFrom("taskLogSnapshots").where("taskId", "=", task.id).execute();
  ctx.publish(taskHint(task.id));
}

/** The reasons of builds that pause and resume tasks. */
const reasons: Record<string, { template: "paused" | "resumed"; pause?: string }> = {
  task_manual_pause: { template: "paused", pause: "manual" },
  task_auto_pause: { template: "paused", pause: "idle timeout" },
  task_resume: { template: "resumed" },
};

/** A build that has succeeded. */
interface SucceededBuild {
  workspaceId: string;
  workspaceName: string;
  reason: string;
  initiatorName: string;
}

/** Notifies the owner of a task that it was paused or resumed, after the build has succeeded. */
export async function announceTaskBuild(
  ctx: Context,
  { workspaceId, workspaceName, reason, initiatorName }: SucceededBuild,
): Promise<void> {
  const kind = reasons[reason];
  const task = kind && (await taskOf(ctx, workspaceId));
  if (!task) return;
  await notify(ctx, {
    template: taskNotifications[kind.template],
    recipients: [task.ownerId],
    targets: [task.id, workspaceId],
    data: { initiator: initiatorName },
    labels: {
      task: task.name,
      task_id: task.id,
      workspace: workspaceName,
      ...(kind.pause && { pause_reason: kind.pause }),
    },
  });
}
