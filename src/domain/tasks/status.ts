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

/**
 * The tables of which the state of a task is derived: the task `t`, its workspace `w` with the latest build `b`, the
 * most recent start `s`, and the agent `a` and the app `p` of that start.
 */
export const taskTables = `tasks t join workspaces w on w.id = t.workspace_id
  left join workspace_builds b on b.id = w.latest_build_id
  left join task_builds s on s.task_id = t.id and not exists (
    select from task_builds later where later.task_id = s.task_id and later.build_number > s.build_number)
  left join workspace_agents a on a.id = s.agent_id
  left join workspace_apps p on p.id = s.app_id`;

/**
 * The status of a task. While a stop is under way, the agent and the app of the most recent start decide; a start that
 * failed is an error whatever they report.
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

/** The statuses of workspaces in which tasks can have a status, for the index of workspaces. */
export const workspaceStatusesOf: Record<TaskStatus, readonly string[]> = {
  pending: ["pending"],
  initializing: ["starting", "running", "pending", "stopping", "deleting"],
  active: ["starting", "running", "pending", "stopping", "deleting"],
  paused: ["stopped", "deleted"],
  error: ["failed", "canceling", "canceled", "starting", "running", "pending", "stopping", "deleting"],
  unknown: ["starting", "running", "pending", "stopping", "deleting"],
};
