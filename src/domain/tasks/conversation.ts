import type { Context } from "../kernel/context.js";
import { conflict, DomainError } from "../kernel/errors.js";
import { relaying, type Watch } from "../kernel/watching.js";
import { type AgentMessage, AgentUnreachable } from "../outside/agent-api.js";
import { accessHints } from "../workspaces/workspaces.js";
import { appBase } from "./app.js";
import { taskHint } from "./hints.js";
import { entryOf, type TaskLogEntry } from "./logs.js";
import { statusSentence } from "./status.js";
import { findTaskFor, type TaskRow } from "./tasks.js";

/**
 * Streams the conversation of an active task as its program reports it: first all entries, then each that is new or
 * changed. Ends with the program's stream. Throws CONFLICT for a task that is not active. A rejected watch throws before
 * this resolves.
 */
export const watchTaskMessages = (ctx: Context, { id }: { id: string }): Promise<Watch<TaskLogEntry>> =>
  relaying(ctx, {
    while: (fresh) => findTaskFor(fresh, { task: id }, "workspace:application_connect"),
    hints: (task) => [taskHint(task.id), ...accessHints(ctx, task.workspaceId)],
    open: (task, signal) => openConversation(ctx, task, signal),
  });

async function openConversation(
  { services }: Context,
  { status, appUrl }: TaskRow,
  signal: AbortSignal,
): Promise<AsyncIterator<TaskLogEntry, void>> {
  if (status !== "active") throw conflict(`${statusSentence(status)} Only an active task has live messages.`);
  const base = appBase(appUrl);
  if (base === undefined) throw unreachable();
  return entriesOf(await services.agentApi.events(base, signal).catch(upstreamFailure));
}

async function* entriesOf(messages: AsyncIterable<AgentMessage>): AsyncGenerator<TaskLogEntry, void> {
  for await (const message of messages) yield entryOf(message);
}

function upstreamFailure(error: unknown): never {
  throw error instanceof AgentUnreachable ? unreachable(error) : error;
}

const unreachable = (cause?: unknown) =>
  new DomainError("UNAVAILABLE", "Failed to reach the task app.", { upstream: true, cause });
