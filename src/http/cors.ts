import type Koa from "koa";
import { send } from "./answers.js";
import type { Http } from "./baseline.js";

/** What scripts may send (Fetch Standard, CORS protocol). */
const permission = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "Authorization, Content-Type, Service-Session-Token, Idempotency-Key, Last-Event-ID, Apollo-Require-Preflight",
  "Access-Control-Max-Age": "7200",
};

/** What they may read of an answer, besides its body. */
const readable = "Deprecation, Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id";

/** Lets scripts of these origins use the server, with tokens: browsers keep cookies to themselves. */
export function cors(origins: readonly string[]): Koa.Middleware {
  return async (http, next) => {
    if (origins.length > 0) http.vary("Origin");
    const origin = http.get("origin");
    if (origins.includes(origin)) {
      http.set("Access-Control-Allow-Origin", origin);
      http.set("Access-Control-Expose-Headers", readable);
      const isPreflight = http.method === "OPTIONS" && http.get("access-control-request-method") !== "";
      if (isPreflight) return send(http as Http, { status: 204, headers: permission, body: "" });
    }
    await next();
  };
}
