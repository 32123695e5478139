/** The few ways in which a request can fail. Every surface translates these codes into its own spelling. */
export type ErrorCode =
  | "BAD_USER_INPUT"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "CONFLICT"
  | "RATE_LIMITED"
  | "UNAVAILABLE"
  | "INTERNAL_SERVER_ERROR";

/** One fault of one field: `field` is a path in domain spelling (`addUsers[2]`), `detail` a sentence that says the rule. */
export interface Validation {
  field: string;
  detail: string;
}

export interface ErrorFacts {
  /** A sentence more about this very case, for `detail` of the REST body. */
  detail?: string;
  validations?: Validation[];
  /** Seconds after which a retry may succeed, at least 1. */
  retryAfter?: number;
  /** Scopes that would have allowed the request. */
  requiredScopes?: string[];
  /** The licence feature that is missing. */
  feature?: string;
  /** The failure lies in a service beyond ours (agent app, git or identity provider). */
  upstream?: boolean;
  cause?: unknown;
}

/** A failure with a meaning to the caller. Anything else that is thrown is a defect and answers INTERNAL_SERVER_ERROR. */
export class DomainError extends Error {
  readonly facts: Omit<ErrorFacts, "cause">;

  constructor(
    readonly code: ErrorCode,
    message: string,
    { cause, ...facts }: ErrorFacts = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "DomainError";
    this.facts = facts;
  }
}

/** A reason why the server does not start, told to the person who starts it. */
export class StartRefused extends Error {
  override readonly name = "StartRefused";
}

export const badInput = (validations: Validation[], message = "Validation failed.", detail?: string) =>
  new DomainError("BAD_USER_INPUT", message, { detail, validations });

export const unauthenticated = (detail: string) =>
  new DomainError("UNAUTHENTICATED", "You are signed out or your session has expired. Sign in again to continue.", {
    detail,
  });

export const forbidden = (message = "Forbidden.", facts: ErrorFacts = {}) =>
  new DomainError("FORBIDDEN", message, facts);

/** The same for missing, deleted and unreadable objects, so that nobody can tell them apart. */
export const notFound = () => new DomainError("NOT_FOUND", "Resource not found or you do not have access to it.");

export const conflict = (message: string, validations?: Validation[]) =>
  new DomainError("CONFLICT", message, validations && { validations });

/** `retryAfter` in seconds. */
export const rateLimited = (retryAfter: number, detail?: string) =>
  new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter: Math.max(1, Math.ceil(retryAfter)) });

export const unavailable = (detail?: string, retryAfter = 1) =>
  new DomainError("UNAVAILABLE", "The service is temporarily unavailable.", { detail, retryAfter });

/** Faults that are told at most: as many as the longest list may have items. A request has room for many more. */
const mostFaults = 1000;

/** Characters of a field at most: callers choose the keys of maps. */
const longestField = 300;

/** Collects the faults of a request, so that all are reported at once and in field order. */
export class Problems {
  readonly #found: Validation[] = [];

  /** Notes a fault; a rule that holds gives `undefined` and adds nothing. */
  add(field: string, detail: string | undefined): void {
    if (detail !== undefined && !this.isFull) this.#found.push({ field: cut(field, longestField), detail });
  }

  get isEmpty(): boolean {
    return this.#found.length === 0;
  }

  /** Whether no more of them would be told: there is no need to look further. */
  get isFull(): boolean {
    return this.#found.length === mostFaults;
  }

  throwIfAny(message?: string): void {
    const detail = this.isFull ? `No more than ${mostFaults} faults are told.` : undefined;
    if (!this.isEmpty) throw badInput(this.#found, message, detail);
  }
}

const cut = (text: string, longest: number) => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/** Quotes what a caller sent, cut to 64 characters. Never for passwords, tokens, passcodes or secret values. */
export const quote = (input: string) => JSON.stringify(cut(input, 64));

/** The name of the unique constraint that `error` reports as violated, if it does. */
export function violatedUnique(error: unknown): string | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code === "23505" ? constraint : undefined;
}
