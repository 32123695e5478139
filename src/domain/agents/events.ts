import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { onChange, type Watch, watching } from "../kernel/watching.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import { callingAgent, existing } from "./changes.js";

/** What an agent must do. */
export interface AgentEvent {
  /** Whether it must end: a stop or a deletion of the workspace has begun. */
  shutdown: boolean;
  /** Why; null unless it must end. */
  reason: string | null;
}

/** SQL: whether a stop or a deletion of the workspace `w` has begun, and has not failed. */
export const isEnding = `w.latest_transition <> 'start'
  and w.latest_status in ('stopping', 'canceling', 'stopped', 'deleting', 'deleted')`;

const stateOfWorkspace = statement<{ isEnding: boolean; transition: "start" | "stop" | "delete" }>(`
  select coalesce(${isEnding}, false) as "isEnding", latest_transition as transition from workspaces w where id = $1`);

const reasons = { stop: "The workspace is being stopped.", delete: "The workspace is being deleted." };

async function readEvent(ctx: Context, workspaceId: string): Promise<AgentEvent> {
  const { isEnding: shutdown, transition } = existing(await ctx.row(stateOfWorkspace, workspaceId));
  return { shutdown, reason: shutdown && transition !== "start" ? reasons[transition] : null };
}

/** Streams what the calling agent must do: first the current state, then each change. Ends with its token. */
export const watchAgentEvents = (ctx: Context): Promise<Watch<AgentEvent>> =>
  watching(ctx, {
    while: (fresh) => callingAgent(fresh).workspaceId,
    hints: (workspaceId) => [workspaceHint(workspaceId)],
    read: onChange(readEvent, ({ shutdown }) => shutdown),
  });
