import type { DomainError } from "../domain/kernel/errors.js";

export interface ChallengeFacts {
  accessUrl: string;
  /** The scopes that the operation needs. */
  scopes?: readonly string[];
  /** Whether the caller sent a credential. */
  challenged?: boolean;
}

/** `WWW-Authenticate` for failures that a better credential would avoid: RFC 6750 §3, with the pointer of RFC 9728 §5.1. */
export function challengeOf(
  failure: DomainError,
  { accessUrl, scopes = [], challenged }: ChallengeFacts,
): string | undefined {
  if (failure.facts.requiredScopes) {
    return `Bearer error="insufficient_scope", scope="${failure.facts.requiredScopes.join(" ")}"`;
  }
  if (failure.code !== "UNAUTHENTICATED") return undefined;
  const parts = [`realm="steward"`];
  if (scopes.length > 0) parts.push(`scope="${scopes.join(" ")}"`);
  parts.push(`resource_metadata="${accessUrl}/.well-known/oauth-protected-resource"`);
  if (challenged) parts.push(`error="invalid_token"`);
  return `Bearer ${parts.join(", ")}`;
}
