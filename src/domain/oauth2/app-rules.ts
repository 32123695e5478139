import type { Config } from "../../runtime/config.js";
import { isScope, scopeCatalog } from "../authorization/authorization.js";
import { type Problems, quote } from "../kernel/errors.js";
import {
  bytes,
  check,
  choice,
  faultOf,
  flag,
  further,
  icon,
  inputOf,
  type Input,
  label,
  list,
  listOf,
  meant,
  optional,
  string,
  textBy,
  uuid,
} from "../kernel/values.js";
import { canonicalResource, mostResources, ownResources, resourceUri } from "./audiences.js";
import { type ClientRow, GrantType } from "./clients.js";
import { longestUri, mostUris, type RedirectRules, redirectUriProblem, redirectUrisProblems } from "./redirect-uris.js";
import { longestLabel } from "../../entities/lengths.js";

/** Names of applications, without white space around them. */
export const appName = further(label(longestLabel), (text) =>
  text === "" ? `Must be 1 to ${longestLabel} characters long.` : undefined,
);

/** The name of an application in inputs. White space around it does not count. */
export const givenAppName = meant(
  textBy((text) => faultOf(appName, text.trim()), { minLength: 1, maxLength: longestLabel }),
  { limits: `1 to ${longestLabel} characters` },
);

const uriText = bytes(0, longestUri);

/** The fields of an application that owners set. Absent ones keep their value. */
export const appFields = {
  icon: optional(icon, "URL of an icon: an http or https URL, a path on this server, or empty."),
  callbackUrl: optional(
    bytes(0, longestUri),
    "The first redirect URI, {limits}. Cannot be combined with `redirectUris`.",
  ),
  redirectUris: optional(
    list(mostUris, uriText),
    "All redirect URIs, {limits}: absolute, without fragment, user information and wildcards, with https, http, or a scheme of the application's own. One without a dot needs a host: `example://host/path`.",
  ),
  pkceRequired: optional(
    flag,
    "Whether authorization requires a code challenge (PKCE). Can be false only for applications of owners.",
  ),
  scopeCeiling: optional(
    list(scopeCatalog.length, string),
    "The widest scopes that the application can get; `all` for no limit.",
  ),
  grantTypes: optional(
    listOf(choice(GrantType)),
    "The ways in which the application may get tokens. Client credentials require a service account.",
  ),
  serviceUserId: optional(
    uuid,
    "ID of the service account that the application acts as with client credentials. Requires permission to create API tokens for it.",
  ),
  resourceIndicators: optional(
    list(mostResources, resourceUri),
    "URLs for which the application is the resource server (RFC 8707), {limits}, each for one application only.",
  ),
  defaultResource: optional(
    resourceUri,
    "URL that tokens are for if a request names no resource (RFC 8707): of this server, or a resource indicator of an application. Empty for none.",
  ),
  disabled: optional(
    flag,
    "Whether the application can neither get tokens nor use those that it has. Disabling ends its access tokens; refresh tokens work again when it is enabled.",
  ),
};
const namedFields = inputOf({ name: optional(givenAppName, "Name."), ...appFields });
export type AppFields = Input<typeof namedFields>;

/** The columns that owners set. */
export type AppSettings = Pick<
  ClientRow,
  | "name"
  | "icon"
  | "redirectUris"
  | "pkceRequired"
  | "scopeCeiling"
  | "grantTypes"
  | "serviceUserId"
  | "defaultResource"
  | "isDisabled"
>;

/** The settings of an application after a change. */
export function applyFields(before: AppSettings, fields: AppFields): AppSettings {
  const { callbackUrl } = fields;
  const uris = fields.redirectUris ?? (callbackUrl == null ? [] : [callbackUrl, ...before.redirectUris.slice(1)]);
  return {
    name: fields.name?.trim() ?? before.name,
    icon: fields.icon ?? before.icon,
    redirectUris: fields.redirectUris || callbackUrl != null ? [...new Set(uris)] : before.redirectUris,
    pkceRequired: fields.pkceRequired ?? before.pkceRequired,
    scopeCeiling: fields.scopeCeiling ? [...new Set(fields.scopeCeiling)] : before.scopeCeiling,
    grantTypes: fields.grantTypes ? [...new Set(fields.grantTypes)] : before.grantTypes,
    serviceUserId: fields.serviceUserId ?? before.serviceUserId,
    defaultResource:
      fields.defaultResource == null ? before.defaultResource : (canonicalResource(fields.defaultResource) ?? null),
    isDisabled: fields.disabled ?? before.isDisabled,
  };
}

/** Adds the faults of given fields of an application, and of what they result in. */
export function addProblems(
  problems: Problems,
  { kind, type }: Pick<ClientRow, "kind" | "type">,
  fields: AppFields,
  after: AppSettings,
  { oauth2RedirectSchemes: schemes }: Pick<Config, "oauth2RedirectSchemes">,
): void {
  const { name, icon: givenIcon } = fields;
  check(namedFields, { name, icon: givenIcon }, problems);
  const registrant = kind === "admin" ? "administrator" : "anybody";
  addRedirectProblems(problems, { registrant, schemes }, fields, after);
  const isPkceOptional = kind === "admin" && type === "confidential";
  if (!after.pkceRequired && !isPkceOptional)
    problems.add("pkceRequired", "Must be true for applications that are public or registered themselves.");
  if (fields.scopeCeiling) addScopeProblems(problems, fields.scopeCeiling);
  if (fields.grantTypes || fields.serviceUserId != null) addGrantTypeProblems(problems, type, after);
}

function addRedirectProblems(problems: Problems, rules: RedirectRules, fields: AppFields, after: AppSettings): void {
  const { callbackUrl, redirectUris } = fields;
  if (callbackUrl != null) {
    problems.add("callbackUrl", redirectUriProblem(callbackUrl, rules));
    if (redirectUris) problems.add("callbackUrl", "Cannot be combined with redirectUris.");
  }
  for (const [index, problem] of redirectUrisProblems(redirectUris ?? [], rules))
    problems.add(index === undefined ? "redirectUris" : `redirectUris[${index}]`, problem);
  if (after.redirectUris.length === 0 && after.grantTypes.includes(GrantType.AUTHORIZATION_CODE))
    problems.add("redirectUris", "Must have at least one URI, unless the authorization code grant is disabled.");
}

function addScopeProblems(problems: Problems, scopes: readonly string[]): void {
  const most = scopeCatalog.length;
  const isFew = scopes.length > 0 && scopes.length <= most;
  problems.add("scopeCeiling", isFew ? undefined : `Must name 1 to ${most} scopes.`);
  for (const [index, scope] of scopes.slice(0, most).entries())
    problems.add(`scopeCeiling[${index}]`, isScope(scope) ? undefined : `There is no scope ${quote(scope)}.`);
}

/** The grant types that a refresh token can follow, or that need none. */
const initial = [GrantType.AUTHORIZATION_CODE, GrantType.CLIENT_CREDENTIALS, GrantType.DEVICE_CODE];

function addGrantTypeProblems(
  problems: Problems,
  type: ClientRow["type"],
  { grantTypes, serviceUserId }: AppSettings,
): void {
  if (!initial.some((each) => grantTypes.includes(each)))
    problems.add("grantTypes", "Must have a type that begins a grant: refresh tokens only continue one.");
  if (!grantTypes.includes(GrantType.CLIENT_CREDENTIALS)) return;
  if (type === "public")
    problems.add("grantTypes", "Must not have client credentials: the application has no secrets.");
  if (serviceUserId === null) problems.add("serviceUserId", "Is required for the grant type of client credentials.");
}

/** Returns resource indicators in canonical form, in order, and adds their faults. */
export function readResources(problems: Problems, uris: readonly string[], config: Config): string[] {
  if (uris.length > mostResources) problems.add("resourceIndicators", `Must be at most ${mostResources} URIs.`);
  const read = uris.slice(0, mostResources).map((uri, index) => {
    const canonical = canonicalResource(uri);
    problems.add(`resourceIndicators[${index}]`, resourceProblem(canonical, config));
    return canonical ?? "";
  });
  return [...new Set(read)].sort();
}

function resourceProblem(canonical: string | undefined, config: Config): string | undefined {
  if (canonical === undefined)
    return "Must be an http or https URL of at most 2048 bytes without fragment and user information.";
  const isOurs = ownResources(config).some(
    (own) => canonical === own || canonical.startsWith(`${own}/`) || canonical.startsWith(`${own}?`),
  );
  return isOurs ? "Must not be a URL of this server." : undefined;
}
