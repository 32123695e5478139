import type { DomainError } from "../../domain/kernel/errors.js";
import { type Answered, json } from "../../http/answers.js";
import { type ChallengeFacts, challengeOf } from "../../http/challenge.js";
import { statusOf } from "../../http/statuses.js";

export interface FailureFacts extends ChallengeFacts {
  requestId: string;
  /** Spells a field as the caller wrote it. */
  wireField?(field: string): string;
}

/** Failures on `/api/v2`: `{message, detail, validations}` with the status of the code. */
export function apiFailure(failure: DomainError, facts: FailureFacts): Answered {
  const { detail, validations, retryAfter } = failure.facts;
  const body = {
    message: failure.message,
    detail: failure.code === "INTERNAL_SERVER_ERROR" ? `Request id ${facts.requestId}` : detail,
    validations: validations?.map(({ field, detail: rule }) => ({
      field: facts.wireField?.(field) ?? field,
      detail: rule,
    })),
  };
  const headers: Record<string, string> = { ...json };
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  const challenge = challengeOf(failure, facts);
  if (challenge) headers["WWW-Authenticate"] = challenge;
  return { status: statusOf(failure), headers, body: JSON.stringify(body) };
}
