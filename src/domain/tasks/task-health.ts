// Whether a task works: its own state, and that of its workspace.
import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Context } from "../kernel/context.js";
import { isUnhealthy, type WorkspaceHealth, workspaceHealths } from "../workspaces/workspace-health.js";
import { reasonOf, type TaskRow } from "./tasks.js";

const t = columnsOf("tasks", "t");

/** The condition that something is wrong with the task `t`. */
export const isTaskUnhealthy = (ctx: Pick<Context, "config">) => sql<SqlBool>`(
  t.status in ('error', 'unknown')
  or exists (select from workspaces w where w.id = ${t.workspaceId} and ${isUnhealthy(ctx)} offset 0))`;

const helpInError = "Pause it and resume it, or start it again if its build failed.";

/** Reads whether a task works. Checks no permission. */
export async function readTaskHealth(ctx: Context, task: TaskRow): Promise<WorkspaceHealth> {
  const ofWorkspace = await ctx.load(workspaceHealths, task.workspaceId);
  if (task.status === "error") {
    const found = reasonOf(task);
    return {
      state: "unhealthy",
      reason: found?.message ?? "The task is in error.",
      since: found?.timestamp ?? task.updatedAt,
      help: ofWorkspace.help ?? helpInError,
    };
  }
  if (task.status === "unknown" && ofWorkspace.state !== "unhealthy")
    return {
      state: "unhealthy",
      reason: "The template links no app of the agent with the task.",
      since: task.buildCreatedAt ?? task.updatedAt,
      help: "An administrator of the template has to name the app of the task in its document.",
    };
  return ofWorkspace;
}
