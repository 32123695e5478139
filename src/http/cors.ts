import type { Middleware } from "./exchange.js";

/** The methods and headers that scripts may send (Fetch Standard, CORS protocol). */
const permission = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, Service-Session-Token, Idempotency-Key, Last-Event-ID, Apollo-Require-Preflight",
  "Access-Control-Max-Age": "7200",
};

/** The response headers that scripts may read. */
const readable =
  "Deprecation, Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, X-Total-Count";

/**
 * The paths that scripts of any origin may use, without cookies: discovery, and requests of applications for
 * themselves. Not the pages, and not what sessions of users do.
 */
const forAll: ReadonlyArray<readonly [path: RegExp, methods: string]> = [
  [/^\/\.well-known\//, "GET, HEAD"],
  [/^\/schemas\//, "GET, HEAD"],
  [/^\/oauth2\/(register|tokens|revoke|introspect|device_authorization)$/, "POST"],
  [/^\/oauth2\/clients\/[^/]+$/, "GET, HEAD, PUT, DELETE"],
  [/^\/mcp$/, "POST"],
];

/** `*` does not cover `Authorization` (Fetch Standard, CORS-preflight fetch). */
const anyHeader = "Authorization, *";

/** Lets scripts of these origins use the server, with tokens: browsers keep cookies to themselves. */
export function cors(origins: readonly string[]): Middleware {
  return async (http, next) => {
    const isPreflight = http.method === "OPTIONS" && http.get("access-control-request-method") !== "";
    const method = isPreflight ? http.get("access-control-request-method") : http.method;
    const methods = forAll.find(([path]) => path.test(http.path))?.[1];
    const isForAll = methods?.split(", ").includes(method);
    if (!isForAll && origins.length > 0) http.vary("Origin");
    const origin = http.get("origin");
    const isAllowed = isForAll || origins.includes(origin);
    if (isAllowed)
      http.set({ "Access-Control-Allow-Origin": isForAll ? "*" : origin, "Access-Control-Expose-Headers": readable });
    if (isAllowed && isPreflight) {
      http.status = 204;
      http.set(permission);
      if (isForAll) http.set({ "Access-Control-Allow-Methods": methods!, "Access-Control-Allow-Headers": anyHeader });
    } else await next();
  };
}
