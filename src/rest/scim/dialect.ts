import type { DomainError } from "../../domain/kernel/errors.js";
import { errorMessage } from "../../domain/scim/messages.js";
import { scimError } from "../../graphql/scim/failures.js";
import { readWhole } from "../../http/body.js";
import { scimHeader } from "../../http/credentials.js";
import { failureHeaders } from "../../http/challenge.js";
import { type HttpResponse, json } from "../../http/responses.js";
import { apiDialect, type Dialect, type FailureDetails } from "../engine/dialects.js";

const scimJson = { "Content-Type": "application/scim+json" };

/** Spells missing and wrong credentials as both dialects do: a client may not know which one it speaks. */
function unauthenticated(failure: DomainError, { requestId }: FailureDetails): HttpResponse {
  const body = { ...scimError(failure, requestId), message: failure.message };
  return {
    status: 401,
    headers: { ...scimJson, "WWW-Authenticate": 'Bearer realm="steward-scim"' },
    body: JSON.stringify(body),
  };
}

/** What both dialects of `/scim/v2` have in common. The operations check the keys and the depth of documents. */
const common = {
  mediaTypes: ["application/json", "application/scim+json"],
  configuredLimit: ({ scimMaxBody }) => scimMaxBody,
  surface: "scim",
  limitsRejections: true,
  readBody: readWhole,
} satisfies Partial<Dialect>;

/** The kinds of faults of the HTTP request, by status (RFC 7644 §3.12). */
const scimTypes: Readonly<Record<number, string>> = { 400: "invalidSyntax" };

/** The dialect of RFC 7644. */
export const scimDialect: Dialect = {
  ...common,
  failureName: "ScimFailure",
  headers: scimJson,
  failure(failure, details) {
    if (failure.code === "UNAUTHENTICATED") return unauthenticated(failure, details);
    const body = scimError(failure, details.requestId);
    return {
      status: Number(body.status),
      headers: { ...failureHeaders(failure, details), ...scimJson },
      body: JSON.stringify(body),
    };
  },
  transportFailure: ({ status, message, detail, headers }) => ({
    status,
    headers: { ...scimJson, ...headers },
    body: JSON.stringify(
      errorMessage({ status, scimType: scimTypes[status], detail: [message, detail].filter(Boolean).join(" ") }),
    ),
  }),
};

/** The dialect of the contract: the bodies and failures of `/api/v2`. */
export const contractDialect: Dialect = {
  ...common,
  failureName: "ProvisioningFailure",
  headers: json,
  headersFor: ({ headers: { accept = "" } }) => (accept.includes("application/scim+json") ? scimJson : json),
  failure: (failure, details) =>
    failure.code === "UNAUTHENTICATED" ? unauthenticated(failure, details) : apiDialect.failure(failure, details),
  transportFailure: (failure) => apiDialect.transportFailure(failure),
};

/** Whether a request has its credential in the header of the contract, which selects its dialect. */
export const speaksContract = ({ headers }: { headers: NodeJS.Dict<string | string[]> }): boolean =>
  Boolean(headers[scimHeader]);
