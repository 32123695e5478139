import { type InferResult, sql } from "kysely";
import { jsonObjectFrom } from "kysely/helpers/postgres";
import { rfc3339 } from "../../infrastructure/database/parsers.js";
import { agentHealthReason } from "../agents/agents.js";
import { authorize, seesOn, type Target } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { isUuid } from "../../runtime/text.js";
import { type Input, inputOf, optional, reference, required } from "../kernel/values.js";
import { findUser, idOfUserNamed } from "../users/users.js";
import { workspaceAcl } from "../workspaces/workspaces.js";
import {
  buildError,
  endedAgent,
  isLost,
  lostMachine,
  statusSentence,
  takesInputs,
  tasksWithState,
} from "./task-status.js";
import { instantOf } from "../../runtime/clock.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const t = columnsOf("tasks", "t");
const w = columnsOf("workspaces", "w");
const b = columnsOf("workspaceBuilds", "b");
const r = columnsOf("workspaceAppStatuses", "r");

/** The report of the program of a task; without one, the step that an initializing task waits for, or why one is in error. */
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
    .leftJoin("provisionerJobs as j", "j.id", "b.jobId")
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
      sql<string>`greatest(${t.updatedAt}, ${w.updatedAt})`.as("updatedAt"),
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
      "b.updatedAt as buildUpdatedAt",
      // Empty unless the latest build failed.
      "j.error as buildFailure",
      eb.fn.coalesce("b.buildNumber", sql<number>`0`).as("workspaceBuildNumber"),
      // Null until the agent of the most recent start is known.
      "a.id as agentId",
      "a.lifecycle as workspaceAgentLifecycle",
      // Null if the agent is healthy.
      agentHealthReason.as("agentHealthReason"),
      isLost.as("isLost"),
      "a.lastConnectedAt as agentSeenAt",
      // Null unless the agent has ended its connection itself.
      "a.disconnectedAt as agentEndedAt",
      "p.id as appId",
      "p.updatedAt as appUpdatedAt",
      "p.url as appUrl",
      takesInputs.as("takesInputs"),
      // The latest report of a program in the workspace, unless the workspace was started again since.
      jsonObjectFrom(
        eb
          .selectFrom("workspaceAppStatuses as r")
          .select(["r.state", "r.message", "r.createdAt as timestamp", "r.uri"])
          .whereRef("r.workspaceId", "=", "w.id")
          .where(sql<boolean>`not (${w.latestTransition} = 'start' and ${b.createdAt} > ${r.createdAt})`)
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

/** The reference to a task in an input: an id, or a name of the user. */
export const TaskReference = inputOf({
  task: required(reference, "The task: ID, or name among the tasks of the user."),
  user: optional(reference, "The owner, for a task given by name: ID, username, or `me`. Default: `me`."),
});
export type TaskReference = Input<typeof TaskReference>;

/**
 * Finds a task by id, of any owner, or by the name among the tasks of the user. Throws NOT_FOUND if the caller may
 * not read it. With an id, the user must be one that the caller may read; a name needs no more than the task, since whom
 * its workspace is shared with may not read the owner.
 */
export async function findTask(ctx: Context, { task: ref, user: userRef }: TaskReference): Promise<TaskRow> {
  const user = userRef ?? "me";
  if (isUuid(ref)) await findUser(ctx, user);
  const found = isUuid(ref)
    ? liveTasks(ctx).where("t.id", "=", ref)
    : liveTasks(ctx).where(sql<boolean>`${t.ownerId} = ${idOfUserNamed(ctx, user)} and lower(t.name) = lower(${ref})`);
  const task = await found.executeTakeFirst();
  if (!task || !isVisible(ctx, task)) throw notFound();
  return task;
}

/** Finds a task on which the caller has a permission. Throws NOT_FOUND for unreadable ones, else FORBIDDEN. */
export async function findTaskFor(
  ctx: Context,
  named: TaskReference,
  permission: "task:update" | "task:delete" | "workspace:stop" | "workspace:start" | "workspace:application_connect",
): Promise<TaskRow> {
  const task = await findTask(ctx, named);
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
 * The current state of a task: why it is in error, unless its program has reported since; else the report of its program,
 * or the step that an initializing task waits for; null if there is none of them.
 */
export function currentState(task: TaskRow): TaskState | null {
  const { status, buildCreatedAt } = task;
  const reported = reportOf(task);
  const reason = reasonOf(task);
  if (reason && (!reported || reason.timestamp > reported.timestamp)) return { ...reason, state: "failed", uri: "" };
  if (reported) return reported;
  if (status !== "initializing" || buildCreatedAt === null) return null;
  return { state: "working", message: `Waiting for the ${awaitedBy(task)}.`, timestamp: buildCreatedAt, uri: "" };
}

const reportOf = ({ reported }: TaskRow): TaskState | null =>
  reported && { ...reported, timestamp: rfc3339(reported.timestamp) };

/** Why a task is in error: the failure of its program that was reported with it, or what was found; else `undefined`. */
export function reasonOf(task: TaskRow): Pick<TaskState, "message" | "timestamp"> | undefined {
  const error = errorOf(task);
  const reported = reportOf(task);
  if (!error) return undefined;
  const { message, timestamp } = reported && isReasonFor(error, reported) ? reported : error;
  return { message, timestamp };
}

/** Milliseconds within which the machine or the app of a program that has failed is found to be unhealthy. */
const failureSpan = 60_000;

/** Whether a failure of the program that was reported explains an error that was found soon after it. */
const isReasonFor = (error: TaskError, { state, timestamp }: TaskState): boolean =>
  !error.isOfBuild && state === "failed" && Math.abs(instantOf(error.timestamp) - instantOf(timestamp)) < failureSpan;

/** The finding that a task is in error, and its time. */
interface TaskError {
  message: string;
  timestamp: string;
  isOfBuild: boolean;
}

/** Says what was found of a task in error, and when; `undefined` for all others. */
function errorOf(task: TaskRow): TaskError | undefined {
  if (task.status !== "error") return undefined;
  const at = (message: string, timestamp: string | null) => ({ message, timestamp: timestamp ?? task.createdAt });
  const ofBuild = (message: string) => ({ ...at(message, task.buildUpdatedAt), isOfBuild: true });
  switch (task.workspaceStatus) {
    case "failed":
      return ofBuild(buildError(task.buildFailure || "The log of the build has the reason."));
    case "canceled":
      return ofBuild("The build of the workspace was canceled.");
    case "canceling":
      return ofBuild("The build of the workspace is being canceled.");
    default:
      if (!task.isLost) return { ...at("The app of the task is unhealthy.", task.appUpdatedAt), isOfBuild: false };
      return {
        ...(task.agentEndedAt === null ? at(lostMachine, task.agentSeenAt) : at(endedAgent, task.agentEndedAt)),
        isOfBuild: false,
      };
  }
}

/** The CONFLICT for what a task cannot do in its state. `rule` says when it could. The detail says why it is in error. */
export const notInStatus = (task: TaskRow, rule: string): DomainError =>
  new DomainError("CONFLICT", `${statusSentence(task.status)} ${rule}`, { detail: reasonOf(task)?.message });

/** Throws CONFLICT, with the way out, unless the latest build is a finished start, and the task is active. */
export function requireActive(task: TaskRow): void {
  const { status, workspaceStatus } = task;
  if (status !== "active") throw notInStatus(task, wayOut(task));
  if (workspaceStatus !== "running")
    throw new DomainError("CONFLICT", `The workspace of the task is ${workspaceStatus}. ${onlyActive}`);
}

const onlyActive = "Only an active task takes input.";

/** Says how a task that takes no input in its state gets to one in which it does. */
function wayOut({ id, status, workspaceStatus }: TaskRow): string {
  const resume = `POST /api/v2/tasks/me/${id}/resume`;
  if (status === "paused") return `Resume the task first: ${resume}`;
  if (status === "error" && (workspaceStatus === "failed" || workspaceStatus === "canceled"))
    return `${onlyActive} Start it again: ${resume}`;
  if (status === "error") return `${onlyActive} Pause it and resume it: ${resume}`;
  if (status === "unknown") return `${onlyActive} Its template links no app of the agent with the task.`;
  return `${onlyActive} Wait until it is active.`;
}

function awaitedBy({ agentId, workspaceAgentLifecycle: lifecycle }: TaskRow): string {
  if (agentId === null) return "build of the workspace";
  return lifecycle === "created" || lifecycle === "starting" ? "agent to start" : "app to start";
}
