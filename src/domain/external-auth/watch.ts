import type { Context } from "../kernel/context.js";
import { onChange, type Watch, watching } from "../kernel/watching.js";
import { userHint } from "../tokens/credentials.js";
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
export async function watchLink(
  ctx: Context,
  { providerId: wanted }: { providerId: string },
): Promise<Watch<LinkChange>> {
  const stateOf = async ({ services }: Context, userId: string) => {
    const { id: providerId } = findProvider(ctx, wanted);
    const link = await readLink(services, providerId, userId);
    return { providerId, isLinked: link !== undefined, link };
  };
  return watching(ctx, {
    while: holderOf,
    onBegin: () => void findProvider(ctx, wanted),
    hints: (userId) => [linkHint(userId), userHint(userId)],
    // The token itself may be refreshed without a change of the link.
    read: onChange(stateOf, ({ link }) => (link ? `${link.id} ${link.refreshError}` : "")),
  });
}
