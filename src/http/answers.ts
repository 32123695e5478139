import type { Http } from "./baseline.js";

/** A finished answer, whatever carries it. */
export interface Answered {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export const json = { "Content-Type": "application/json; charset=utf-8" };

/** A request that failed before it meant anything: its statuses belong to HTTP, not to the domain. */
export class TransportError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly detail?: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

/** The path is known, but not with this method. */
export const methodNotAllowed = (...allowed: string[]): TransportError =>
  new TransportError(405, "Method not allowed.", undefined, { Allow: allowed.join(", ") });

export const transportFailure = ({ status, message, detail, headers }: TransportError): Answered => ({
  status,
  headers: { ...json, ...headers },
  body: JSON.stringify({ message, detail }),
});

/** Hands an answer to Koa. */
export function send(http: Http, { status, headers, body }: Answered): void {
  http.status = status;
  for (const name in headers) http.set(name, headers[name]!);
  http.body = body === "" ? null : body;
  // Koa turns an empty body into a 204 of its own.
  if (body === "") http.status = status;
}
