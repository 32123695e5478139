import type { DomainError } from "../../domain/kernel/errors.js";
import type { HttpResponse } from "../../http/responses.js";
import { type ChallengeDetails, failureHeaders } from "../../http/challenge.js";
import { statusOf } from "../../http/statuses.js";

export interface FailureDetails extends ChallengeDetails {
  requestId: string;
  /** Spells a field as the caller wrote it. */
  wireField?(field: string): string;
}

/** Failures on `/api/v2`: `{message, detail, validations}` with the status of the code. */
export function apiFailure(failure: DomainError, details: FailureDetails): HttpResponse {
  const { detail, validations } = failure.details;
  const body = {
    message: failure.message,
    detail: failure.code === "INTERNAL_SERVER_ERROR" ? `Request id ${details.requestId}` : detail,
    validations: validations?.map(({ field, detail: rule }) => ({
      field: details.wireField?.(field) ?? field,
      detail: rule,
    })),
  };
  return { status: statusOf(failure), headers: failureHeaders(failure, details), body: JSON.stringify(body) };
}
