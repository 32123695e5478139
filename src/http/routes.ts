import { Router } from "@koa/router";
import { methodNotAllowed, TransportError } from "./responses.js";
import type { Http } from "./exchange.js";

/** Handles the requests of one path and method. */
export type Handler = (http: Http) => Promise<void> | void;

interface Route {
  layer: Router["stack"][number];
  handler: Handler;
}

const none: readonly Route[] = [];

/** Segments that tell routes apart before any pattern is tried: `/api/v2/groups`. */
const telling = 3;

/**
 * Maps paths to handlers. The router compiles the patterns and reads their parameters. Its own dispatch would
 * try the patterns of all rows in turn, which costs more than most requests.
 */
export class Routes {
  readonly #router = new Router({ sensitive: true, strict: true });
  /** Routes by what their paths begin with, in the order in which they were registered. */
  readonly #near = new Map<string, Route[]>();

  /** `refuse` is called for requests without a route: 405 for a known path, 404 for any other. */
  constructor(private readonly refuse: (http: Http, failure: TransportError) => void) {}

  register(path: string, methods: string[], handler: Handler): void {
    const layer = this.#router.register(path, methods, () => {}) as Route["layer"];
    const [start] = startsOf(path.split("/:", 1)[0]!);
    const routes = this.#near.get(start!) ?? [];
    this.#near.set(start!, [...routes, { layer, handler }]);
  }

  /** Dispatches a request to its handler. */
  handle = (http: Http): Promise<void> | void => {
    const { path, method } = http;
    for (const start of startsOf(path))
      for (const { layer, handler } of this.#near.get(start) ?? none) {
        const captures = layer.methods.includes(method) && layer.regexp.exec(path);
        if (!captures) continue;
        http.state.params = layer.params(path, captures.slice(1));
        http.state.route = layer.path as string;
        return handler(http);
      }
    this.refuse(http, this.#failureOf(path));
  };

  #failureOf(path: string): TransportError {
    const near = startsOf(path).flatMap((start) => this.#near.get(start) ?? none);
    const matching = near.filter(({ layer }) => layer.regexp.test(path));
    const methods = new Set(matching.flatMap(({ layer }) => layer.methods));
    return methods.size > 0 ? methodNotAllowed(...[...methods].sort()) : new TransportError(404, "Route not found.");
  }
}

/** What a path begins with, the longest start first: `/login/oidc` → `/login/oidc`, `/login`. */
function startsOf(path: string): string[] {
  const starts: string[] = [];
  for (let end = 0; end >= 0 && starts.length < telling;) {
    end = path.indexOf("/", end + 1);
    starts.unshift(end < 0 ? path : path.slice(0, end));
  }
  return starts;
}
