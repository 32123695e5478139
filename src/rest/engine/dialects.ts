import type { DomainError, ErrorCode } from "../../domain/errors.js";
import { type Answered, json } from "../../http/answers.js";
import { type ChallengeFacts, challengeOf } from "../../http/challenge.js";

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

export interface FailureFacts extends ChallengeFacts {
  requestId: string;
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
