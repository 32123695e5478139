import type { Context } from "../kernel/context.js";
import { conflict, DomainError } from "../kernel/errors.js";
import { type AgentMessage, AgentUnreachable } from "../outside/agent-api.js";
import { appBase } from "./app.js";
import { entryOf, type TaskLogEntry } from "./logs.js";
import { findTaskFor } from "./tasks.js";

/**
 * Streams the conversation of an active task as its program reports it: first all entries, then each that is new or
 * changed. Ends with the program's stream. Throws CONFLICT for a task that is not active. A rejected watch throws before
 * this resolves.
 */
export async function watchTaskMessages(ctx: Context, id: string): Promise<AsyncIterable<TaskLogEntry>> {
  const task = await findTaskFor(ctx, { task: id }, "workspace:application_connect");
  if (task.status !== "active") throw conflict(`The task is ${task.status}. Only an active task has live messages.`);
  const base = appBase(task.appUrl);
  const life = new AbortController();
  const signal = AbortSignal.any([ctx.signal, life.signal]);
  if (base === undefined) throw unreachable();
  return new Conversation(await ctx.services.agentApi.events(base, signal).catch(upstreamFailure), life);
}

function upstreamFailure(error: unknown): never {
  throw error instanceof AgentUnreachable ? unreachable(error) : error;
}

const unreachable = (cause?: unknown) =>
  new DomainError("UNAVAILABLE", "Failed to reach the task app.", { upstream: true, cause });

const over: IteratorResult<never, undefined> = { done: true, value: undefined };

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class Conversation implements AsyncIterableIterator<TaskLogEntry, undefined> {
  constructor(
    private readonly events: AsyncGenerator<AgentMessage, void>,
    private readonly life: AbortController,
  ) {}

  /** The end of the watch, or of the stream of the program, is not an error. */
  async next(): Promise<IteratorResult<TaskLogEntry, undefined>> {
    const event = await this.events.next().catch(() => over);
    return event.done ? over : { done: false, value: entryOf(event.value) };
  }

  async return(): Promise<IteratorResult<TaskLogEntry, undefined>> {
    this.life.abort();
    return over;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
