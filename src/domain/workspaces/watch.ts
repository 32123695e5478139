import type { Context } from "../kernel/context.js";
import { wakeups } from "../kernel/wakeups.js";
import { type BuildRow, latestBuildOf } from "./builds.js";
import { findWorkspace, readWorkspace, workspaceHint } from "./workspaces.js";

/**
 * Streams the latest build of a workspace: first as it is, then after each change of the build or the workspace. Ends
 * when the caller may no longer read the workspace. A rejected watch throws before this resolves.
 */
export async function watchBuilds(ctx: Context, workspaceId: string): Promise<AsyncIterable<BuildRow>> {
  const { id } = await findWorkspace(ctx, workspaceId);
  return new BuildWatch(ctx, id);
}

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class BuildWatch implements AsyncIterableIterator<BuildRow, undefined> {
  readonly #wakes: AsyncIterator<void, void>;
  #last: string | undefined;

  constructor(
    private readonly ctx: Context,
    private readonly workspaceId: string,
  ) {
    const { topic, id } = workspaceHint(workspaceId);
    this.#wakes = wakeups(ctx, topic, id)[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<BuildRow, undefined>> {
    while (!(await this.#wakes.next()).done) {
      const ctx = this.ctx.afresh();
      const workspace = await readWorkspace(ctx, this.workspaceId);
      if (!workspace) break;
      const build = await latestBuildOf(ctx, workspace);
      const state = build && `${build.id} ${build.updatedAt} ${build.status} ${workspace.updatedAt}`;
      if (!build || state === this.#last) continue;
      this.#last = state;
      return { done: false, value: build };
    }
    return this.return();
  }

  async return(): Promise<IteratorResult<BuildRow, undefined>> {
    await this.#wakes.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
