import { sql } from "kysely";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import { announceTaskError } from "./task-errors.js";
import { derivedStatus, isLost, taskHint, tasksWithState, updateTaskStatus } from "./task-status.js";
import { tasksById } from "./tasks.js";

/** Maximum number of tasks that are found at a time. */
const batchSize = 100;

/** Tasks whose agent has fallen silent, and whose status does not say so yet. */
const selectUnnoticed = ({ database: { db } }: Services) =>
  tasksWithState(db)
    .select("t.id")
    .where("t.deletedAt", "is", null)
    .where("t.status", "in", ["active", "initializing", "unknown"]) // tasks_status_index
    .where(isLost)
    .where(sql<boolean>`t.status <> ${derivedStatus}`)
    .orderBy("t.id")
    .limit(batchSize)
    .execute();

/**
 * Puts tasks whose agent sends no heartbeats any more in error, until it sends one again, and tells their owners once for
 * each start. Replicas may run it concurrently.
 */
export async function noticeLostMachines(services: Services): Promise<void> {
  for (;;) {
    const found = await selectUnnoticed(services);
    let failures = 0;
    for (const { id } of found) {
      const ctx = systemContext(services);
      try {
        await ctx.transactional(() => notice(ctx, id));
      } catch (error) {
        failures++;
        services.log.error({ err: error, taskId: id }, "The status of a task could not be updated. Retried later.");
      }
    }
    if (found.length < batchSize || failures > 0) return;
  }
}

async function notice(ctx: Context, id: string): Promise<void> {
  await updateTaskStatus(ctx, id);
  const [task] = await tasksById(ctx, [id]);
  // The agent may have come back, or the task may have been paused, before the lock was taken.
  if (task?.status !== "error" || !task.isLost) return;
  ctx.publish(taskHint(id), workspaceHint(task.workspaceId));
  await announceTaskError(ctx, id);
}

/** Seconds after its start in which a server finds none lost: agents that lost the server itself come back meanwhile. */
const settling = 30;

export const lostMachines = {
  name: "find tasks whose machine is gone",
  every: 10_000,
  async run(services: Services): Promise<void> {
    if (process.uptime() >= settling) await noticeLostMachines(services);
  },
};
