import type { AgentLifecycle } from "../agents/agents.js";
import type { AppState } from "../agents/apps.js";
import type { Context } from "../kernel/context.js";
import { notify, oncePerMinute } from "../notifications/notify.js";
import { taskNotifications } from "../notifications/templates/tasks.js";
import { taskHint } from "./hints.js";

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

const templates = {
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
    .select(["t.name", "t.ownerId", "w.id as workspaceId", "w.name as workspaceName"])
    .where("t.id", "=", taskId)
    .where("s.appId", "=", appId)
    .executeTakeFirst();
  if (!task) return;
  await notify(ctx, {
    template: templates[state],
    recipients: [task.ownerId],
    targets: [taskId, task.workspaceId],
    dedupeKey: oncePerMinute(taskId),
    data: {},
    labels: { task: task.name, workspace: task.workspaceName },
  });
}
