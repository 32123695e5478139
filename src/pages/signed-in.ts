import type { Context } from "../domain/kernel/context.js";
import { ownPath, withReturnTo } from "./return-to.js";
import type { Outcome, PageHandler, Visit } from "./visit.js";

/** Runs a handler for signed-in users. Others sign in first, and return with all parameters. */
export const signedIn =
  (handler: (visit: Visit, ctx: Context) => Promise<Outcome>): PageHandler =>
  async (visit) => {
    const ctx = await visit.context();
    if (ctx.actor.kind === "user") return handler(visit, ctx);
    const returnTo = visit.http.method === "GET" ? visit.http.originalUrl : visit.http.path;
    return { goTo: withReturnTo("/login", ownPath(returnTo)) };
  };
