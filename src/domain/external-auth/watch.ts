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
export const watchLink = (ctx: Context, { providerId }: { providerId: string }): Promise<Watch<LinkChange>> =>
  watching(ctx, {
    async while(fresh) {
      const userId = await holderOf(fresh);
      return { userId, provider: findProvider(fresh, providerId) };
    },
    hints: ({ userId }) => [linkHint(userId), userHint(userId)],
    read: onChange(
      async ({ services }: Context, { userId, provider: { id } }: { userId: string; provider: { id: string } }) => {
        const link = await readLink(services, id, userId);
        return { providerId: id, isLinked: link !== undefined, link };
      },
      // The token itself may be refreshed without a change of the link.
      ({ link }) => (link ? `${link.id} ${link.refreshError}` : ""),
    ),
  });
