import type { DomainError, ErrorCode } from "../domain/kernel/errors.js";

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

const noRoute = "Route not found.";

/** The path is not known. */
export const routeNotFound = (): TransportError => new TransportError(404, noRoute);

/** The heading of the page of an error. */
export const titleOf = ({ message }: TransportError): string =>
  message === noRoute ? "This page does not exist." : message;

/** The path is known, but not with this method. */
export const methodNotAllowed = (...allowed: string[]): TransportError =>
  new TransportError(405, "Method not allowed.", undefined, { Allow: allowed.join(", ") });

const statuses: Record<ErrorCode, number> = {
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  STEP_UP_REQUIRED: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
};

/** The HTTP status of a failure. */
export function statusOf(failure: DomainError | TransportError): number {
  if (failure instanceof TransportError) return failure.status;
  const { code, details } = failure;
  return details.upstream ? 502 : details.precondition ? 412 : details.tooLarge ? 413 : statuses[code];
}

export interface ChallengeDetails {
  accessUrl: string;
  /** The path of the resource that a token has to be for, such as `/mcp`. Default: the whole of this server. */
  resource?: string;
  /** The scopes that the operation needs. */
  scopes?: readonly string[];
  /** Whether the caller sent a credential. */
  isChallenged?: boolean;
}

/** The headers of the response to a failure. */
export function failureHeaders(
  failure: DomainError | TransportError,
  details: ChallengeDetails,
): Record<string, string> {
  if (failure instanceof TransportError) return failure.headers;
  const { retryAfter } = failure.details;
  const challenge = challengeOf(failure, details);
  return {
    ...(retryAfter !== undefined && { "Retry-After": String(retryAfter) }),
    ...(challenge && { "WWW-Authenticate": challenge }),
  };
}

/**
 * `WWW-Authenticate` for failures that a better credential would avoid: RFC 6750 §3, with the pointer of RFC 9728 §5.1. It
 * names all scopes that the operation needs, or that the credential lacks, so that clients can request them together.
 */
function challengeOf(failure: DomainError, details: ChallengeDetails): string | undefined {
  const { requiredScopes, oauthError, detail, reason, maxAge } = failure.details;
  const { scopes = [], isChallenged: challenged } = details;
  if (requiredScopes)
    return bearer({
      resource_metadata: metadataOf(details),
      error: "insufficient_scope",
      scope: requiredScopes.join(" "),
    });
  // RFC 9470 §3.
  if (reason === "insufficient_user_authentication")
    return bearer({ error: reason, error_description: detail, max_age: String(maxAge) });
  if (failure.code !== "UNAUTHENTICATED") return undefined;
  // Tokens of the protocol itself are for no resource.
  if (oauthError) return bearer({ error: challenged ? oauthError : undefined });
  return bearer({
    scope: scopes.join(" "),
    resource_metadata: metadataOf(details),
    ...(challenged && { error: "invalid_token", error_description: detail }),
  });
}

/** Where to read about this server as a resource, or about a part of it that takes tokens of its own. */
const metadataOf = ({ accessUrl, resource = "" }: ChallengeDetails): string =>
  `${accessUrl}/.well-known/oauth-protected-resource${resource}`;

function bearer(parameters: Record<string, string | undefined>): string {
  const given = Object.entries({ realm: "steward", ...parameters }).flatMap(([name, value]) =>
    value ? [[name, value] as const] : [],
  );
  // No parameter may contain quotation marks and backslashes (RFC 6750 §3).
  return `Bearer ${given.map(([name, value]) => `${name}="${value.replace(/["\\]/g, "'")}"`).join(", ")}`;
}
