import type { Context } from "../kernel/context.js";
import { notify } from "../notifications/notify.js";
import { lostMachine } from "./task-status.js";
import { reasonOf, tasksById } from "./tasks.js";
import { taskInError } from "./workspace-events.js";

/** Statuses of a workspace in which errors are told here: failed builds are told by `announceFailure`, and a stop is none. */
const statuses = new Set(["starting", "running"]);

/**
 * Tells the owner of a task that it is in error because of its machine or its program, and why: once for each start if the
 * machine is lost, if the app is unhealthy, and if the program has failed. To be called last in the transaction that
 * has stored the error.
 */
export async function announceTaskError(ctx: Context, taskId: string): Promise<void> {
  const [task] = await tasksById(ctx, [taskId]);
  const reason = task && reasonOf(task);
  if (!reason || !statuses.has(task.workspaceStatus)) return;
  const kind = reason.message === lostMachine ? "lost" : task.reported?.message === reason.message ? "failed" : "app";
  const notification = await taskInError(ctx, task.workspaceId, reason.message);
  if (notification) await notify(ctx, { ...notification, dedupeKey: `${kind} ${task.agentId}` });
}
