import { DomainError } from "../../domain/kernel/errors.js";
import type { OAuthErrorCode } from "../../domain/oauth2/oauth-errors.js";
import { readBody } from "../../http/body.js";
import { area, type RowOptions } from "../engine/area.js";
import type { Dialect } from "../engine/dialects.js";
import { oauthDialect, withoutEmpty } from "./dialect.js";

/** The dialect of registrations: metadata is JSON (RFC 7591 §3.1), and its faults have codes of their own (§3.2.2). */
const registrationDialect: Dialect = {
  ...oauthDialect,
  bearer: "registration_access_token",
  repeatsPath: true,

  async readBody(request, limit) {
    const sent = await readBody(request, limit);
    return sent && withoutEmpty(sent);
  },

  fail: (http, failure, details) =>
    oauthDialect.fail(http, failure instanceof DomainError ? asFaultOfMetadata(failure) : failure, details),
};

function asFaultOfMetadata({ code, message, details }: DomainError): DomainError {
  const { validations = [] } = details;
  if (validations.length === 0) return new DomainError(code, message, details);
  const isAboutRedirects = validations.some(({ field }) => /^redirect_?uris/i.test(field));
  const oauthError: OAuthErrorCode = isAboutRedirects ? "invalid_redirect_uri" : "invalid_client_metadata";
  return new DomainError(code, message, { oauthError, ...details });
}

const byToken: RowOptions = {
  failures: { 401: "The registration access token is missing, or it is not that of the client." },
};
const example = {
  client_name: "Night Watch",
  redirect_uris: ["https://watch.example.com/callback"],
  token_endpoint_auth_method: "none",
};

// oxfmt-ignore
export default area("oauth2/registration", "Applications that register themselves as OAuth2 clients.", [
  ["POST",   "/oauth2/register",           "RegisterClient", 201, { example, failures: { 403: "Clients may not register themselves." } }],
  ["GET",    "/oauth2/clients/:client_id", "GetClient",      200, byToken],
  ["PUT",    "/oauth2/clients/:client_id", "UpdateClient",   200, { ...byToken, example }],
  ["DELETE", "/oauth2/clients/:client_id", "DeleteClient",   204, byToken],
], registrationDialect);
