import { DomainError } from "../../domain/kernel/errors.js";
import { errorMessage } from "../../domain/scim/scim-messages.js";
import { scimError } from "../../graphql/scim/scim-failures.js";
import { readWhole } from "../../http/body.js";
import { scimHeader } from "../../http/credentials.js";
import { failureHeaders, type TransportError } from "../../http/errors.js";
import type { Http } from "../../http/exchange.js";
import { apiDialect, type Dialect } from "../engine/dialects.js";

const scimJson = "application/scim+json";

/** The common part of both dialects of `/scim/v2`. The operations check the keys and the depth of documents. */
const common = {
  mediaTypes: ["application/json", scimJson],
  bodyLimit: ({ scimMaxBody }) => scimMaxBody,
  surface: "scim",
  limitsRejections: true,
  takesTrailingSlash: true,
  keepsEmpty: ["cursor"],
  readBody: readWhole,
} satisfies Partial<Dialect>;

/** The dialect of RFC 7644. */
export const scimDialect: Dialect = {
  ...common,
  failureName: "ScimFailure",
  contentType: () => scimJson,
  fail(http, failure, details) {
    if (isUnauthenticated(failure)) return failUnauthenticated(http, failure);
    const body = failure instanceof DomainError ? scimError(failure, http.state.details.id) : transportError(failure);
    http.status = Number(body.status);
    http.set({ ...failureHeaders(failure, details), "Content-Type": scimJson });
    http.body = body;
  },
};

/** The dialect of the contract: the bodies and failures of `/api/v2`. */
export const contractDialect: Dialect = {
  ...common,
  failureName: "ProvisioningFailure",
  // The header of the contract selects the dialect.
  serves: ({ headers }) => Boolean(headers[scimHeader]),
  contentType: (request) => (request.headers.accept?.includes(scimJson) ? scimJson : apiDialect.contentType(request)),
  fail(http, failure, details) {
    if (isUnauthenticated(failure)) failUnauthenticated(http, failure);
    else apiDialect.fail(http, failure, details);
  },
};

/** The error for a fault of the HTTP request, with its kind (RFC 7644 §3.12). */
const transportError = ({ status, message, detail }: TransportError) =>
  errorMessage({
    status,
    scimType: status === 400 ? "invalidSyntax" : undefined,
    detail: [message, detail].filter(Boolean).join(" "),
  });

const isUnauthenticated = (failure: DomainError | TransportError): failure is DomainError =>
  failure instanceof DomainError && failure.code === "UNAUTHENTICATED";

/** Spells missing and wrong credentials as both dialects do: a client may not know which one it speaks. */
function failUnauthenticated(http: Http, failure: DomainError): void {
  http.status = 401;
  http.set({ "Content-Type": scimJson, "WWW-Authenticate": 'Bearer realm="steward-scim"' });
  http.body = { ...scimError(failure, http.state.details.id), message: failure.message };
}
