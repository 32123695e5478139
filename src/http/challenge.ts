import type { DomainError } from "../domain/kernel/errors.js";
import { json } from "./responses.js";

export interface ChallengeDetails {
  accessUrl: string;
  /** The scopes that the operation needs. */
  scopes?: readonly string[];
  /** Whether the caller sent a credential. */
  challenged?: boolean;
}

/** The headers of the response to a failure. */
export function failureHeaders(failure: DomainError, details: ChallengeDetails): Record<string, string> {
  const { retryAfter } = failure.details;
  const challenge = challengeOf(failure, details);
  return {
    ...json,
    ...(retryAfter !== undefined && { "Retry-After": String(retryAfter) }),
    ...(challenge && { "WWW-Authenticate": challenge }),
  };
}

/** `WWW-Authenticate` for failures that a better credential would avoid: RFC 6750 §3, with the pointer of RFC 9728 §5.1. */
function challengeOf(
  failure: DomainError,
  { accessUrl, scopes = [], challenged }: ChallengeDetails,
): string | undefined {
  if (failure.details.requiredScopes) {
    return `Bearer error="insufficient_scope", scope="${failure.details.requiredScopes.join(" ")}"`;
  }
  if (failure.code !== "UNAUTHENTICATED") return undefined;
  const parts = [`realm="steward"`];
  if (scopes.length > 0) parts.push(`scope="${scopes.join(" ")}"`);
  parts.push(`resource_metadata="${accessUrl}/.well-known/oauth-protected-resource"`);
  if (challenged) parts.push(`error="invalid_token"`);
  return `Bearer ${parts.join(", ")}`;
}
