import type { AgentLifecycle } from "../agents/agents.js";
import type { AppState } from "../agents/agent-apps.js";
import type { Context } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { type Notification, notify, oncePerMinute } from "../notifications/notify.js";
import { taskNotifications } from "../notifications/templates/task-notifications.js";
import { isUnfinished } from "./task-messages.js";
import { taskHint, updateTaskStatus } from "./task-status.js";

/** The task of a workspace, if it has one. */
const taskOf = ({ db }: Context, workspaceId: string) =>
  db
    .selectFrom("tasks as t")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .select(["t.id", "t.name", "t.ownerId", "w.organizationId", "w.name as workspaceName"])
    .where("t.workspaceId", "=", workspaceId)
    .where("t.deletedAt", "is", null)
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
    .returning(["s.taskId as id", "s.appId", "v.taskProtocol"])
    .executeTakeFirst();
  // The agent says when the session of a program that speaks ACP has begun.
  if (task?.taskProtocol === "acp" && task.appId !== null)
    await ctx.db.updateTable("workspaceApps").set({ health: "initializing" }).where("id", "=", task.appId).execute();
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
  for (const table of ["taskLogSnapshots", "taskConversationMessages", "taskConversations", "taskActions"] as const)
    await ctx.db.deleteFrom(table).where("taskId", "=", task.id).execute();
  ctx.publish(taskHint(task.id));
}

/** The reasons of builds that pause and resume tasks. */
const reasons: Record<string, { template: "paused" | "resumed"; pause?: string }> = {
  task_manual_pause: { template: "paused", pause: "manual" },
  task_auto_pause: { template: "paused", pause: "idle timeout" },
  owner_suspended: { template: "paused", pause: "owner suspended" },
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

/** The notification to the owner of the task of a workspace that it is in error; `undefined` without a task. */
export async function taskInError(
  ctx: Context,
  workspaceId: string,
  reason: string,
): Promise<Notification | undefined> {
  const task = await taskOf(ctx, workspaceId);
  if (!task) return undefined;
  return {
    template: taskNotifications.inError,
    object: task,
    recipients: [task.ownerId],
    targets: [task.id, workspaceId],
    data: {},
    labels: { task: task.name, workspace: task.workspaceName, reason },
  };
}

/** A status that an agent reported of an app in the workspace of a task. */
export interface ReportedAppStatus {
  taskId: string;
  appId: string;
  /** The state of the agent. */
  lifecycle: AgentLifecycle;
  /** The former state of the app; null if it is the first since the start. */
  before: AppState | null;
  state: AppState;
}

const stateTemplates = {
  working: taskNotifications.working,
  idle: taskNotifications.idle,
  complete: taskNotifications.completed,
  failed: taskNotifications.failed,
};

/**
 * Applies a reported status to the task, in the transaction that stores it: notifies the owner of another state, once
 * the agent is ready, once a minute for each state. That a program begins to work after a start is no news.
 */
export async function appStatusReported(ctx: Context, report: ReportedAppStatus): Promise<void> {
  const { taskId, appId, lifecycle, before, state } = report;
  ctx.publish(taskHint(taskId));
  const isNews = state !== before && !(before === null && state === "working");
  if (!isNews || lifecycle !== "ready") return;
  const task = await ctx.db
    .selectFrom("tasks as t")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .innerJoin("taskBuilds as s", "s.taskId", "t.id")
    .select(["t.name", "t.ownerId", "w.organizationId", "w.id as workspaceId", "w.name as workspaceName"])
    .where("t.id", "=", taskId)
    .where("s.appId", "=", appId)
    .executeTakeFirst();
  if (!task) return;
  await notify(ctx, {
    template: stateTemplates[state],
    object: task,
    recipients: [task.ownerId],
    targets: [taskId, task.workspaceId],
    dedupeKey: oncePerMinute(taskId),
    data: {},
    labels: { task: task.name, workspace: task.workspaceName },
  });
}
