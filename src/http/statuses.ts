import type { DomainError, ErrorCode } from "../domain/kernel/errors.js";

const statuses: Record<ErrorCode, number> = {
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
};

/** The HTTP status of a failure. */
export const statusOf = ({ code, details }: DomainError): number =>
  details.upstream ? 502 : details.precondition ? 412 : details.tooLarge ? 413 : statuses[code];
