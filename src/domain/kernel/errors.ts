/** Error codes, which each interface translates into its own. */
export type ErrorCode =
  | "BAD_USER_INPUT"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "CONFLICT"
  | "RATE_LIMITED"
  | "UNAVAILABLE"
  | "INTERNAL_SERVER_ERROR";

/** A fault of a field. `field` is its path in the domain (`addUsers[2]`); `detail` states the violated rule. */
export interface Validation {
  field: string;
  detail: string;
}

export interface ErrorDetails {
  /** An additional sentence, the `detail` of REST responses. */
  detail?: string;
  validations?: Validation[];
  /** Seconds to wait before a retry, at least 1. */
  retryAfter?: number;
  /** The scopes that the request requires. */
  requiredScopes?: string[];
  /** The license feature that is missing. */
  feature?: string;
  /** The machine-readable reason of a rejection, as a standard names it: `slow_down`. */
  reason?: string;
  /** Whether another service failed: an application of an agent, a Git or identity provider. */
  upstream?: boolean;
  /** The error code of a failure of the OAuth2 protocol, such as `invalid_grant` (RFC 6749 §5.2). */
  oauthError?: string;
  /** The application's URI that the user is redirected to with the failure (RFC 6749 §4.1.2.1). */
  redirectUri?: string;
  /** Whether the resource no longer has the version that the caller requires (RFC 7644 §3.14). */
  precondition?: boolean;
  /** Whether the request is larger than the server accepts. */
  tooLarge?: boolean;
  /** The kind of a fault in the terms of SCIM (RFC 7644 §3.12), such as `invalidFilter`. */
  scimType?: string;
  cause?: unknown;
}

/** An error that is reported to the caller. All other errors are defects and become INTERNAL_SERVER_ERROR. */
export class DomainError extends Error {
  readonly details: Omit<ErrorDetails, "cause">;

  constructor(
    readonly code: ErrorCode,
    message: string,
    { cause, ...details }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "DomainError";
    this.details = details;
  }
}

/** The reason why the server does not start, for the operator. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}

export const badInput = (validations: Validation[], message = "Validation failed.", detail?: string) =>
  new DomainError("BAD_USER_INPUT", message, { detail, validations });

export const unauthenticated = (detail: string) =>
  new DomainError("UNAUTHENTICATED", "You are signed out or your session has expired. Sign in again to continue.", {
    detail,
  });

export const forbidden = (message = "Forbidden.", details: ErrorDetails = {}) =>
  new DomainError("FORBIDDEN", message, details);

/** The error for missing, deleted and unreadable objects, which callers must not be able to distinguish. */
export const notFound = () => new DomainError("NOT_FOUND", "Resource not found or you do not have access to it.");

export const conflict = (message: string, validations?: Validation[]) =>
  new DomainError("CONFLICT", message, validations && { validations });

/** `retryAfter` is in seconds. */
export const rateLimited = (retryAfter: number, detail?: string) =>
  new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter: Math.max(1, Math.ceil(retryAfter)) });

export const unavailable = (detail?: string, retryAfter = 1) =>
  new DomainError("UNAVAILABLE", "The service is temporarily unavailable.", { detail, retryAfter });

/** Maximum number of reported faults, equal to the length of the longest list. */
const mostFaults = 1000;

/** Maximum length of `field` in characters: it may contain map keys that callers chose. */
const longestField = 300;

/** Collects the faults of a request, to report all of them in the order of its fields. */
export class Problems {
  readonly #found: Validation[] = [];

  /** Adds a fault, unless `detail` is `undefined`. */
  add(field: string, detail: string | undefined): void {
    if (detail !== undefined && !this.isFull) this.#found.push({ field: cut(field, longestField), detail });
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

const cut = (text: string, longest: number) => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/**
 * Quotes input of a caller, cut to 64 characters. Not to be used for passwords, tokens, passcodes and other secrets.
 */
export const quote = (input: string) => JSON.stringify(cut(input, 64));

/** Returns CONFLICT for the value of one field. */
export const conflictOn = (field: string, message: string) => conflict(message, [{ field, detail: message }]);

/** Returns a handler of failed writes, which throws the error for the violated constraint, otherwise the failure. */
export const onViolation =
  (errors: Record<string, () => DomainError>) =>
  (failure: unknown): never => {
    const { constraint = "" } = failure as { constraint?: string };
    throw errors[constraint]?.() ?? failure;
  };
