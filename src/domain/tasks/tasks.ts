import { type InferResult, sql } from "kysely";
import { jsonObjectFrom } from "kysely/helpers/postgres";
import { rfc3339 } from "../../infrastructure/database/parsers.js";
import { agentHealthReason } from "../agents/agents.js";
import { authorize, seesOn, type Target } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { isUuid } from "../kernel/text.js";
import { findUser } from "../users/users.js";
import { workspaceAcl } from "../workspaces/workspaces.js";
import { tasksWithState } from "./task-status.js";

/** The report of the program of a task, or, while the task is initializing, the step that it waits for. */
export interface TaskState {
  state: TaskStateKind;
  message: string;
  timestamp: string;
  uri: string;
}

/** The state of the program of a task. */
export const TaskStateKind = { WORKING: "working", IDLE: "idle", COMPLETE: "complete", FAILED: "failed" } as const;
export type TaskStateKind = (typeof TaskStateKind)[keyof typeof TaskStateKind];

/** Tasks with what is derived from their workspaces, and the role of the caller in the access list of the workspace. */
export const liveTasks = (ctx: Context) =>
  tasksWithState(ctx.db)
    .innerJoin("users as o", "o.id", "t.ownerId")
    .innerJoin("templates as tpl", "tpl.id", "w.templateId")
    .select((eb) => [
      "t.id",
      "t.createdAt",
      "t.ownerId",
      "t.organizationId",
      "t.name",
      "t.displayName",
      "t.initialPrompt",
      "t.presetId",
      "t.workspaceId",
      "t.status",
      "t.versionId as templateVersionId",
      sql<string>`greatest(t.updated_at, w.updated_at)`.as("updatedAt"),
      "o.username as ownerName",
      "o.avatarUrl as ownerAvatarUrl",
      "w.templateId",
      "tpl.name as templateName",
      "tpl.displayName as templateDisplayName",
      "tpl.icon as templateIcon",
      "w.name as workspaceName",
      "w.latestStatus as workspaceStatus",
      "b.id as buildId",
      "b.createdAt as buildCreatedAt",
      eb.fn.coalesce("b.buildNumber", sql<number>`0`).as("workspaceBuildNumber"),
      // Null until the agent of the most recent start is known.
      "a.id as agentId",
      "a.lifecycle as workspaceAgentLifecycle",
      // Null if the agent is healthy.
      agentHealthReason.as("agentHealthReason"),
      "p.id as appId",
      "p.url as appUrl",
      // The latest report of a program in the workspace, unless the workspace was started again since.
      jsonObjectFrom(
        eb
          .selectFrom("workspaceAppStatuses as r")
          .select(["r.state", "r.message", "r.createdAt as timestamp", "r.uri"])
          .whereRef("r.workspaceId", "=", "w.id")
          .where(sql<boolean>`not (w.latest_transition = 'start' and b.created_at > r.created_at)`)
          .orderBy("r.createdAt", "desc")
          .orderBy("r.id", "desc")
          .limit(1),
      ).as("reported"),
      workspaceAcl(ctx),
    ])
    .where("t.deletedAt", "is", null);

export type TaskRow = InferResult<ReturnType<typeof liveTasks>>[number];

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
  const found = isUuid(ref)
    ? liveTasks(ctx).where("t.id", "=", ref)
    : liveTasks(ctx)
        .where("t.ownerId", "=", user.id)
        .where(sql<boolean>`lower(t.name) = lower(${ref})`);
  const task = await found.executeTakeFirst();
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
  const rows = await liveTasks(ctx).where("t.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

/**
 * The current state of a task: the report of its program, or the step that an initializing task waits for; null if
 * neither.
 */
export function currentState(task: TaskRow): TaskState | null {
  const { status, reported, buildCreatedAt } = task;
  if (reported) return { ...reported, timestamp: rfc3339(reported.timestamp) };
  if (status !== "initializing" || buildCreatedAt === null) return null;
  return { state: "working", message: `Waiting for the ${awaitedBy(task)}.`, timestamp: buildCreatedAt, uri: "" };
}

function awaitedBy({ agentId, workspaceAgentLifecycle: lifecycle }: TaskRow): string {
  if (agentId === null) return "build of the workspace";
  return lifecycle === "created" || lifecycle === "starting" ? "agent to start" : "app to start";
}
