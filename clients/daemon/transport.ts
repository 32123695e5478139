// How the daemon reaches the server. One implementation opens a WebSocket; the server has another one, in process.
import type { Connection } from "../api/connection.js";

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

/** The server does not accept this daemon. The message says what to do. */
export class Refused extends Error {}

interface ErrorFormat {
  message: string;
  extensions?: { code?: unknown; reason?: unknown; validations?: unknown };
}

/** Converts the first error of a GraphQL result. */
export function operationError(errors: readonly unknown[]): OperationError {
  const [first] = errors as readonly ErrorFormat[];
  const { code, reason, validations } = first?.extensions ?? {};
  const faults = Array.isArray(validations) ? (validations as Array<{ field: string; detail: string }>) : [];
  const details = faults.map(({ field, detail }) => ` ${field}: ${detail}`).join("");
  return new OperationError(
    `${first?.message}${details}`,
    typeof code === "string" ? code : "INTERNAL_SERVER_ERROR",
    typeof reason === "string" ? reason : undefined,
  );
}
