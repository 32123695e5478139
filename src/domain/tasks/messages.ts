import { TaskMessage } from "../../entities/tasks.js";
import { rowsByKey } from "../kernel/batches.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { day, purge } from "../kernel/purge.js";

/** What became of an input. */
export const TaskInputState = {
  QUEUED: "queued",
  DELIVERING: "delivering",
  DELIVERED: "delivered",
  FAILED: "failed",
  UNCONFIRMED: "unconfirmed",
  EXPIRED: "expired",
  CANCELED: "canceled",
} as const;
export type TaskInputState = (typeof TaskInputState)[keyof typeof TaskInputState];

const columns = columnsOf(TaskMessage, "m", [
  "id",
  "taskId",
  "seq",
  "senderId",
  "content",
  "state",
  "attempts",
  "lastError",
  "createdAt",
  "deliveredAt",
]);

/** An input that a user sent to a task. */
export interface TaskMessageRow extends RowOf<typeof columns> {
  state: TaskInputState;
}

export const messageColumns = columns;

/** The states of inputs that are not finished, in SQL. */
export const openStates = "('queued', 'delivering')";

const messagesByIds = statement<TaskMessageRow>(`select ${columns} from task_messages m where m.id = any($1::uuid[])`);

/** Batch read of inputs by id, for `ctx.load`. Checks no permission. */
export async function messageById(ctx: Context, ids: readonly string[]): Promise<Array<TaskMessageRow | undefined>> {
  const found = new Map((await ctx.rows(messagesByIds, ids)).map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}

const queuedOfTasks = statement<TaskMessageRow>(`
  select ${columns} from task_messages m where m.task_id = any($1::uuid[]) and m.state in ${openStates} order by m.seq`);

/** Batch read of the inputs of tasks that are not finished, in their order, for `ctx.load`. Checks no permission. */
export const queuedInputs = async (ctx: Context, taskIds: readonly string[]): Promise<TaskMessageRow[][]> =>
  rowsByKey(await ctx.rows(queuedOfTasks, taskIds), taskIds, ({ taskId }) => taskId);

/** Maximum number of inputs of a task that are shown whatever became of them. */
export const mostInputs = 50;

const newestOfTasks = statement<TaskMessageRow>(`
  select m.* from unnest($1::uuid[]) t (id) cross join lateral (
    select ${columns} from task_messages m where m.task_id = t.id order by m.seq desc limit ${mostInputs}) m
  order by m.seq`);

/** Batch read of the newest inputs of tasks in any state, in their order, for `ctx.load`. Checks no permission. */
export const newestInputs = async (ctx: Context, taskIds: readonly string[]): Promise<TaskMessageRow[][]> =>
  rowsByKey(await ctx.rows(newestOfTasks, taskIds), taskIds, ({ taskId }) => taskId);

/** Deletes inputs that ended 7 days ago. */
export const inputPurge = purge("task_messages", { by: "finished_at", keptFor: 7 * day });
