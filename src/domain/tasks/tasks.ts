import { Task } from "../../entities/tasks.js";
import { userIdOf } from "../kernel/actor.js";
import { authorize, seesOn, type Target } from "../authorization/authorization.js";
import { agentHealthReason, type AgentLifecycle } from "../agents/agents.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { rfc3339 } from "../../infrastructure/database/parsers.js";
import { isUuid } from "../kernel/text.js";
import { findUser } from "../users/users.js";
import { accessOf, type WorkspaceStatus } from "../workspaces/workspaces.js";
import { type TaskStatus, taskTables } from "./status.js";

/** What the program of a task reports, or, while the task is initializing, what it waits for. */
export interface TaskState {
  state: TaskStateKind;
  message: string;
  timestamp: string;
  uri: string;
}

/** What the program of a task does. */
export const TaskStateKind = { WORKING: "working", IDLE: "idle", COMPLETE: "complete", FAILED: "failed" } as const;
export type TaskStateKind = (typeof TaskStateKind)[keyof typeof TaskStateKind];

const columns = columnsOf(Task, "t", [
  "id",
  "createdAt",
  "ownerId",
  "organizationId",
  "name",
  "displayName",
  "initialPrompt",
  "presetId",
  "workspaceId",
]);

/** A task with what is derived from its workspace. */
export interface TaskRow extends RowOf<typeof columns> {
  updatedAt: string;
  templateVersionId: string;
  /** Username. */
  ownerName: string;
  ownerAvatarUrl: string;
  templateId: string;
  templateName: string;
  templateDisplayName: string;
  templateIcon: string;
  workspaceName: string;
  workspaceStatus: WorkspaceStatus;
  buildId: string | null;
  workspaceBuildNumber: number;
  /** Null until the agent of the most recent start is known. */
  agentId: string | null;
  workspaceAgentLifecycle: AgentLifecycle | null;
  /** Null if the agent is healthy. */
  agentHealthReason: string | null;
  appId: string | null;
  appUrl: string | null;
  status: TaskStatus;
  reported: TaskState | null;
  buildCreatedAt: string | null;
  /** The entry of the caller in the access list of the workspace. */
  acl: "use" | "admin" | null;
}

/** The latest report of a program in the workspace, unless the workspace was started again since. */
const reported = `(
  select json_build_object('state', r.state, 'message', r.message, 'timestamp', r.created_at, 'uri', r.uri)
  from workspace_app_statuses r
  where r.workspace_id = w.id and not (w.latest_transition = 'start' and b.created_at > r.created_at)
  order by r.created_at desc, r.id desc limit 1)`;

/** The columns of a `TaskRow`. `caller` is the SQL of the id of the caller. */
export const taskColumns = (caller: string): string => `${columns}, greatest(t.updated_at, w.updated_at) as "updatedAt",
  t.version_id as "templateVersionId", o.username as "ownerName", o.avatar_url as "ownerAvatarUrl", w.template_id as "templateId",
  tpl.name as "templateName", tpl.display_name as "templateDisplayName", tpl.icon as "templateIcon",
  w.name as "workspaceName", w.latest_status as "workspaceStatus", b.id as "buildId",
  coalesce(b.build_number, 0) as "workspaceBuildNumber", b.created_at as "buildCreatedAt", a.id as "agentId",
  a.lifecycle as "workspaceAgentLifecycle", ${agentHealthReason} as "agentHealthReason",
  p.id as "appId", p.url as "appUrl", t.status, ${reported} as reported, ${accessOf("w", caller)} as acl`;

/** The tables of `taskColumns`. */
export const taskRows = `${taskTables} join users o on o.id = t.owner_id join templates tpl on tpl.id = w.template_id`;

const selectBy = (condition: string) =>
  statement<TaskRow>(`select ${taskColumns("$1::uuid")} from ${taskRows} where t.deleted_at is null and ${condition}`);

const byId = selectBy("t.id = $2");
const byName = selectBy("t.owner_id = $2 and lower(t.name) = lower($3)");
const byIds = selectBy("t.id = any($2::uuid[])");

/** A task as the target of permission checks. */
export const taskTarget = ({ ownerId, organizationId, acl }: TaskRow) => ({ ownerId, organizationId, acl });

/** A task in an argument: an id, or a name of the user. */
export interface TaskReference {
  task: string;
  /** Id, username or `me`. Default: `me`. */
  user?: string | null;
}

/**
 * Finds a task by id, of any owner, or by the name among the tasks of the user. Throws NOT_FOUND if the caller may
 * not read it, or if the user is unknown.
 */
export async function findTask(ctx: Context, { task: ref, user: userRef }: TaskReference): Promise<TaskRow> {
  const user = await findUser(ctx, userRef ?? "me");
  const caller = userIdOf(ctx.actor) ?? null;
  const task = isUuid(ref) ? await ctx.row(byId, caller, ref) : await ctx.row(byName, caller, user.id, ref);
  if (!task || !isVisible(ctx, task)) throw notFound();
  return task;
}

/** Finds a task on which the caller has a permission. Throws NOT_FOUND for unreadable ones, else FORBIDDEN. */
export async function findTaskFor(
  ctx: Context,
  reference: TaskReference,
  permission: "task:update" | "task:delete" | "workspace:stop" | "workspace:start" | "workspace:application_connect",
): Promise<TaskRow> {
  const task = await findTask(ctx, reference);
  // The cast is safe: the target has the values that any of these permissions read.
  authorize(ctx.actor, permission as "task:update", taskTarget(task));
  return task;
}

/** Whether the caller may know of the task. */
export const isVisible = (ctx: Context, task: TaskRow): boolean =>
  seesOn(ctx.actor, "task:read", taskTarget(task) satisfies Target);

/** Batch read of tasks by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function tasksById(ctx: Context, ids: readonly string[]): Promise<Array<TaskRow | undefined>> {
  const rows = await ctx.rows(byIds, userIdOf(ctx.actor) ?? null, ids);
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

/** What the task does now: the report of its program, or what an initializing task waits for; null if neither. */
export function currentState(task: TaskRow): TaskState | null {
  const { status, reported: report, buildCreatedAt } = task;
  if (report) return { ...report, timestamp: rfc3339(report.timestamp) };
  if (status !== "initializing" || buildCreatedAt === null) return null;
  return { state: "working", message: `Waiting for the ${awaitedBy(task)}.`, timestamp: buildCreatedAt, uri: "" };
}

function awaitedBy({ agentId, workspaceAgentLifecycle: lifecycle }: TaskRow): string {
  if (agentId === null) return "build of the workspace";
  return lifecycle === "created" || lifecycle === "starting" ? "agent to start" : "app to start";
}
