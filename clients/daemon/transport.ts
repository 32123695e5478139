// How the daemon reaches the server. One implementation opens a WebSocket; the server has another one, in process.

/** A connection that executes operations of the protocol for daemons. */
export interface Connection {
  /** Executes a mutation. Throws an `OperationError` or `ConnectionLost`. */
  execute<Data>(document: string, variables: object): Promise<Data>;
  /** Yields the results of a subscription. Ends when the signal is aborted; throws `ConnectionLost`. */
  subscribe<Data>(document: string, variables: object, signal: AbortSignal): AsyncIterable<Data>;
  /** Resolves when the connection ends, on either side. */
  readonly closed: Promise<Closing>;
  close(): void;
}

/** Why a connection ended: the code of the WebSocket close frame. */
export interface Closing {
  code: number;
  reason: string;
}

export interface Transport {
  /** Opens a connection. Throws `Refused` if a retry cannot succeed. */
  connect(): Promise<Connection>;
}

/** An operation failed. `reason` distinguishes errors with the same code, such as `LEASE_LOST`. */
export class OperationError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly reason?: string,
  ) {
    super(message);
  }
}

/** The connection ended before the result of an operation arrived. */
export class ConnectionLost extends Error {}

/** The server does not accept this daemon. The message says what to do. */
export class Refused extends Error {}

interface ErrorFormat {
  message: string;
  extensions?: { code?: unknown; reason?: unknown; validations?: unknown };
}

/** Converts the first error of a GraphQL result. */
export function operationError([first]: readonly ErrorFormat[]): OperationError {
  const { code, reason, validations } = first?.extensions ?? {};
  const faults = Array.isArray(validations) ? (validations as Array<{ field: string; detail: string }>) : [];
  const details = faults.map(({ field, detail }) => ` ${field}: ${detail}`).join("");
  return new OperationError(
    `${first?.message}${details}`,
    typeof code === "string" ? code : "INTERNAL_SERVER_ERROR",
    typeof reason === "string" ? reason : undefined,
  );
}
