import { type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf, rowById, rowsByKey } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import type { Context } from "../kernel/context.js";
import { readEach } from "../kernel/lists.js";

/** The state of an input. */
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

const inputs = (db: Db) =>
  db
    .selectFrom("taskMessages as m")
    .select([
      "m.id",
      "m.taskId",
      "m.seq",
      "m.senderId",
      "m.content",
      "m.state",
      "m.attempts",
      "m.lastError",
      "m.createdAt",
      "m.deliveredAt",
    ]);

/** An input that a user sent to a task. */
export type TaskMessageRow = InferResult<ReturnType<typeof inputs>>[number];

/** The condition that an input is not finished, as in `task_messages_open_index`. */
export const isUnfinished = sql<SqlBool>`state in ('queued', 'delivering')`;

/** Batch read of inputs by id, for `ctx.load`. Checks no permission. */
export async function messageById(ctx: Context, ids: readonly string[]): Promise<Array<TaskMessageRow | undefined>> {
  const rows = await inputs(ctx.db).where("m.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

/** Batch read of the inputs of tasks that are not finished, in their order, for `ctx.load`. Checks no permission. */
export async function queuedInputs(ctx: Context, taskIds: readonly string[]): Promise<TaskMessageRow[][]> {
  const open = inputs(ctx.db).where("m.taskId", "=", anyOf(taskIds)).where(isUnfinished);
  return rowsByKey(await open.orderBy("m.seq").execute(), taskIds, ({ taskId }) => taskId);
}

/** Maximum number of inputs of a task that are shown whatever became of them. */
export const mostInputs = 50;

/** Batch read of the newest inputs of tasks in any state, in their order, for `ctx.load`. Checks no permission. */
export async function newestInputs(ctx: Context, taskIds: readonly string[]): Promise<TaskMessageRow[][]> {
  const newest = await readEach(ctx, taskIds, (task) =>
    inputs(ctx.db).where("m.taskId", "=", task).orderBy("m.seq", "desc").limit(mostInputs),
  );
  return taskIds.map((id) => newest.get(id)?.toReversed() ?? []);
}

/** Deletes inputs that ended 7 days ago. */
export const inputPurge = purge("task_messages", { by: "finished_at", keptFor: 7 * day });
