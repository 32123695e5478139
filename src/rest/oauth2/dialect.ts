import type { IncomingMessage } from "node:http";
import { oauthFailure } from "../../domain/oauth2/oauth-errors.js";
import { DomainError, type ErrorCode } from "../../domain/kernel/errors.js";
import { formType, isForm, jsonType, readBody, readForm } from "../../http/body.js";
import { failureHeaders, statusOf, TransportError } from "../../http/errors.js";
import type { Http } from "../../http/exchange.js";
import { apiDialect, detailOf, type Dialect, type FailureDetails } from "../engine/dialects.js";

/**
 * The dialect of `/oauth2` (RFC 6749): parameters as a form or as JSON, the application's credentials in the body or in
 * `Authorization: Basic`, and failures as `{error, error_description}`.
 */
export const oauthDialect: Dialect = {
  failureName: "OAuth2Failure",
  contentType: apiDialect.contentType,
  derived: ["client_auth_method"],
  bodyLimit: () => 64 * 1024,

  async readBody(request, limit) {
    const sent = isForm(request)
      ? fromForm(await readForm(request, limit))
      : withoutEmpty((await readBody(request, limit, `${formType}, ${jsonType}`)) ?? {});
    return withClient(request, sent);
  },

  fail(http, failure, details) {
    const error = errorOf(failure);
    // RFC 6749 §5.2: only failed authentication has a status of its own.
    http.status = error === "unauthorized_client" ? 400 : statusOf(failure);
    http.set({ ...failureHeaders(failure, details), ...(error === "invalid_client" && basicChallenge) });
    http.body = { error, error_description: descriptionOf(http, failure, details) };
  },
};

const basicChallenge = { "WWW-Authenticate": 'Basic realm="steward"' };

/** The error codes of failures that are not specific to the protocol. */
const errors: Record<ErrorCode, string> = {
  BAD_USER_INPUT: "invalid_request",
  UNAUTHENTICATED: "invalid_token",
  FORBIDDEN: "access_denied",
  STEP_UP_REQUIRED: "access_denied",
  NOT_FOUND: "invalid_request",
  CONFLICT: "invalid_request",
  RATE_LIMITED: "temporarily_unavailable",
  UNAVAILABLE: "temporarily_unavailable",
  INTERNAL_SERVER_ERROR: "server_error",
};

/** Those of faults of the HTTP request, by status. */
const transportErrors: Record<number, string> = { 503: "temporarily_unavailable" };

function errorOf(failure: DomainError | TransportError): string {
  if (failure instanceof TransportError) return transportErrors[failure.status] ?? "invalid_request";
  const { oauthError, requiredScopes } = failure.details;
  return oauthError ?? (requiredScopes ? "insufficient_scope" : errors[failure.code]);
}

function descriptionOf(http: Http, failure: DomainError | TransportError, { wireField }: FailureDetails): string {
  const { validations = [] } = failure instanceof DomainError ? failure.details : {};
  const faults = validations.map(({ field, detail }) => `${wireField(field)}: ${detail}`);
  return asDescription([failure.message, detailOf(http, failure), ...faults].filter(Boolean).join(" "));
}

/** RFC 6749 §5.2: printable ASCII without quotation marks and backslashes. */
const asDescription = (text: string) => text.replaceAll('"', "'").replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?");

/** Parameters may not be repeated (RFC 6749 §3.2), except for `resource` (RFC 8707 §2). */
function fromForm(form: URLSearchParams): Record<string, unknown> {
  const sent: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of form) {
    if (value === "") continue;
    if (name === "resource") ((sent[name] ??= []) as string[]).push(value);
    else if (name in sent) throw oauthFailure("invalid_request", `The parameter ${name.slice(0, 64)} is repeated.`);
    else sent[name] = value;
  }
  return sent;
}

/** Parameters without a value count as absent (RFC 6749 §3.2). */
export function withoutEmpty(sent: Record<string, unknown>): Record<string, unknown> {
  for (const name in sent) if (sent[name] === "") delete sent[name];
  if (typeof sent.resource === "string") sent.resource = [sent.resource];
  return sent;
}

/** Adds the credentials of the application, and how they were sent, as `client_auth_method` (RFC 6749 §2.3.1). */
function withClient({ headers: { authorization = "" } }: IncomingMessage, sent: Record<string, unknown>) {
  const [isBasic, encoded = ""] = /^basic(?:\s+(.*))?$/i.exec(authorization) ?? [];
  if (isBasic === undefined) {
    // A parameter of this name is none of the protocol.
    delete sent.client_auth_method;
    if ("client_secret" in sent) sent.client_auth_method = "client_secret_post";
    return sent;
  }
  const [id, secret] = basicCredentials(encoded);
  if ((sent.client_id ?? id) !== id || (sent.client_secret ?? secret) !== secret)
    throw oauthFailure("invalid_request", "The credentials in the header and in the body differ.");
  return Object.assign(sent, { client_id: id, client_secret: secret, client_auth_method: "client_secret_basic" });
}

/** Decodes id and secret, each of which is form-encoded before base64. Throws `invalid_client` for a malformed header. */
function basicCredentials(encoded: string): [id: string, secret: string] {
  const text = /^[a-z0-9+/]+={0,2}$/i.test(encoded) ? Buffer.from(encoded, "base64").toString() : "";
  const [, id, secret] = /^([^:]+):(.*)$/s.exec(text) ?? [];
  if (id === undefined || secret === undefined) throw malformedCredentials();
  try {
    return [formDecoded(id), formDecoded(secret)];
  } catch {
    throw malformedCredentials();
  }
}

const malformedCredentials = () => oauthFailure("invalid_client", "The Authorization header is malformed.");

const formDecoded = (text: string) => (/[%+]/.test(text) ? decodeURIComponent(text.replaceAll("+", " ")) : text);
