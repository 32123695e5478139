// The errors that programs report, from every layer: to the caller, or to the operator who starts one.

/** Error codes, which each interface translates into its own. */
export type ErrorCode =
  | "BAD_USER_INPUT"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "STEP_UP_REQUIRED"
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
  /** How a proof that is too old can be given again: `one_time_code`. */
  satisfiedBy?: string[];
  /** Seconds for which such a proof holds. */
  maxAge?: number;
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

export const forbidden = (message = "Forbidden.", details: ErrorDetails = {}) =>
  new DomainError("FORBIDDEN", message, details);

export const unavailable = (detail?: string, retryAfter = 1) =>
  new DomainError("UNAVAILABLE", "The service is temporarily unavailable.", { detail, retryAfter });
