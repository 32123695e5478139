import { tracingChannel } from "node:diagnostics_channel";
import type Koa from "koa";
import type { Services } from "../domain/kernel/context.js";
import { type HttpResponse, TransportError } from "./responses.js";
import { type Http, type State, upgrades } from "./exchange.js";
import { requestDetailsOf } from "./request-details.js";
import type { RequestObserver } from "./request-log.js";
import { Deadlines } from "./deadlines.js";
import type { Lifetimes } from "./lifetimes.js";
import type { Unread } from "./unread.js";
import { write } from "./write.js";

/** Paths whose responses are for their caller alone and must not be stored. */
const confidential = /^\/(api\/v2|graphql|oauth2)(\/|$)/;

/** Paths whose responses may contain tokens (RFC 6749 §5.1). */
const ofOAuth = /^\/oauth2(\/|$)/;

/** Spells a failure in the format of the part of the server that a path belongs to. */
export type SpellFailure = (path: string, failure: TransportError) => HttpResponse;

/** Publishes requests: `start` when one begins, `asyncEnd` when it has its response. */
const channel = tracingChannel<unknown, { http: Koa.ParameterizedContext<State> }>("steward.request");

/** Applies to every request: its id, common headers, a time limit, and a response even after a defect. */
export class Baseline {
  readonly #headers: Record<string, string>;
  readonly #deadlines: Deadlines<Http>;

  constructor(
    private readonly services: Services,
    private readonly lifetimes: Lifetimes,
    private readonly unread: Unread,
    private readonly observers: readonly RequestObserver[],
    private readonly spell: SpellFailure,
  ) {
    const { accessUrl, requestTimeout } = services.config;
    const secure = { "Strict-Transport-Security": "max-age=31536000; includeSubDomains" };
    this.#headers = {
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      ...(accessUrl.startsWith("https:") && secure),
    };
    this.#deadlines = new Deadlines(requestTimeout, (http) => this.#timeOut(http));
    lifetimes.rejectUnreceived = () => {
      for (const http of this.#deadlines.running)
        if (!http.req.complete) this.#giveUp(http, "The server stops.", { Connection: "close" });
    };
  }

  handle: Koa.Middleware<State> = (http, next) =>
    channel.hasSubscribers ? channel.tracePromise(() => this.#handle(http, next), { http }) : this.#handle(http, next);

  #handle: Koa.Middleware<State> = async (http, next) => {
    const begun = performance.now();
    const state = (http.state = this.#stateOf(http));
    // Responses are written here, not by Koa: see `write`.
    http.respond = false;
    this.#deadlines.begin(http, begun);
    try {
      checkPath(http);
      if (confidential.test(http.path)) state.headers["Cache-Control"] = "no-store";
      // RFC 6749 §5.1, for caches of HTTP/1.0.
      if (ofOAuth.test(http.path)) state.headers.Pragma = "no-cache";
      await next();
    } catch (error) {
      state.response = this.spell(targetOf(http), this.#failureOf(error, state));
    } finally {
      this.#deadlines.end(http);
    }
    const { res, method } = http;
    // Streams write their own response, and a request that timed out already has one.
    if (state.response && !res.headersSent) write(http, state.response);
    const { route = "other", details } = state;
    const milliseconds = performance.now() - begun;
    const completed = { method, route, status: res.statusCode, milliseconds, details };
    for (const observer of this.observers) observer.request(completed);
  };

  #stateOf({ req, res }: Koa.Context): State {
    const details = requestDetailsOf(req, this.services.config);
    const connection = upgrades.get(req)?.socket ?? res;
    let life: AbortController | undefined;
    this.lifetimes.begin(connection);
    return {
      details,
      lifetime: () => (life ??= this.lifetimes.of(connection)),
      headers: { "X-Request-Id": details.id, ...this.#headers },
      params: {},
      unread: this.unread,
    };
  }

  #failureOf(error: unknown, { details }: State): TransportError {
    if (error instanceof TransportError) return error;
    this.services.log.error({ err: error, requestId: details.id }, "defect");
    return new TransportError(500, "An internal error occurred.", `Request id ${details.id}`);
  }

  #timeOut(http: Http): void {
    const { log } = this.services;
    if (this.#giveUp(http, "The request took too long."))
      log.warn({ requestId: http.state.details.id }, "request timed out");
  }

  /** Writes a 503 for a request that is still at work, and keeps it from committing. Streams have begun their response. */
  #giveUp(http: Http, detail: string, headers: Record<string, string> = {}): boolean {
    const { details } = http.state;
    if (http.res.headersSent || details.fate === "commits") return false;
    details.fate = "given up";
    const message = "The service is temporarily unavailable.";
    const failure = new TransportError(503, message, detail, { "Retry-After": "1", ...headers });
    write(http, this.spell(targetOf(http), failure));
    return true;
  }
}

/** The path of a request with its query. Koa knows no path for a malformed one. */
const targetOf = ({ req }: Pick<Http, "req">) => req.url ?? "";

/** Rejects a path that cannot be decoded: the router would pass it on undecoded. */
function checkPath(http: Koa.Context): void {
  try {
    if (http.path.includes("%")) decodeURIComponent(http.path);
  } catch {
    throw new TransportError(400, "Validation failed.", "The path is malformed or has a bad percent escape.");
  }
}
