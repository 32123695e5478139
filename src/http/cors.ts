import type Koa from "koa";
import { send } from "./answers.js";
import type { Http } from "./baseline.js";

/** What scripts may send beyond the ordinary, and read of an answer besides its body (Fetch Standard, CORS protocol). */
const sent =
  "Authorization, Content-Type, Service-Session-Token, Idempotency-Key, Last-Event-ID, Apollo-Require-Preflight";
const readable = "Deprecation, Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id";

/** Lets scripts of these origins use the server, with tokens: browsers keep cookies to themselves. */
export function cors(origins: readonly string[]): Koa.Middleware {
  return async (http, next) => {
    if (origins.length > 0) http.vary("Origin");
    const origin = http.get("origin");
    if (!origins.includes(origin)) return next();
    http.set("Access-Control-Allow-Origin", origin);
    http.set("Access-Control-Expose-Headers", readable);
    if (http.method !== "OPTIONS" || http.get("access-control-request-method") === "") return next();
    const headers = {
      "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      "Access-Control-Allow-Headers": sent,
      "Access-Control-Max-Age": "7200",
    };
    send(http as Http, { status: 204, headers, body: "" });
  };
}
