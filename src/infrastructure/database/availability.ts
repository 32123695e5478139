import type { Logger } from "pino";

/** SQLSTATEs and socket errors of an unavailable server: connection lost or rejected, starting, stopping. */
const away = /^(08...|53300|57P0[1-5]|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const awayMessage =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Whether a statement failed because of a missing or lost connection to Postgres. */
export function isConnectionFault(error: unknown): boolean {
  const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
  return away.test(code) || awayMessage.test(message);
}

/** SQLSTATEs of a server that rejects the user, the password, or the name of the database. */
const rejected = new Set(["28000", "28P01", "3D000"]);

/** Whether a connection failed because the server rejects what the URL says. */
export const isRejected = (error: unknown): boolean =>
  rejected.has(((error as Error | undefined)?.cause as { code?: string } | undefined)?.code ?? "");

/** SQLSTATEs of a transaction that lost against a concurrent one and can be retried: serialization failure, deadlock. */
const retried = new Set(["40001", "40P01"]);

/** Whether a transaction failed because of a concurrent one, and can be retried. */
export const isLostRace = (error: unknown): boolean =>
  retried.has((error as { code?: string } | undefined)?.code ?? "");

/** SQLSTATEs of values that another transaction took, and of rows that it removed. */
const taken = new Set(["23502", "23503", "23505"]);

/** The error of a transaction that lost against a concurrent one, and has to be retried. */
export const lostRace = (cause: unknown): Error =>
  Object.assign(new Error("A concurrent transaction was first.", { cause }), { code: "40001" });

/** Throws the violation of a constraint as a lost race, for a transaction that had checked the constraint. */
export function throwLostRace(error: unknown): never {
  throw taken.has((error as { code?: string }).code ?? "") ? lostRace(error) : error;
}

/** The reason for an error, in one line: its code if it has no message, as some socket errors. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return message || code || String(error);
}

/** Errors of outages that `Availability` has logged. */
const logged = new WeakSet<object>();

/** Whether the cause of an error is an outage that `Availability` has logged. */
export const isLogged = (error: unknown): boolean => typeof error === "object" && error !== null && logged.has(error);

/** Milliseconds without a failure that end an outage. During an outage, some statements may still succeed. */
const recoveryTime = 5_000;

/** Logs the start and the end of each outage of the database once, regardless of the number of failed statements. */
export class Availability {
  /** Time of the last failure in the current outage, in milliseconds of the monotonic clock. */
  #failedAt: number | undefined;

  constructor(private readonly log: Pick<Logger, "error" | "info">) {}

  /** To be called after every statement that succeeds. */
  noteSuccess(): void {
    if (this.#failedAt !== undefined && performance.now() - this.#failedAt >= recoveryTime) {
      this.#failedAt = undefined;
      this.log.info("The database is available again.");
    }
  }

  /** To be called after every statement that fails. */
  noteFailure(error: unknown): void {
    if (!isConnectionFault(error)) return;
    logged.add(error as object);
    if (this.#failedAt === undefined)
      this.log.error({ reason: reasonOf(error) }, "The database is not available; requests that need it fail.");
    this.#failedAt = performance.now();
  }
}
