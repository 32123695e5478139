/** A finished answer, whatever carries it. */
export interface Answered {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
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
