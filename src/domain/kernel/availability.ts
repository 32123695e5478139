import type { Logger } from "pino";

/** SQLSTATEs and socket errors of a server that is not there: connection lost or rejected, starting, stopping. */
const away = /^(08...|53300|57P0[1-5]|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const awayMessage =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Whether a statement failed because there is no connection to Postgres, whatever it was. */
export function isConnectionFault(error: unknown): boolean {
  const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
  return away.test(code) || awayMessage.test(message);
}

/** What an error says in one line. Some errors of sockets have a code and no message. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return message || code || String(error);
}

/** Errors that say only that the database is away, which `Availability` has logged. */
const logged = new WeakSet<object>();

/** Whether an error is a consequence of a fault that was logged once for all of them. */
export const isLogged = (error: unknown): boolean => typeof error === "object" && error !== null && logged.has(error);

/** Milliseconds without a failure: a lost connection fails many statements, while others still succeed. */
const calm = 5_000;

/** Logs once that the database is away and once that it is back, however many statements fail meanwhile. */
export class Availability {
  /** The last failure while it is away; milliseconds of the monotonic clock. */
  #failedAt: number | undefined;

  constructor(private readonly log: Pick<Logger, "error" | "info">) {}

  /** Called after every statement that succeeds. */
  succeeded(): void {
    if (this.#failedAt !== undefined && performance.now() - this.#failedAt >= calm) {
      this.#failedAt = undefined;
      this.log.info("The database is available again.");
    }
  }

  /** Called after every statement that fails. */
  failed(error: unknown): void {
    if (!isConnectionFault(error)) return;
    logged.add(error as object);
    if (this.#failedAt === undefined)
      this.log.error({ reason: reasonOf(error) }, "The database is not available; requests that need it fail.");
    this.#failedAt = performance.now();
  }
}
