import type { Context } from "../kernel/context.js";
import { wakeups } from "../kernel/wakeups.js";
import { holderOf } from "./delivery.js";
import { linkHint, readLink } from "./links.js";
import { findProvider } from "./providers.js";

/** The state of a link after a change. */
export interface LinkChange {
  providerId: string;
  isLinked: boolean;
}

/**
 * Streams the state of the link of the caller at a provider, or for agents that of the owner of the workspace: first as
 * it is, then after every change. A rejected watch throws before this resolves.
 */
export async function watchLink(ctx: Context, providerId: string): Promise<AsyncIterable<LinkChange>> {
  const userId = await holderOf(ctx);
  const { id } = findProvider(ctx, providerId);
  return new LinkWatch(ctx, userId, id);
}

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class LinkWatch implements AsyncIterableIterator<LinkChange, undefined> {
  readonly #wakes: AsyncIterator<void, void>;
  #last: string | undefined;

  constructor(
    private readonly ctx: Context,
    private readonly userId: string,
    private readonly providerId: string,
  ) {
    const { topic, id } = linkHint(userId);
    this.#wakes = wakeups(ctx, topic, id)[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<LinkChange, undefined>> {
    while (!(await this.#wakes.next()).done) {
      const link = await readLink(this.ctx.services, this.providerId, this.userId);
      // The token itself may be refreshed without a change of the link.
      const state = link ? `${link.id} ${link.refreshError}` : "";
      if (state === this.#last) continue;
      this.#last = state;
      return { done: false, value: { providerId: this.providerId, isLinked: link !== undefined } };
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<LinkChange, undefined>> {
    await this.#wakes.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
