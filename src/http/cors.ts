import type Koa from "koa";
import { send, type State } from "./exchange.js";

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

/** Lets scripts of these origins use the server, with tokens: browsers keep cookies to themselves. */
export function cors(origins: readonly string[]): Koa.Middleware<State> {
  return (http, next) => {
    const { headers } = http.state;
    headers.Vary = "Origin";
    const origin = http.get("origin");
    if (!origins.includes(origin)) return next();
    headers["Access-Control-Allow-Origin"] = origin;
    headers["Access-Control-Expose-Headers"] = readable;
    const isPreflight = http.method === "OPTIONS" && http.get("access-control-request-method") !== "";
    return isPreflight ? send(http, { status: 204, headers: permission, body: "" }) : next();
  };
}
