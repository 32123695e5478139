import { sql } from "kysely";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError, quote } from "../kernel/errors.js";
import type { ClientRow } from "./clients.js";
import { findClient } from "./client-documents.js";
import {
  type AccessRequest,
  denyAccess,
  grantAccess,
  type PresentedRequest,
  presentRequest,
  unknownApp,
} from "./consent.js";
import { audiencesOf } from "./default-resources.js";
import { oauthFailure } from "./oauth-errors.js";
import { hasGrant } from "./grants.js";
import { checkCodeChallenge, codeChallengeValue } from "./pkce.js";
import {
  isRegistered,
  longestUri,
  redirectTarget,
  type RedirectTarget,
  redirectUriProblem,
  withParameters,
} from "./redirect-uris.js";
import { requestedScopes, scopeValue } from "./requested-scopes.js";
import { newSecret } from "./secrets.js";
import { requireOAuth2 } from "./oauth2-settings.js";
import { resourceList } from "./audiences.js";
import { clientReference } from "./client-authentication.js";
import { bytes, inputOf, type Input, listOf, oneOfTexts, optional, required, string } from "../kernel/values.js";

/** Maximum length of `state` in bytes. */
const longestState = 4096;

/** The parameters of an authorization request. Empty ones count as absent (RFC 6749 §3.1). */
export const AuthorizationParameters = inputOf({
  // RFC 6749 §4.1.1
  responseType: optional(oneOfTexts(["code"]), "Required: `code`; implicit grants (`token`) are not supported."),
  clientId: required(clientReference, "The application: its ID, or the URL of its metadata document."),
  redirectUri: optional(
    bytes(0, longestUri),
    "A registered redirect URI; optional if there is only one. The port of loopback addresses is free.",
  ),
  scope: optional(scopeValue, "Scopes, separated by spaces. Default: those that the application registered."),
  state: optional(
    bytes(0, longestState),
    "A random text that is returned unchanged, {limits}. Required without `codeChallenge`.",
  ),
  // RFC 7636 §4.3
  codeChallenge: optional(
    codeChallengeValue,
    "SHA-256 of the code verifier in base64url (RFC 7636). Required for most applications.",
  ),
  codeChallengeMethod: optional(oneOfTexts(["S256"]), "`S256`. Required with `codeChallenge`."),
  // RFC 8707 §2.1
  resource: optional(
    resourceList,
    "URIs of the resources that access is for (RFC 8707), {limits}. Default: the default resource of the application or of the deployment, else the whole of this server.",
  ),
  // OAuth 2.0 Multiple Response Type Encoding Practices §2.1
  responseMode: optional(oneOfTexts(["query"]), "`query`, which is the default."),
  // RFC 9101 §5
  request: optional(string, "Request objects (RFC 9101) are not supported."),
  requestUri: optional(string, "References to request objects are not supported."),
  // Those have no value (RFC 6749 §3.1).
  repeatedParameters: optional(
    listOf(string),
    "Names of protocol parameters, other than `resource`, that were sent more than once; the request then fails. For REST requests, the server sets this field.",
  ),
});
export type AuthorizationParameters = Input<typeof AuthorizationParameters>;

/** An authorization request as it is presented to the user. */
export interface AuthorizationRequest extends PresentedRequest {
  /** Where the result goes. */
  redirectUri: string;
  redirectTarget: RedirectTarget;
}

/** The parameters that were sent. */
type Given = { [Name in keyof AuthorizationParameters]?: NonNullable<AuthorizationParameters[Name]> };

/** A request of a known application, whose redirect URI is registered. */
interface Identified {
  given: Given;
  client: ClientRow;
  redirectUri: string;
}

/** A request that the user can allow. */
type Checked = Identified & AccessRequest;

/**
 * The rules of authorization requests, in the order of their failures. The redirect URI is known to be the application's
 * by then.
 */
const rules: ReadonlyArray<(request: Identified) => void> = [
  rejectRepeated, // RFC 6749 §3.1
  rejectRequestObjects, // RFC 9101 §6.3
  requireCodeResponse, // RFC 6749 §3.1.1
  requireQueryResponse, // OAuth 2.0 Multiple Response Type Encoding Practices §2.1
  requireGrantType, // RFC 6749 §4.1.2.1, RFC 7591 §2
  limitState, // RFC 6749 §4.1.1
  requireProtection, // RFC 6749 §10.12, RFC 9700 §2.1.1
  checkCodeChallenge, // RFC 7636 §4.3, RFC 9700 §4.8.2
];

function rejectRepeated({ given: { repeatedParameters = [] } }: Identified): void {
  if (repeatedParameters.length > 0)
    throw oauthFailure("invalid_request", `These parameters must be given once: ${repeatedParameters.join(", ")}.`);
}

function rejectRequestObjects({ given }: Identified): void {
  if (given.request !== undefined) throw oauthFailure("request_not_supported", "Request objects are not supported.");
  if (given.requestUri !== undefined)
    throw oauthFailure("request_uri_not_supported", "References to request objects are not supported.");
}

function requireCodeResponse({ given: { responseType } }: Identified): void {
  if (responseType === undefined) throw oauthFailure("invalid_request", "response_type is required.");
  if (responseType !== "code")
    throw oauthFailure("unsupported_response_type", "The only supported response_type is code.");
}

function requireQueryResponse({ given: { responseMode = "query" } }: Identified): void {
  if (responseMode !== "query") throw oauthFailure("invalid_request", "The only supported response_mode is query.");
}

function requireGrantType({ client }: Identified): void {
  if (!client.grantTypes.includes("authorization_code"))
    throw oauthFailure("unauthorized_client", "The application may not use authorization codes.");
}

function limitState({ given: { state = "" } }: Identified): void {
  if (Buffer.byteLength(state) > longestState)
    throw oauthFailure("invalid_request", `state must be at most ${longestState} bytes long.`);
}

function requireProtection({ given: { state, codeChallenge }, client }: Identified): void {
  if (codeChallenge !== undefined) return;
  if (client.pkceRequired) throw oauthFailure("invalid_request", "code_challenge is required for this application.");
  if (state === undefined) throw oauthFailure("invalid_request", "state or code_challenge is required.");
}

/**
 * Reads an authorization request for the user who decides on it. Failures are protocol failures; `redirectUri` in their
 * details is set if the application gets to know them. It never leads to an unregistered URI, nor to an application that
 * neither an administrator nor the user has chosen.
 */
export async function readAuthorizationRequest(
  ctx: Context,
  parameters: AuthorizationParameters,
): Promise<AuthorizationRequest> {
  const request = await check(ctx, parameters);
  const { redirectUri } = request;
  return { ...presentRequest(request), redirectUri, redirectTarget: redirectTarget(redirectUri) };
}

/** Allows a request. Returns the redirect URI with an authorization code (RFC 6749 §4.1.2). */
export async function approveAuthorization(ctx: Context, parameters: AuthorizationParameters): Promise<string> {
  const request = await check(ctx, parameters);
  const grantId = await grantAccess(ctx, request, ctx.config.oauth2CodeTtl);
  return responseUri(ctx, request, { code: await issueCode(ctx, grantId, request) });
}

/** Issues the authorization code of a grant, with which it expires. Returns its text, which is not stored. */
async function issueCode({ db }: Context, grantId: string, { redirectUri, given }: Checked): Promise<string> {
  const { id, text, secretHash } = newSecret("code");
  const expiresAt = db.selectFrom("oauth2Grants").where("id", "=", grantId).select("expiresAt");
  await db
    .insertInto("oauth2Codes")
    .values({
      id,
      secretHash,
      grantId,
      redirectUri,
      codeChallenge: given.codeChallenge ?? null,
      state: "issued",
      expiresAt,
    })
    .execute();
  return text;
}

/** The outcome of a denial. */
export interface Denial {
  appName: string;
  /** Where to redirect the user; null if the application does not get to know the decision. */
  redirectUri: string | null;
}

/**
 * Denies a request. The redirect URI has the error `access_denied` (RFC 6749 §4.1.2.1). Links with private schemes open
 * whichever program claims them: those of an application that the user does not trust are not followed after a denial.
 */
export async function denyAuthorization(ctx: Context, parameters: AuthorizationParameters): Promise<Denial> {
  const request = await check(ctx, parameters);
  denyAccess(ctx, request);
  const { client, redirectUri } = request;
  const appName = client.name;
  const isFollowed = redirectTarget(redirectUri).kind !== "private_scheme" || (await isTrusted(ctx, client));
  if (!isFollowed) return { appName, redirectUri: null };
  const response = { error: "access_denied", error_description: "The user denied the request." };
  return { appName, redirectUri: responseUri(ctx, request, response) };
}

async function check(ctx: Context, parameters: AuthorizationParameters): Promise<Checked> {
  requireOAuth2(ctx);
  requireUser(ctx.actor);
  const request = await identify(ctx, withoutEmpty(parameters));
  try {
    for (const rule of rules) rule(request);
    const { client, given } = request;
    const audiences = await audiencesOf(ctx, client, given.resource);
    return { ...request, ...requestedScopes({ client, audiences }, given.scope, ctx.config), audiences };
  } catch (error) {
    throw await reportToClient(ctx, request, error);
  }
}

const withoutEmpty = (parameters: AuthorizationParameters): Given =>
  Object.fromEntries(Object.entries(parameters).filter(([, value]) => value != null && value !== ""));

/** Finds the application and where to send the result. Its failures are for the user alone (RFC 6749 §4.1.2.1). */
async function identify(ctx: Context, given: Given): Promise<Identified> {
  const repeated = given.repeatedParameters?.find((name) => name === "client_id" || name === "redirect_uri");
  if (repeated !== undefined) throw oauthFailure("invalid_request", `${repeated} must be given once.`);
  if (given.clientId === undefined) throw oauthFailure("invalid_request", "client_id is required.");
  const client = await findClient(ctx, given.clientId);
  if (!client || client.isDisabled) throw unknownApp();
  const { redirectUris } = client;
  const redirectUri = given.redirectUri ?? (redirectUris.length === 1 ? redirectUris[0] : undefined);
  if (redirectUri === undefined)
    throw oauthFailure("invalid_request", "redirect_uri is required for this application.");
  // RFC 6749 §3.1.2.3, RFC 8252 §7.3, RFC 9700 §2.1
  if (!isRegistered(redirectUris, redirectUri))
    throw oauthFailure("invalid_request", "The redirect_uri is not registered for this application.");
  // It may have been registered before the rules were tightened.
  const schemes = ctx.config.oauth2RedirectSchemes;
  if (client.kind !== "admin" && redirectUriProblem(redirectUri, { registrant: "anybody", schemes }) !== undefined)
    throw oauthFailure("invalid_request", "The redirect_uri is not permitted.");
  return { given, client, redirectUri };
}

/** Whether an administrator or the user has chosen an application: anyone can register one that redirects anywhere. */
async function isTrusted({ actor, db }: Context, { id, kind }: ClientRow): Promise<boolean> {
  if (kind === "admin") return true;
  const isGranted = hasGrant(requireUser(actor).userId, sql`${id}`);
  return (await db.selectNoFrom(isGranted.as("isGranted")).executeTakeFirstOrThrow()).isGranted;
}

/**
 * The report of a protocol failure: to a trusted application, by the URI to redirect to, otherwise to the user alone
 * (RFC 9700 §4.11.2). Returns other errors unchanged.
 */
async function reportToClient(ctx: Context, request: Identified, error: unknown): Promise<unknown> {
  if (!(error instanceof DomainError) || error.details.oauthError === undefined) return error;
  const { code, message, details } = error;
  const { client, redirectUri } = request;
  if (await isTrusted(ctx, client)) {
    const response = { error: details.oauthError, error_description: message };
    return new DomainError(code, message, { ...details, redirectUri: responseUri(ctx, request, response) });
  }
  const detail = `The application ${quote(client.name)} sent a faulty request. You were not redirected to ${redirectTarget(redirectUri).name}, because you have not given the application access.`;
  return new DomainError("BAD_USER_INPUT", message, { ...details, detail });
}

/** The redirect URI with a response, the state of the request, and the issuer (RFC 9207 §2). */
const responseUri = (ctx: Context, { redirectUri, given }: Identified, response: Record<string, string | undefined>) =>
  withParameters(redirectUri, { ...response, state: given.state, iss: ctx.config.accessUrl });
