import type { Services } from "../domain/kernel/context.js";
import { TransportError } from "./errors.js";
import type { Http, Middleware } from "./exchange.js";

/** Milliseconds by which a deadline may be noticed too late. */
const tolerance = 250;

interface Running {
  /** By the monotonic clock of the process, in milliseconds. */
  begun: number;
  giveUp: (failure: TransportError) => void;
}

/**
 * Fails requests that take too long with 503, and keeps them from committing. One timer serves all: a timer for each request
 * would take a tenth of its time.
 */
export class TimeLimit {
  /** The requests in progress, oldest first. Streams that have begun are none. */
  readonly #running = new Map<Http, Running>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly services: Pick<Services, "config" | "log">) {}

  middleware: Middleware = async (http, next) => {
    if (!this.#timer) this.#timer = setTimeout(() => this.#look(), tolerance).unref();
    try {
      await new Promise<void>((resolve, giveUp) => {
        this.#running.set(http, { begun: performance.now(), giveUp });
        next().then(resolve, giveUp);
      });
    } finally {
      this.#running.delete(http);
    }
  };

  /** Rejects the requests that are not completely received, because the server stops. */
  rejectUnreceived = (): void => {
    for (const http of this.#running.keys())
      if (!http.req.complete) this.#giveUp(http, "The server stops.", { Connection: "close" });
  };

  #look(): void {
    const { config, log } = this.services;
    const latest = performance.now() - config.requestTimeout;
    for (const [http, { begun }] of this.#running) {
      if (begun > latest) break;
      if (this.#giveUp(http, "The request took too long."))
        log.warn({ requestId: http.state.details.id }, "request timed out");
    }
    this.#timer = this.#running.size > 0 ? setTimeout(() => this.#look(), tolerance).unref() : undefined;
  }

  /** Fails a request, unless it commits. */
  #giveUp(http: Http, detail: string, headers: Record<string, string> = {}): boolean {
    const { details } = http.state;
    const { giveUp } = this.#running.get(http)!;
    this.#running.delete(http);
    if (details.fate === "commits") return false;
    details.fate = "given up";
    const message = "The service is temporarily unavailable.";
    giveUp(new TransportError(503, message, detail, { "Retry-After": "1", ...headers }));
    return true;
  }
}
