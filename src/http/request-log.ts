import type { Logger } from "pino";
import type { RequestDetails } from "../domain/kernel/request.js";

/** A request that has its response. */
export interface CompletedRequest {
  method: string;
  /** The pattern of the path; `other` where none is known. */
  route: string;
  status: number;
  milliseconds: number;
  details: RequestDetails;
}

/** An operation on a GraphQL socket that has ended: the result of a subscription is its last event. */
export type CompletedOperation = Pick<CompletedRequest, "milliseconds" | "details">;

/** A GraphQL socket that was closed. */
export interface ClosedSocket extends CompletedOperation {
  /** The close code (RFC 6455 §7.4). */
  code: number;
  /** The number of operations that it carried. */
  operations: number;
}

/** Where completed requests are reported. */
export interface RequestObserver {
  request(completed: CompletedRequest): void;
  operation(completed: CompletedOperation): void;
  socket(closed: ClosedSocket): void;
}

/** The routes of probes, which are logged at `debug`. */
const probeRoutes = ["/healthz", "/readyz", "/metrics"] as const;
export type ProbeRoute = (typeof probeRoutes)[number];
export const isProbe = (route: string) => (probeRoutes as readonly string[]).includes(route);

/**
 * Logs a line for each request: patterns, ids, names, and numbers only, no path, query, header, or body. Failed requests
 * are logged whatever the share of the others is, unless that is 0.
 */
export class RequestLog implements RequestObserver {
  readonly #log: Logger;

  /** `share` is the part of the requests to log, from 0 to 1. */
  constructor(
    log: Logger,
    private readonly share: number,
  ) {
    // The fields of these lines hold no secrets, and redaction would take several times as long as the line.
    this.#log = log.child({}, { redact: { paths: [] } });
  }

  request({ method, route, status, milliseconds, details }: CompletedRequest): void {
    if (!this.#isWanted(details, status >= 400)) return;
    const { id: requestId, actorId, operation, errorCodes: errors } = details;
    const ms = roundToTenths(milliseconds);
    const fields = { requestId, method, route, status, ms, actorId, operation: operation?.name, errors };
    if (isProbe(route)) this.#log.debug(fields, "request");
    else this.#log.info(fields, "request");
  }

  operation({ milliseconds, details }: CompletedOperation): void {
    if (!this.#isWanted(details, false)) return;
    const { id: requestId, actorId, operation, errorCodes: errors } = details;
    const { kind, name } = operation ?? {};
    this.#log.info(
      { requestId, kind, operation: name, ms: roundToTenths(milliseconds), actorId, errors },
      "socket operation",
    );
  }

  socket({ milliseconds, code, operations, details: { id: requestId, actorId } }: ClosedSocket): void {
    if (this.share === 0) return;
    this.#log.info({ requestId, code, operations, ms: roundToTenths(milliseconds), actorId }, "socket closed");
  }

  #isWanted({ errorCodes }: RequestDetails, hasFailed: boolean): boolean {
    if (this.share === 0 || !this.#log.isLevelEnabled("info")) return false;
    return this.share === 1 || hasFailed || errorCodes !== undefined || Math.random() < this.share;
  }
}

const roundToTenths = (milliseconds: number): number => Math.round(milliseconds * 10) / 10;
