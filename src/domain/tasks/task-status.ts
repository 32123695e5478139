import { sql } from "kysely";
import { isSilent } from "../agents/agents.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const c = columnsOf("taskConversations", "c");
const s = columnsOf("taskBuilds", "s");
const w = columnsOf("workspaces", "w");

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

/** Says why a task whose build failed is in error. */
export const buildError = (reason: string): string => `The build of the workspace failed: ${reason}`;

/** Says why a task whose agent sends no heartbeats is in error. */
export const lostMachine = "The agent of the workspace does not respond. Its machine may be gone.";

/** Says why a task whose agent has ended its connection itself is in error. */
export const endedAgent = "The agent of the workspace has ended.";

/**
 * The tables of which the state of a task is derived: the task `t`, its workspace `w` with the latest build `b`, the
 * most recent start `s`, and the agent `a` and the app `p` of that start.
 */
export const tasksWithState = (db: Db) =>
  db
    .selectFrom("tasks as t")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .leftJoin("workspaceBuilds as b", "b.id", "w.latestBuildId")
    .leftJoin("taskBuilds as s", (join) =>
      join
        .onRef("s.taskId", "=", "t.id")
        .on((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom("taskBuilds as later")
                .select("later.taskId")
                .whereRef("later.taskId", "=", "s.taskId")
                .whereRef("later.buildNumber", ">", "s.buildNumber"),
            ),
          ),
        ),
    )
    .leftJoin("workspaceAgents as a", "a.id", "s.agentId")
    .leftJoin("workspaceApps as p", "p.id", "s.appId");

/** Whether the agent of a task of `tasksWithState` takes inputs as actions, so that its program has no URL. */
export const takesInputs = sql<boolean>`exists (
  select from task_conversations c where ${c.taskId} = t.id and ${c.buildNumber} = ${s.buildNumber} and ${c.takesInputs})`;

/** Whether the agent of a task of `tasksWithState` was lost: it was started, is not being stopped, and has fallen silent. */
export const isLost = sql<boolean>`(${w.latestTransition} = 'start' and ${isSilent})`;

/**
 * The status of a task of `tasksWithState`, as `updateTaskStatus` stores it. While a stop is under way, the agent and the
 * app of the most recent start decide; a start that failed is an error whatever they report. That an agent falls silent
 * is found by a job (`lost-machines.ts`).
 */
export const derivedStatus = sql<TaskStatus>`case
  when ${w.latestStatus} in ('failed', 'canceling', 'canceled') then 'error'
  when ${w.latestStatus} in ('stopped', 'deleted') then 'paused'
  when ${w.latestTransition} is null or ${w.latestStatus} = 'pending' and ${w.latestTransition} = 'start' then 'pending'
  when a.id is null or a.lifecycle in ('created', 'starting') then 'initializing'
  when ${isLost} then 'error'
  when p.id is null then 'unknown'
  when p.health = 'initializing' then 'initializing'
  when p.health = 'unhealthy' then 'error'
  else 'active' end`;

/**
 * Derives the status of a task again and stores it, in the transaction that has changed the latest build, the agent or
 * the app. It is stored because lists select by it. The lock comes first, so that the last of concurrent changes sees
 * all others. Returns the status if it is another one.
 */
export const updateTaskStatus = async (ctx: Context, taskId: string | null): Promise<TaskStatus | undefined> =>
  taskId === null ? undefined : storeStatus(ctx, await lockTask(ctx).where("id", "=", taskId).executeTakeFirst());

/** `updateTaskStatus` for the task of a workspace, if it has one. */
export const updateTaskStatusOf = async (ctx: Context, workspaceId: string): Promise<TaskStatus | undefined> =>
  storeStatus(ctx, await lockTask(ctx).where("workspaceId", "=", workspaceId).executeTakeFirst());

const lockTask = ({ db }: Context) =>
  db.selectFrom("tasks").select("id").where("deletedAt", "is", null).forNoKeyUpdate();

async function storeStatus(ctx: Context, task: { id: string } | undefined): Promise<TaskStatus | undefined> {
  if (!task) return undefined;
  const { db } = ctx;
  const derived = tasksWithState(db)
    .select(["t.id", derivedStatus.as("status")])
    .where("t.id", "=", task.id);
  const changed = await db
    .updateTable("tasks")
    .from(derived.as("derived"))
    .set((eb) => ({ status: eb.ref("derived.status") }))
    .whereRef("tasks.id", "=", "derived.id")
    .whereRef("tasks.status", "<>", "derived.status")
    .returning("tasks.status")
    .executeTakeFirst();
  // What waits for the task to become active is due.
  if (changed?.status === "active") {
    await db
      .updateTable("taskMessages")
      .set({ nextAttemptAt: now })
      .where("taskId", "=", task.id)
      .where("state", "=", "queued")
      .execute();
    ctx.publish(inputsHint);
  }
  return changed?.status;
}

/** The hint that a task or its state changed. */
export const taskHint = (taskId: string) => ({ topic: "tasks", id: taskId }) as const;

/** The hint that the queue of inputs of a task changed. */
export const queueHint = (taskId: string) => ({ topic: "tasks", id: `q:${taskId}` }) as const;

/** The hint that a user has a new task. */
export const ownerHint = (userId: string) => ({ topic: "tasks", id: `o:${userId}` }) as const;

/** The hint that there may be inputs to deliver. */
export const inputsHint = { topic: "tasks", id: "inputs" } as const;
