import { DomainError, type ErrorCode, Problems } from "../kernel/errors.js";
import { check } from "../kernel/values.js";

/** The error codes of the protocol, and the domain code of each. */
const codes = {
  // RFC 6749 §4.1.2.1, §5.2
  invalid_request: "BAD_USER_INPUT",
  invalid_client: "UNAUTHENTICATED",
  invalid_grant: "BAD_USER_INPUT",
  unauthorized_client: "FORBIDDEN",
  unsupported_grant_type: "BAD_USER_INPUT",
  unsupported_response_type: "BAD_USER_INPUT",
  invalid_scope: "BAD_USER_INPUT",
  access_denied: "FORBIDDEN",
  // RFC 8707 §2
  invalid_target: "BAD_USER_INPUT",
  // RFC 7591 §3.2.2
  invalid_redirect_uri: "BAD_USER_INPUT",
  invalid_client_metadata: "BAD_USER_INPUT",
  // RFC 6750 §3.1
  invalid_token: "UNAUTHENTICATED",
  // RFC 8628 §3.5
  authorization_pending: "BAD_USER_INPUT",
  slow_down: "BAD_USER_INPUT",
  expired_token: "BAD_USER_INPUT",
  // OpenID Connect Core §3.1.2.6, RFC 9101 §6.3
  request_not_supported: "BAD_USER_INPUT",
  request_uri_not_supported: "BAD_USER_INPUT",
} as const satisfies Record<string, ErrorCode>;

export type OAuthErrorCode = keyof typeof codes;

/** Returns a failure of the protocol. The description is for developers of applications and never contains secrets. */
export const oauthFailure = (oauthError: OAuthErrorCode, description: string): DomainError =>
  new DomainError(codes[oauthError], description, { oauthError });

/**
 * Throws `invalid_request` that names all of the parameters without a value (RFC 6749 §5.2), and with the input that declares
 * others also those of them that break the rules of their values.
 */
export function requireValues(
  values: Readonly<Record<string, string | null | undefined>>,
  declared: Parameters<typeof check>[0] = { shape: {} },
  others: Readonly<Record<string, unknown>> = {},
): void {
  const problems = new Problems();
  for (const field of Object.keys(values)) problems.add(field, values[field] ? undefined : "Is required.");
  check(declared, { ...values, ...others }, problems);
  if (problems.isEmpty) return;
  const validations = [...problems.found];
  throw new DomainError("BAD_USER_INPUT", "Validation failed.", { validations, oauthError: "invalid_request" });
}
