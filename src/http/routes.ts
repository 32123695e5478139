import { Router } from "@koa/router";
import { methodNotAllowed, routeNotFound } from "./errors.js";
import type { Middleware, Routed, State } from "./exchange.js";

/**
 * The leading segments of a path, by which its router is found: `/api/v2/groups` of `/api/v2/groups/:group`, `/login`
 * of `/login/:provider`.
 */
const startOf = (path: string): string => /^(\/(api|scim)\/v2)?\/[^/]*/.exec(path)?.[0] ?? "";

/** Routers by the starts of their paths: one router for all would try the patterns of all rows for each request. */
export class Routes {
  readonly #routers = new Map<string, Router<State, Routed>>();

  /** The router of a path. */
  of(path: string): Router<State, Routed> {
    const start = startOf(path);
    const router = this.#routers.get(start) ?? new Router<State, Routed>({ sensitive: true, strict: true });
    this.#routers.set(start, router);
    return router;
  }

  /**
   * Middleware that dispatches to the routers. Throws 405 for a known path without the method, and 404 for any other.
   */
  middleware(): Middleware {
    const routers = new Map([...this.#routers].map(([start, router]) => [start, router.routes() as Middleware]));
    return (http) => {
      const rejectRoute = () => {
        const methods = new Set(http.matched?.flatMap((route) => route.methods));
        throw methods.size > 0 ? methodNotAllowed(...[...methods].sort()) : routeNotFound();
      };
      const router = routers.get(startOf(http.path));
      return router ? router(http, rejectRoute) : rejectRoute();
    };
  }
}
