import type { Context } from "../kernel/context.js";
import { onChange, type Watch, watching } from "../kernel/watching.js";
import { type BuildRow, latestBuildOf } from "./builds.js";
import { accessHints, type FoundWorkspace, findWorkspace, readWorkspace } from "./workspaces.js";

/**
 * Streams the latest build of a workspace: first as it is, then after each change of the build or the workspace. Ends
 * when the caller may no longer read the workspace. A rejected watch throws before this resolves.
 */
export async function watchBuilds(ctx: Context, { workspaceId }: { workspaceId: string }): Promise<Watch<BuildRow>> {
  const { id } = await findWorkspace(ctx, workspaceId);
  return watching(ctx, {
    while: (fresh) => readWorkspace(fresh, id),
    hints: () => accessHints(ctx, id),
    read: onChange(
      (fresh, workspace: FoundWorkspace) => latestBuildOf(fresh, workspace),
      (build, { updatedAt }) => `${build.id} ${build.updatedAt} ${build.status} ${updatedAt}`,
    ),
  });
}
