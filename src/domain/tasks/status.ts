import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

/** The state of a task as a whole, derived from its latest build, agent, and app. */
export const TaskStatus = {
  PENDING: "pending",
  INITIALIZING: "initializing",
  ACTIVE: "active",
  PAUSED: "paused",
  ERROR: "error",
  UNKNOWN: "unknown",
} as const;
export type TaskStatus = (typeof TaskStatus)[keyof typeof TaskStatus];

/** A sentence that says the state of a task. */
export const statusSentence = (status: TaskStatus): string =>
  status === "error"
    ? "The task is in error."
    : status === "unknown"
      ? "The status of the task is unknown."
      : `The task is ${status}.`;

/** SQL for the id of the task of a workspace; null if it has none. */
export const taskIdOf = (workspaceId: string): string =>
  `(select t.id from tasks t where t.workspace_id = ${workspaceId} and t.deleted_at is null)`;

const tablesWith = (workspaces: string) => `tasks t join ${workspaces} w on w.id = t.workspace_id
  left join workspace_builds b on b.id = w.latest_build_id
  left join task_builds s on s.task_id = t.id and not exists (
    select from task_builds later where later.task_id = s.task_id and later.build_number > s.build_number)
  left join workspace_agents a on a.id = s.agent_id
  left join workspace_apps p on p.id = s.app_id`;

/**
 * The tables of which the state of a task is derived: the task `t`, its workspace `w` with the latest build `b`, the
 * most recent start `s`, and the agent `a` and the app `p` of that start.
 */
export const taskTables = tablesWith("workspaces");

/**
 * The status of a task, as `updateTaskStatus` stores it. While a stop is under way, the agent and the app of the most
 * recent start decide; a start that failed is an error whatever they report.
 */
export const taskStatus = `case
  when w.latest_status in ('failed', 'canceling', 'canceled') then 'error'
  when w.latest_status in ('stopped', 'deleted') then 'paused'
  when w.latest_transition is null or w.latest_status = 'pending' and w.latest_transition = 'start' then 'pending'
  when a.id is null or a.lifecycle in ('created', 'starting') then 'initializing'
  when p.id is null then 'unknown'
  when p.health = 'initializing' then 'initializing'
  when p.health = 'unhealthy' then 'error'
  else 'active' end`;

const lock = statement<{ id: string }>("select id from tasks where id = $1 and deleted_at is null for no key update");

const storing = (workspaces: string, condition: string) => `
  update tasks set status = derived.status
  from (select t.id, ${taskStatus} as status from ${tablesWith(workspaces)} where ${condition}) derived
  where tasks.id = derived.id and tasks.status <> derived.status`;

const store = statement(storing("workspaces", "t.id = $1"));

/** SQL: does the same in the statement that has changed the workspace, whose new row is the common table `workspace`. */
export const storeTaskStatus = storing("workspace", "t.deleted_at is null");

/**
 * Derives the status of a task again and stores it, in the transaction that has changed the latest build, the agent or
 * the app. It is stored because lists select by it. The lock comes first, so that the last of concurrent changes sees
 * all others.
 */
export async function updateTaskStatus(ctx: Context, taskId: string | null): Promise<void> {
  if (taskId !== null && (await ctx.row(lock, taskId))) await ctx.row(store, taskId);
}
