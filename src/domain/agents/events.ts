import type { AgentActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { wakeups } from "../kernel/wakeups.js";
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

async function readEvent(ctx: Context, { workspaceId }: AgentActor): Promise<AgentEvent> {
  const { isEnding: shutdown, transition } = existing(await ctx.row(stateOfWorkspace, workspaceId));
  return { shutdown, reason: shutdown && transition !== "start" ? reasons[transition] : null };
}

/** Streams what the calling agent must do: first the current state, then each change. */
export async function watchAgentEvents(ctx: Context): Promise<AsyncIterable<AgentEvent>> {
  return new AgentEvents(ctx, callingAgent(ctx));
}

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class AgentEvents implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #wakes: AsyncIterator<void, void>;
  #last: boolean | undefined;

  constructor(
    private readonly ctx: Context,
    private readonly agent: AgentActor,
  ) {
    const { topic, id } = workspaceHint(agent.workspaceId);
    this.#wakes = wakeups(ctx, topic, id)[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    while (!(await this.#wakes.next()).done) {
      const event = await readEvent(this.ctx, this.agent);
      if (event.shutdown === this.#last) continue;
      this.#last = event.shutdown;
      return { done: false, value: event };
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    await this.#wakes.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
