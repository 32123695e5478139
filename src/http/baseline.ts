import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import { type Context, type RequestFacts, type Services } from "../context.js";
import { json, send, TransportError, transportFailure } from "./answers.js";
import { factsOf } from "./facts.js";
import type { Metrics } from "../metrics.js";
import type { Lifetimes } from "./lifetimes.js";
import { quotaHeaders } from "./quotas.js";

/** What is known of a request on its way through Koa. */
export interface State {
  facts: RequestFacts;
  /** Ends when the connection closes, the session ends or the server drains. */
  lifetime: () => AbortController;
}

export type Http = Koa.ParameterizedContext<State, { params: Record<string, string> }>;

/** Connections that ask to become a WebSocket, by their request. Whoever answers otherwise leaves them HTTP. */
export const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>();

/** Makes the domain's context of a request. Throws UNAUTHENTICATED for a bad credential. */
export type ContextOf = (request: IncomingMessage, state: State) => Context | Promise<Context>;

/** Where answers are for their caller alone. */
const confidential = /^\/(api\/v2|graphql|oauth2)(\/|$)/;

/** What holds for every request: id, headers, a bound on its time, and an answer even to a defect. */
export function baseline(services: Services, lifetimes: Lifetimes, metrics: Metrics): Koa.Middleware<State> {
  const { config, log } = services;
  const https = config.accessUrl.startsWith("https:");

  return async (http, next) => {
    const begun = performance.now();
    const facts = factsOf(http.req, config);
    const connection = upgrades.get(http.req)?.socket ?? http.res;
    let life: AbortController | undefined;
    lifetimes.begin(connection);
    http.state.facts = facts;
    http.state.lifetime = () => (life ??= lifetimes.of(connection));
    http.set("X-Request-Id", facts.id);
    http.set("X-Content-Type-Options", "nosniff");
    http.set("Referrer-Policy", "no-referrer");
    if (https) http.set("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
    const timer = setTimeout(timeOut, config.requestTimeout, http as Http, services);
    try {
      checkPath(http);
      if (confidential.test(http.path)) http.set("Cache-Control", "no-store");
      await next();
    } catch (error) {
      if (error instanceof TransportError) return send(http as Http, transportFailure(error));
      log.error({ err: error, requestId: facts.id }, "defect");
      const body = JSON.stringify({ message: "An internal error occurred.", detail: `Request id ${facts.id}` });
      send(http as Http, { status: 500, headers: json, body });
    } finally {
      clearTimeout(timer);
      http.set(quotaHeaders(facts));
      const { _matchedRoute: route = "other" } = http as { _matchedRoute?: string };
      metrics.answered(http.method, route, http.status, (performance.now() - begun) / 1000);
    }
  };
}

/** Routers decode the path without a word about what cannot be decoded. */
function checkPath(http: Koa.Context): void {
  try {
    decodeURIComponent(http.path);
  } catch {
    throw new TransportError(400, "Validation failed.", "The path is malformed or has a bad percent escape.");
  }
}

/** Streams have answered by then; whatever else is still at work has lost its caller's patience. */
function timeOut({ res, state }: Http, { log }: Services): void {
  if (res.headersSent) return;
  log.warn({ requestId: state.facts.id }, "request timed out");
  const body = JSON.stringify({
    message: "The service is temporarily unavailable.",
    detail: "The request took too long.",
  });
  res
    .writeHead(503, { ...json, "Retry-After": "1", "X-Request-Id": state.facts.id, ...quotaHeaders(state.facts) })
    .end(body);
}
