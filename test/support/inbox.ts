import { Context } from "../../src/domain/kernel/context.js";
import { newId } from "../../src/domain/kernel/ids.js";
import { addToInbox } from "../../src/domain/notifications/inbox.js";
import type { App } from "../../src/app.js";

/** Puts notifications with these titles into an inbox, each by a transaction of its own, all at once. */
export function deliver(
  app: App,
  userId: string,
  titles: string[],
  { targets = [], templateId = newId(), content }: { targets?: string[]; templateId?: string; content?: string } = {},
): Promise<string[]> {
  const actor = { kind: "system", siteRoles: [], organizations: new Map(), scopes: [] } as const;
  return Promise.all(
    titles.map((title) => {
      const ctx = new Context(app.services, actor, { id: newId() }, () => new AbortController());
      const item = { userId, templateId, targets, title, content: content ?? `About ${title}`, icon: "", actions: [] };
      return ctx.transactional(() => addToInbox(ctx, item));
    }),
  );
}
