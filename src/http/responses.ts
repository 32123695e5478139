/** A complete response, for any transport. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

export const json = { "Content-Type": "application/json; charset=utf-8" };

/** A fault of the HTTP request itself, before any operation is known: its status is not the domain's. */
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

export const transportFailure = ({ status, message, detail, headers }: TransportError): HttpResponse => ({
  status,
  headers: { ...json, ...headers },
  body: JSON.stringify({ message, detail }),
});
