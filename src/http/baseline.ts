import { tracingChannel } from "node:diagnostics_channel";
import type Koa from "koa";
import type { Services } from "../domain/kernel/context.js";
import { TransportError } from "./errors.js";
import { type Http, type Middleware, type State, upgrades } from "./exchange.js";
import type { Lifetimes } from "./lifetimes.js";
import { quotaHeaders } from "./rate-limits.js";
import { requestDetailsOf } from "./request-details.js";
import type { RequestObserver } from "./request-log.js";
import type { Unread } from "./slow-clients.js";

/** Paths whose responses are for their caller alone and must not be stored. */
const confidential = /^\/(api\/v2|graphql|oauth2|mcp)(\/|$)/;

/** Paths whose responses may contain tokens (RFC 6749 §5.1). */
const ofOAuth = /^\/oauth2(\/|$)/;

/** Publishes requests: `start` when one begins, `asyncEnd` when it has its response. */
const channel = tracingChannel<unknown, { http: Http }>("steward.request");

/** Gives every request its state and its response the headers that all have, and reports both to the observers. */
export function baseline(
  { config }: Services,
  lifetimes: Lifetimes,
  unread: Unread,
  observers: readonly RequestObserver[],
): Middleware {
  const headers = Object.entries({
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    ...(config.accessUrl.startsWith("https:") && {
      "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    }),
  });

  function stateOf({ req, res }: Http): State {
    const details = requestDetailsOf(req, config);
    const connection = upgrades.get(req)?.socket ?? res;
    let life: AbortController | undefined;
    lifetimes.begin(connection);
    return { details, lifetime: () => (life ??= lifetimes.of(connection)), unread };
  }

  async function handle(http: Http, next: Koa.Next): Promise<void> {
    const begun = performance.now();
    const { details } = (http.state = stateOf(http));
    http.res.setHeader("X-Request-Id", details.id);
    for (const [name, value] of headers) http.res.setHeader(name, value);
    await next();
    if (details.quotas) http.set(quotaHeaders(details));
    const { method, status, _matchedRoute: route = "other" } = http;
    const completed = { method, route: String(route), status, milliseconds: performance.now() - begun, details };
    for (const observer of observers) observer.request(completed);
  }

  return (http, next) =>
    channel.hasSubscribers ? channel.tracePromise(() => handle(http, next), { http }) : handle(http, next);
}

/**
 * Forbids caches to keep responses that are for their caller alone. Rejects a path that cannot be decoded: the router would
 * pass it on undecoded.
 */
export const checkPath: Middleware = (http, next) => {
  try {
    const { path } = http;
    if (confidential.test(path)) http.set("Cache-Control", "no-store");
    // RFC 6749 §5.1, for caches of HTTP/1.0.
    if (ofOAuth.test(path)) http.set("Pragma", "no-cache");
    if (path.includes("%")) decodeURIComponent(path);
  } catch {
    throw new TransportError(400, "Validation failed.", "The path is malformed or has a bad percent escape.");
  }
  return next();
};
