import type { DomainError, ErrorCode } from "../../domain/errors.js";
import { type Answered, json } from "../../http/answers.js";

const statusOf: Record<ErrorCode, number> = {
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
};

export interface FailureFacts {
  requestId: string;
  accessUrl: string;
  /** Scopes that the operation needs, for the challenge. */
  needs?: readonly string[];
  /** Whether the caller sent a credential. */
  challenged?: boolean;
  /** Spells a field as the caller wrote it. */
  wireField?(field: string): string;
}

/** Failures on `/api/v2`: `{message, detail, validations}` with the status of the code. */
export function apiFailure(failure: DomainError, facts: FailureFacts): Answered {
  const { detail, validations, retryAfter, upstream } = failure.facts;
  const status = upstream ? 502 : statusOf[failure.code];
  const body = {
    message: failure.message,
    detail: failure.code === "INTERNAL_SERVER_ERROR" ? `Request id ${facts.requestId}` : detail,
    validations: validations?.map(({ field, detail: rule }) => ({ field: facts.wireField?.(field) ?? field, detail: rule })),
  };
  const headers: Record<string, string> = { ...json };
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  const challenge = challengeOf(failure, facts);
  if (challenge) headers["WWW-Authenticate"] = challenge;
  return { status, headers, body: JSON.stringify(body) };
}

/** The challenge of RFC 6750 §3 with the metadata pointer of RFC 9728 §5.1. */
function challengeOf(failure: DomainError, { accessUrl, needs = [], challenged }: FailureFacts): string | undefined {
  if (failure.facts.requiredScopes) {
    return `Bearer error="insufficient_scope", scope="${failure.facts.requiredScopes.join(" ")}"`;
  }
  if (failure.code !== "UNAUTHENTICATED") return undefined;
  const parts = [`realm="steward"`];
  if (needs.length > 0) parts.push(`scope="${needs.join(" ")}"`);
  parts.push(`resource_metadata="${accessUrl}/.well-known/oauth-protected-resource"`);
  if (challenged) parts.push(`error="invalid_token"`);
  return `Bearer ${parts.join(", ")}`;
}
