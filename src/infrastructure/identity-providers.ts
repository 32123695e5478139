import type { Logger } from "pino";
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretPost,
  Configuration,
  customFetch,
  fetchProtectedResource,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  ResponseBodyError,
} from "openid-client";
import type { Config } from "../runtime/config.js";
import { DomainError, forbidden } from "../runtime/errors.js";
import { outsideFetch } from "./http.js";
import { type Claims, emailOf, type EmailTrust, subjectOf, textOf } from "./oidc-claims.js";
import { insecurely, IssuerMismatch, OidcIssuer, type Registration, withoutFinalSlash } from "./oidc-issuers.js";

/** Names of the supported identity providers. */
export const ProviderName = { OIDC: "oidc", GITHUB: "github" } as const;
export type ProviderName = (typeof ProviderName)[keyof typeof ProviderName];

/** A person's account at a provider. Only issuer and subject are stable. */
export interface Identity {
  provider: ProviderName;
  /** Without a final slash. */
  issuer: string;
  subject: string;
  /** The claim that the subject is from. Default: `sub`, which stands for the ID at GitHub as well. */
  claim?: string;
  /** The `sub` of a subject that is from another claim. */
  sub?: string;
  /** Present only if it counts as verified. */
  email?: string;
  /** Why there is no email, for the user. */
  emailDoubt?: string;
  /** The account name at the provider. */
  username?: string;
  /** The display name. */
  name?: string;
}

/** Secrets that tie a provider's response to the request that this server sent. The browser keeps them meanwhile. */
export interface Question {
  state: string;
  nonce: string;
  /** PKCE (RFC 7636). */
  codeVerifier: string;
}

/** A service that authenticates users. */
export interface IdentityProvider {
  readonly name: ProviderName;
  /** The name that sign-in pages show. */
  readonly label: string;
  /** Returns the URL of the provider's authorization endpoint to which to redirect the browser. */
  ask(redirectUri: string, question: Question): Promise<URL>;
  /**
   * Reads the response with which the browser returned to `url`. Throws FORBIDDEN if the provider denies access,
   * UNAVAILABLE if it fails.
   */
  read(url: URL, question: Question): Promise<Identity>;
  /** Fetches the provider's metadata, if it has any. Throws IssuerMismatch if they are those of another issuer. */
  discover?(): Promise<unknown>;
}

export type IdentityProviders = ReadonlyMap<string, IdentityProvider>;

/** Generates the secrets of one sign-in. */
export const newQuestion = (): Question => ({
  state: randomState(),
  nonce: randomNonce(),
  codeVerifier: randomPKCECodeVerifier(),
});

type ProviderSettings = Pick<
  Config,
  | "oidcIssuerUrl"
  | "oidcClientId"
  | "oidcClientSecret"
  | "oidcSubjectClaim"
  | "oidcEmailDomains"
  | "oidcEmailVerified"
  | "githubUrl"
  | "githubClientId"
  | "githubClientSecret"
  | "outboundAllow"
  | "outboundProxy"
>;

/** Creates the configured providers, by name. */
export function createIdentityProviders(settings: ProviderSettings): IdentityProviders {
  const { oidcIssuerUrl, oidcClientId = "", oidcClientSecret = "" } = settings;
  const { githubUrl, githubClientId, githubClientSecret = "" } = settings;
  const registrationAt = (url: string, id: string, secret: string): Registration => {
    const base = new URL(url);
    // The configured origin may have any address. Endpoints in its metadata may not: the provider chooses them.
    const { outboundProxy: proxy, outboundAllow: allow } = settings;
    return { base, id, secret, fetch: outsideFetch({ proxy, allow, named: [base.origin] }) };
  };
  const providers: IdentityProvider[] = [];
  if (oidcIssuerUrl)
    providers.push(openIdConnect(registrationAt(oidcIssuerUrl, oidcClientId, oidcClientSecret), settings));
  if (githubClientId) providers.push(github(registrationAt(githubUrl, githubClientId, githubClientSecret)));
  return new Map(providers.map((provider) => [provider.name, provider]));
}

/** Logs an error for each provider whose metadata are not those of the configured issuer. Other failures show at sign-in. */
export async function checkIssuers(providers: IdentityProviders, log: Logger): Promise<void> {
  for (const provider of providers.values()) {
    try {
      await provider.discover?.();
    } catch (error) {
      if (error instanceof IssuerMismatch) log.error({ provider: provider.name }, error.message);
    }
  }
}

/** OpenID Connect: the authorization code flow with PKCE and nonce. */
function openIdConnect(
  registration: Registration,
  settings: EmailTrust & Pick<ProviderSettings, "oidcSubjectClaim">,
): IdentityProvider {
  const issuer = new OidcIssuer(registration);
  const claim = settings.oidcSubjectClaim;

  return {
    name: "oidc",
    label: registration.base.hostname,
    discover: () => issuer.discover(),
    ask: (redirectUri, { state, nonce, codeVerifier }) =>
      upstream(async () => {
        const scope = "openid email profile";
        const pkce = await challengeOf(codeVerifier);
        const parameters = { redirect_uri: redirectUri, scope, state, nonce, ...pkce };
        return buildAuthorizationUrl(await issuer.discover(), parameters);
      }),
    read: (url, { state, nonce, codeVerifier }) =>
      upstream(async () => {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier };
        const tokens = await issuer.exchange(url, { ...checks, idTokenExpected: true });
        const token = tokens.claims()!;
        const subject = subjectOf(token, claim);
        const about = await claimsAbout(await issuer.discover(), token, tokens.access_token);
        return {
          provider: "oidc",
          issuer: withoutFinalSlash(token.iss),
          subject,
          ...(claim !== "sub" && { claim, sub: subjectOf(token, "sub") }),
          ...emailOf(about, settings, await issuer.servesManyTenants()),
          username: textOf(about.preferred_username),
          name: textOf(about.name),
        };
      }),
  };
}

/**
 * The claims of an ID token, with those of the UserInfo endpoint if the token lacks the address of the user, or whether it
 * is verified: tokens of Okta and Entra ID may be that short.
 */
async function claimsAbout(
  config: Configuration,
  token: Claims & { sub: string },
  accessToken: string,
): Promise<Claims> {
  const { email, email_verified: isVerified } = token;
  const isComplete = email !== undefined && isVerified !== undefined;
  if (isComplete || !config.serverMetadata().userinfo_endpoint) return token;
  try {
    const told: Claims = await fetchUserInfo(config, accessToken, token.sub);
    if (email === undefined) return { ...token, ...told };
    // What is said of one address does not count for another one.
    return told.email === email && isVerified === undefined ? { ...told, ...token, ...verificationIn(told) } : token;
  } catch (error) {
    if (email === undefined) throw error;
    // The endpoint could have said that the address is not verified.
    return { ...token, email_verified: null };
  }
}

const verificationIn = ({ email_verified: isVerified }: Claims) =>
  isVerified === undefined ? {} : { email_verified: isVerified };

/** GitHub: OAuth 2.0; the identity comes from its REST API. */
function github({ base, id, secret, fetch }: Registration): IdentityProvider {
  const issuer = base.origin;
  // The public site serves its API on a separate host, an Enterprise Server under a path.
  const api = issuer === "https://github.com" ? "https://api.github.com" : `${issuer}/api/v3`;
  const endpoints = {
    issuer,
    authorization_endpoint: `${issuer}/login/oauth/authorize`,
    token_endpoint: `${issuer}/login/oauth/access_token`,
  };
  const config = new Configuration(endpoints, id, {}, ClientSecretPost(secret));
  config[customFetch] = fetch;
  for (const allow of insecurely(base)) allow(config);

  const get = async <Body>(token: string, path: string) => {
    const headers = new Headers({ accept: "application/vnd.github+json" });
    const response = await fetchProtectedResource(config, token, new URL(api + path), "GET", null, headers);
    if (!response.ok) throw new Error(`GitHub returned status ${response.status} for ${path}.`);
    return (await response.json()) as Body;
  };

  return {
    name: "github",
    label: "GitHub",
    ask: async (redirectUri, { state, codeVerifier }) =>
      buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: "read:user user:email",
        state,
        ...(await challengeOf(codeVerifier)),
      }),
    read: (url, { state, codeVerifier }) =>
      upstream(async () => {
        const tokens = await authorizationCodeGrant(config, url, {
          expectedState: state,
          pkceCodeVerifier: codeVerifier,
        });
        const [user, emails] = await Promise.all([
          get<{ id: number; login: string; name?: string }>(tokens.access_token, "/user"),
          get<Array<{ email: string; primary: boolean; verified: boolean }>>(tokens.access_token, "/user/emails"),
        ]);
        if (!Number.isSafeInteger(user.id)) throw new Error("GitHub returned no user id.");
        return {
          provider: "github",
          issuer,
          subject: String(user.id),
          email: emails.find(({ primary, verified }) => primary && verified)?.email,
          username: textOf(user.login),
          name: textOf(user.name),
        };
      }),
  };
}

const challengeOf = async (codeVerifier: string) => ({
  code_challenge: await calculatePKCECodeChallenge(codeVerifier),
  code_challenge_method: "S256",
});

/** Runs calls to a provider. Turns a denial into FORBIDDEN and every other failure into UNAVAILABLE. */
async function upstream<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      throw forbidden("The identity provider did not let you in.", { detail: reasonOf(error), cause: error });
    }
    if (error instanceof ResponseBodyError && error.error === "invalid_grant") {
      throw forbidden("The identity provider does not know this sign-in.", { detail: reasonOf(error), cause: error });
    }
    const cause = new Error(safeReasonOf(error));
    const detail = error instanceof IssuerMismatch ? error.message : undefined;
    throw new DomainError("UNAVAILABLE", "The identity provider failed.", { upstream: true, detail, cause });
  }
}

/**
 * The messages of an error and its causes, for operators. Leaves out response bodies, which may contain tokens, and
 * messages of the JSON parser, which quote them.
 */
function safeReasonOf(error: unknown): string {
  const reasons: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof SyntaxError)) reasons.push(cause.message);
    if (cause instanceof ResponseBodyError) reasons.push(reasonOf(cause) ?? "");
  }
  return reasons.filter(Boolean).join(": ");
}

/** The OAuth error code (RFC 6749 §4.1.2.1), if it is well-formed. */
const reasonOf = ({ error }: { error: string }) => (/^\w{1,64}$/.test(error) ? `It said: ${error}.` : undefined);
