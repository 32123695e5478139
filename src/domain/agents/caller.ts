import { sql } from "kysely";
import { authorizeMachine } from "../authorization/authorization.js";
import type { AgentActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { unauthenticated } from "../kernel/errors.js";
import { taskHint } from "../tasks/task-status.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const t = columnsOf("tasks", "t");
const a = columnsOf("workspaceAgents", "a");

/** The calling agent. Throws FORBIDDEN for all other callers. */
export const callingAgent = ({ actor }: Context): AgentActor => authorizeMachine(actor, "workspace_agent:report");

/** The task of the workspace of the agent `a`; null for other workspaces. */
export const taskOfAgent = sql<string | null>`(
  select t.id from tasks t where ${t.workspaceId} = ${a.workspaceId} and ${t.deletedAt} is null)`;

/** Tells the watchers of a workspace and of its task, after the commit, that something about an agent changed. */
export function publishChange(ctx: Context, { workspaceId }: AgentActor, taskId: string | null): void {
  ctx.publish(workspaceHint(workspaceId));
  if (taskId !== null) ctx.publish(taskHint(taskId));
}

/** Returns the row of the calling agent. Throws UNAUTHENTICATED if it was deleted during the request. */
export function existing<Row>(row: Row | undefined): Row {
  if (!row) throw unauthenticated("The token is not valid.");
  return row;
}
