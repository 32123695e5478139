import type { Config } from "../../runtime/config.js";
import { isScope } from "../authorization/authorization.js";
import { DomainError, Problems, type Validation } from "../kernel/errors.js";
import { isDeeper } from "../../runtime/json.js";
import { cleanLabel, holdsStorableText } from "../../runtime/text.js";
import {
  bytes,
  faultOf,
  httpUrl,
  inputOf,
  type Input,
  isValid,
  jsonObject,
  knownText,
  list,
  listOf,
  oneOfTexts,
  optional,
  orEmpty,
  prose,
  string,
} from "../kernel/values.js";
import { appName } from "./app-rules.js";
import { AuthMethod, type ClientRow, GrantType } from "./clients.js";
import type { OAuthErrorCode } from "./oauth-errors.js";
import { longestUri, mostUris, type RedirectSchemes, redirectUrisProblems } from "./redirect-uris.js";
import { scopeProblem, scopeValue, splitScope } from "./requested-scopes.js";

const longestName = 64;
const longestLabel = 255;
const mostContacts = 32;
const largestKeySet = 16 * 1024;
const deepestKeySet = 8;

/** The descriptions of the metadata, in inputs and in responses. */
export const metadataTexts = {
  clientId: "ID of the client.",
  registrationAccessToken: "The registration access token of the client.",
  redirectUris:
    "Redirect URIs, at most 32: https, http with a loopback host, or a scheme of the client's own: with a dot, or with a host, as in `example://host/path`.",
  tokenEndpointAuthMethod:
    "How the client authenticates: `client_secret_basic`, `client_secret_post`, or `none` for public clients.",
  grantTypes: "Grant types: `authorization_code`, `refresh_token`, or `urn:ietf:params:oauth:grant-type:device_code`.",
  responseTypes: "Response types; only `code` is supported.",
  clientName: "Name that the consent page shows, cut to 64 characters.",
  clientUri: "URL of the home page.",
  logoUri: "URL of the logo, which is never loaded.",
  tosUri: "URL of the terms of service.",
  policyUri: "URL of the privacy policy.",
  jwksUri: "URL of the public keys. It is stored but not used.",
  scope: "Scopes of requests that name none, separated by spaces. Unknown ones are dropped.",
  contacts: "Contacts of the people responsible, at most 32.",
  jwks: "Public keys as a JWK Set of 16 KiB or less. They are stored but not used.",
  softwareId: "ID of the software, at most 255 characters.",
  softwareVersion: "Version of the software, at most 255 characters.",
  applicationType:
    "`web` or `native` (OpenID Connect Dynamic Client Registration 1.0). It is stored, and restricts nothing.",
};

/** Grant types for applications that no administrator has checked. */
const grantTypes: readonly string[] = [GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN, GrantType.DEVICE_CODE];
const authMethods: readonly string[] = Object.values(AuthMethod);

const texts = metadataTexts;
const page = orEmpty(httpUrl);

/**
 * The metadata of an application (RFC 7591 §2), from a registration or a metadata document. Null and empty values
 * count as absent.
 */
export const ClientMetadata = inputOf({
  redirectUris: optional(
    list(mostUris, bytes(0, longestUri)),
    `${texts.redirectUris} Required for the grant type \`authorization_code\`.`,
  ),
  tokenEndpointAuthMethod: optional(
    oneOfTexts(authMethods),
    `${texts.tokenEndpointAuthMethod} Default: the first, but the others that use the secret are accepted, too.`,
  ),
  grantTypes: optional(listOf(knownText(grantTypes)), `${texts.grantTypes} Default: the first two.`),
  responseTypes: optional(listOf(knownText(["code"])), texts.responseTypes),
  clientName: optional(string, `${texts.clientName} Default: the host of the home page or of the first redirect URI.`),
  clientUri: optional(page, texts.clientUri),
  logoUri: optional(page, texts.logoUri),
  tosUri: optional(page, texts.tosUri),
  policyUri: optional(page, texts.policyUri),
  jwksUri: optional(page, texts.jwksUri),
  scope: optional(scopeValue, `${texts.scope} Default: those for all clients.`),
  contacts: optional(list(mostContacts, prose(254)), texts.contacts),
  jwks: optional(jsonObject, texts.jwks),
  softwareId: optional(prose(longestLabel), texts.softwareId),
  softwareVersion: optional(prose(longestLabel), texts.softwareVersion),
  // Recorded only: real applications register types that do not fit their redirect URIs.
  applicationType: optional(string, texts.applicationType),
  // No issuer of statements is trusted.
  softwareStatement: optional(string, "A signed statement about the software. It is ignored."),
});
export type ClientMetadata = Input<typeof ClientMetadata>;

/** The columns of an application that its metadata decides. */
export interface ClientProfile extends Pick<ClientRow, "type" | "name" | "redirectUris" | "grantTypes" | "metadata"> {
  /** Null if it registered none. */
  authMethod: AuthMethod | null;
  scopeCeiling: string[];
}

const uris = ["clientUri", "logoUri", "tosUri", "policyUri", "jwksUri"] as const;
const labels = ["softwareId", "softwareVersion"] as const;

type Configured = Pick<Config, "oauth2DynamicScopes" | "oauth2RedirectSchemes">;

/** Whether each entry of a list is valid. Ends at the first that is not: strangers send lists of many thousands. */
const areValid = (rule: Parameters<typeof isValid>[0], entries: readonly string[]): boolean =>
  [...new Set(entries)].every((entry) => isValid(rule, [entry]));

/**
 * Checks the metadata of an application, and adds defaults. Without an authentication method, it is public if `otherwise`
 * is `none`, and else it may send its secret in any way. Throws `invalid_redirect_uri` or `invalid_client_metadata` with every fault (RFC 7591 §3.2.2), after
 * those in `faults`.
 */
export function profileOf(
  given: ClientMetadata,
  { oauth2DynamicScopes, oauth2RedirectSchemes }: Configured,
  otherwise: "none" | null = null,
  faults: readonly Validation[] = [],
): ClientProfile {
  const problems = new Problems();
  const grants = listOr([GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN], given.grantTypes);
  const usesRedirects = grants.includes(GrantType.AUTHORIZATION_CODE);
  const redirectUris = given.redirectUris ?? [];
  addRedirectProblems(problems, redirectUris, usesRedirects, oauth2RedirectSchemes);
  const hasWrongRedirects = !problems.isEmpty;
  for (const { field, detail } of faults) problems.add(field, detail);

  const authMethod = given.tokenEndpointAuthMethod || otherwise;
  if (authMethod !== null && !authMethods.includes(authMethod))
    problems.add("tokenEndpointAuthMethod", `Must be one of: ${authMethods.join(", ")}.`);
  const { grantTypes: grantTypesRule, responseTypes } = ClientMetadata.shape;
  if (!areValid(grantTypesRule, grants)) problems.add("grantTypes", `Each must be one of: ${grantTypes.join(", ")}.`);
  else if (grants.every((grant) => grant === GrantType.REFRESH_TOKEN))
    problems.add("grantTypes", `Must have ${GrantType.AUTHORIZATION_CODE} or ${GrantType.DEVICE_CODE}.`);
  if (!areValid(responseTypes, given.responseTypes ?? [])) problems.add("responseTypes", `Each must be "code".`);
  const name = nameOf(given);
  problems.add("clientName", faultOf(appName, name));
  addDescriptionProblems(problems, given);
  if (!problems.isEmpty) throw metadataFailure(problems, hasWrongRedirects);

  const scopes = given.scope ? scopesOf(given.scope) : undefined;
  return {
    type: authMethod === "none" ? "public" : "confidential",
    name,
    redirectUris,
    authMethod: authMethod as AuthMethod | null,
    grantTypes: grants,
    scopeCeiling: [...new Set([...(scopes ?? []), ...oauth2DynamicScopes])],
    metadata: { ...descriptionOf(given), ...(scopes && { scope: scopes.join(" ") }) },
  };
}

/** The failure of a registration with these faults. */
function metadataFailure(problems: Problems, hasWrongRedirects: boolean): DomainError {
  const oauthError: OAuthErrorCode = hasWrongRedirects ? "invalid_redirect_uri" : "invalid_client_metadata";
  const message = hasWrongRedirects
    ? "The redirect URIs are invalid."
    : "The metadata of the application has invalid values.";
  return new DomainError("BAD_USER_INPUT", message, { oauthError, validations: [...problems.found] });
}

function addRedirectProblems(
  problems: Problems,
  redirectUris: readonly string[],
  isRequired: boolean,
  schemes: RedirectSchemes,
): void {
  if (isRequired && redirectUris.length === 0) problems.add("redirectUris", "Is required.");
  for (const [index, problem] of redirectUrisProblems(redirectUris, { registrant: "anybody", schemes }))
    problems.add(index === undefined ? "redirectUris" : `redirectUris[${index}]`, problem);
}

function addDescriptionProblems(problems: Problems, given: ClientMetadata): void {
  for (const field of uris) if (given[field]) problems.add(field, faultOf(httpUrl, given[field]));
  problems.add("scope", scopeProblem(given.scope ?? ""));
  const contacts = given.contacts ?? [];
  if (contacts.length > mostContacts) problems.add("contacts", `Must be at most ${mostContacts} contacts.`);
  for (const [index, contact] of contacts.slice(0, mostContacts).entries())
    problems.add(`contacts[${index}]`, faultOf(prose(254), contact));
  for (const field of labels) problems.add(field, faultOf(prose(longestLabel), given[field] ?? ""));
  // RFC 7591 §2.
  if (given.jwks && given.jwksUri) problems.add("jwks", "Must not be given together with a URI of the keys.");
  if (given.jwks) problems.add("jwks", keySetProblem(given.jwks));
}

function keySetProblem(jwks: Record<string, unknown>): string | undefined {
  if (isDeeper(jwks, deepestKeySet)) return `Must be nested at most ${deepestKeySet} levels deep.`;
  if (JSON.stringify(jwks).length > largestKeySet) return `Must be at most ${largestKeySet / 1024} KiB of JSON.`;
  return holdsStorableText(jwks) ? undefined : "Must be valid Unicode without NUL characters.";
}

/** The members that are stored and returned, but not used. */
function descriptionOf(given: ClientMetadata): Record<string, unknown> {
  const fields = [...uris, ...labels, "contacts", "jwks"] as const;
  const described = Object.fromEntries(
    fields.flatMap((field) => (given[field] ? [[field, shownOf(given[field])]] : [])),
  );
  const { applicationType } = given;
  const isRecorded = applicationType && isValid(prose(longestLabel), applicationType);
  return isRecorded ? { ...described, applicationType } : described;
}

/** Texts as labels; other values, and lists of texts, likewise. */
const shownOf = <Value>(value: Value): Value | string | string[] => {
  if (typeof value === "string") return cleanLabel(value, value.length);
  return Array.isArray(value) ? value.map((each) => cleanLabel(String(each), String(each).length)) : value;
};

/** The known scopes of a registration. If there are none, it is for the least. */
function scopesOf(scope: string): string[] {
  const known = splitScope(scope).filter(isScope);
  return known.length > 0 ? known : ["user:read"];
}

const listOr = (otherwise: string[], given: string[] | null | undefined): string[] =>
  given && given.length > 0 ? [...new Set(given)] : otherwise;

/** The given name, cut to the maximum length; otherwise the host of the application or of its first redirect URI. */
function nameOf({ clientName, clientUri, redirectUris }: ClientMetadata): string {
  const name = cleanLabel(clientName ?? "", longestName) || hostOf(clientUri) || hostOf(redirectUris?.[0]) || "Unnamed";
  return cleanLabel(name, longestName);
}

/** The host of a URI, or its scheme if that is private to the application. */
function hostOf(uri: string | null | undefined): string {
  const url = URL.parse(uri ?? "");
  return url ? url.hostname || url.protocol.slice(0, -1) : "";
}
