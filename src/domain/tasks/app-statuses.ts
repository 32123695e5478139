import type { AgentLifecycle } from "../agents/agents.js";
import type { AppState } from "../agents/apps.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { sql } from "../kernel/sql.js";
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

const taskOfApp = statement<{ name: string; ownerId: string; workspaceId: string; workspaceName: string }>(`
  select t.name, t.owner_id as "ownerId", w.id as "workspaceId", w.name as "workspaceName"
  from tasks t join workspaces w on w.id = t.workspace_id join task_builds s on s.task_id = t.id and s.app_id = $2
  where t.id = $1`);

/**
 * Applies a reported status to the task, in the transaction that stores it: notifies the owner of another state, once
 * the agent is ready, once a minute for each state. That a program begins to work after a start is no news.
 */
export async function appStatusReported(ctx: Context, report: ReportedAppStatus): Promise<void> {
  const { taskId, appId, lifecycle, before, state } = report;
  ctx.publish(taskHint(taskId));
  const isNews = state !== before && !(before === null && state === "working");
  const task = isNews && lifecycle === "ready" ? await ctx.row(taskOfApp, taskId, appId) : undefined;
  if (!task) return;
  await notify(ctx, {
    template: templates[state],
    recipients: sql`u.id = ${task.ownerId}`,
    targets: [taskId, task.workspaceId],
    dedupeKey: oncePerMinute(taskId),
    data: {},
    labels: { task: task.name, workspace: task.workspaceName },
  });
}
