import { DomainError, type Validation } from "../../runtime/errors.js";

export {
  DomainError,
  type ErrorCode,
  type ErrorDetails,
  forbidden,
  unavailable,
  type Validation,
} from "../../runtime/errors.js";

export const badInput = (validations: Validation[], message = "Validation failed.", detail?: string) =>
  new DomainError("BAD_USER_INPUT", message, { detail, validations });

export const unauthenticated = (detail: string) =>
  new DomainError("UNAUTHENTICATED", "You are signed out or your session has expired. Sign in again to continue.", {
    detail,
  });

/** The error for missing, deleted and unreadable objects, which callers must not be able to distinguish. */
export const notFound = () => new DomainError("NOT_FOUND", "Resource not found or you do not have access to it.");

export const conflict = (message: string, validations?: Validation[]) =>
  new DomainError("CONFLICT", message, validations && { validations });

/** `retryAfter` is in seconds. */
export const rateLimited = (retryAfter: number, detail?: string) =>
  new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter: Math.max(1, Math.ceil(retryAfter)) });

/** Maximum number of reported faults, equal to the length of the longest list. */
const mostFaults = 1000;

/** Maximum length of `field` in characters: it may contain map keys that callers chose. */
const longestField = 300;

/** Collects the faults of a request, to report all of them in the order of its fields. */
export class Problems {
  readonly #found: Validation[] = [];

  /** Adds a fault, unless `detail` is `undefined`. */
  add(field: string, detail: string | undefined): void {
    if (detail !== undefined && !this.isFull) this.#found.push({ field: clip(field, longestField), detail });
  }

  /** The faults in the order in which they were added. */
  get found(): readonly Validation[] {
    return this.#found;
  }

  get isEmpty(): boolean {
    return this.#found.length === 0;
  }

  /** Whether further faults are dropped. */
  get isFull(): boolean {
    return this.#found.length === mostFaults;
  }

  throwIfAny(message?: string): void {
    const detail = this.isFull ? `At most ${mostFaults} faults are reported.` : undefined;
    if (!this.isEmpty) throw badInput(this.#found, message, detail);
  }
}

const clip = (text: string, longest: number) => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/**
 * Quotes input of a caller, cut to 64 characters. Not to be used for passwords, tokens, passcodes and other secrets.
 */
export const quote = (input: string) => JSON.stringify(clip(input, 64));

/** Returns CONFLICT for the value of one field. */
export const conflictOn = (field: string, message: string) => conflict(message, [{ field, detail: message }]);

/** Returns a handler of failed writes, which throws the error for the violated constraint, otherwise the failure. */
export const onViolation =
  (errors: Record<string, () => DomainError>) =>
  (failure: unknown): never => {
    const { constraint = "" } = failure as { constraint?: string };
    throw errors[constraint]?.() ?? failure;
  };
