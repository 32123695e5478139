import type Koa from "koa";
import type { Services } from "../domain/kernel/context.js";
import { type Answered, json, TransportError, transportFailure } from "./answers.js";
import { type Http, type State, upgrades } from "./exchange.js";
import { factsOf } from "./facts.js";
import type { Metrics } from "../metrics.js";
import { Deadlines } from "./deadlines.js";
import type { Lifetimes } from "./lifetimes.js";
import type { Unread } from "./unread.js";
import { write } from "./write.js";

/** Where answers are for their caller alone. */
const confidential = /^\/(api\/v2|graphql|oauth2)(\/|$)/;

/** What holds for every request: id, headers, a bound on its time, and an answer even to a defect. */
export function baseline(
  services: Services,
  lifetimes: Lifetimes,
  unread: Unread,
  metrics: Metrics,
): Koa.Middleware<State> {
  const { config, log } = services;
  const always = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    ...(config.accessUrl.startsWith("https:") && {
      "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    }),
  };

  const deadlines = new Deadlines<Http>(config.requestTimeout, (http) => timeOut(http, services));
  lifetimes.refuseUnreceived = () => {
    for (const http of deadlines.running)
      if (!http.req.complete) giveUp(http, "The server stops.", { Connection: "close" });
  };

  function stateOf({ req, res }: Koa.Context): State {
    const facts = factsOf(req, config);
    const connection = upgrades.get(req)?.socket ?? res;
    let life: AbortController | undefined;
    lifetimes.begin(connection);
    return {
      facts,
      lifetime: () => (life ??= lifetimes.of(connection)),
      headers: { "X-Request-Id": facts.id, ...always },
      params: {},
      unread,
    };
  }

  function failureOf(error: unknown, { facts }: State): Answered {
    if (error instanceof TransportError) return transportFailure(error);
    log.error({ err: error, requestId: facts.id }, "defect");
    const body = JSON.stringify({ message: "An internal error occurred.", detail: `Request id ${facts.id}` });
    return { status: 500, headers: json, body };
  }

  return async (http, next) => {
    const begun = performance.now();
    const state = (http.state = stateOf(http));
    // Answers are written here, not by Koa: see `write`.
    http.respond = false;
    deadlines.begin(http, begun);
    try {
      checkPath(http);
      if (confidential.test(http.path)) state.headers["Cache-Control"] = "no-store";
      await next();
    } catch (error) {
      state.answer = failureOf(error, state);
    } finally {
      deadlines.end(http);
    }
    const { res, method } = http;
    // Streams have begun their answer themselves, and whoever timed out has got one.
    if (state.answer && !res.headersSent) write(http, state.answer);
    metrics.answered(method, state.route ?? "other", res.statusCode, (performance.now() - begun) / 1000);
  };
}

/** Routers decode the path without a word about what cannot be decoded. */
function checkPath(http: Koa.Context): void {
  try {
    if (http.path.includes("%")) decodeURIComponent(http.path);
  } catch {
    throw new TransportError(400, "Validation failed.", "The path is malformed or has a bad percent escape.");
  }
}

function timeOut(http: Http, { log }: Services): void {
  if (giveUp(http, "The request took too long.")) log.warn({ requestId: http.state.facts.id }, "request timed out");
}

/** Writes a 503 for a request that is still at work, and keeps it from committing. Streams have begun their response. */
function giveUp(http: Http, detail: string, headers: Record<string, string> = {}): boolean {
  const { facts } = http.state;
  if (http.res.headersSent || facts.fate === "commits") return false;
  facts.fate = "given up";
  const body = JSON.stringify({ message: "The service is temporarily unavailable.", detail });
  write(http, { status: 503, headers: { ...json, "Retry-After": "1", ...headers }, body });
  return true;
}
