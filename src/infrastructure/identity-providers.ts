import {
  allowInsecureRequests,
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchProtectedResource,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  ResponseBodyError,
} from "openid-client";
import type { Config } from "../runtime/config.js";
import { DomainError, forbidden } from "../domain/kernel/errors.js";
import { type Fetch, outsideFetch } from "./http.js";

/** Names of the supported identity providers. */
export const ProviderName = { OIDC: "oidc", GITHUB: "github" } as const;
export type ProviderName = (typeof ProviderName)[keyof typeof ProviderName];

/** A person's account at a provider. Only issuer and subject are stable. */
export interface Identity {
  provider: ProviderName;
  issuer: string;
  subject: string;
  /** Present only if the provider has verified it. */
  email?: string;
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
}

export type IdentityProviders = ReadonlyMap<string, IdentityProvider>;

/** Generates the secrets of one sign-in. */
export const newQuestion = (): Question => ({
  state: randomState(),
  nonce: randomNonce(),
  codeVerifier: randomPKCECodeVerifier(),
});

/** Characters of a `sub` claim (OpenID Connect Core §2). */
const maxSubject = 255;

type ProviderSettings = Pick<
  Config,
  | "oidcIssuerUrl"
  | "oidcClientId"
  | "oidcClientSecret"
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
  const registered = (url: string, id: string, secret: string): Registration => {
    const base = new URL(url);
    // The configured origin may have any address. Endpoints in its metadata may not: the provider chooses them.
    const { outboundProxy: proxy, outboundAllow: allow } = settings;
    return { base, id, secret, fetch: outsideFetch({ proxy, allow, named: [base.origin] }) };
  };
  const providers: IdentityProvider[] = [];
  if (oidcIssuerUrl) providers.push(openIdConnect(registered(oidcIssuerUrl, oidcClientId, oidcClientSecret)));
  if (githubClientId) providers.push(github(registered(githubUrl, githubClientId, githubClientSecret)));
  return new Map(providers.map((provider) => [provider.name, provider]));
}

/** The registration of this server as a client of a provider. */
interface Registration {
  /** The issuer of OpenID Connect, or the site of GitHub. */
  base: URL;
  /** The client id. */
  id: string;
  secret: string;
  fetch: Fetch;
}

/** OpenID Connect: the authorization code flow with PKCE and nonce. The metadata is fetched at the first sign-in. */
function openIdConnect({ base: issuer, id, secret, fetch }: Registration): IdentityProvider {
  let discovered: Promise<Configuration> | undefined;
  const discover = () => {
    const execute = [enableNonRepudiationChecks, ...insecurely(issuer)];
    const discovering = discovery(issuer, id, {}, authenticateWith(secret), { execute, [customFetch]: fetch });
    discovering.catch(() => (discovered = undefined));
    return discovering;
  };

  return {
    name: "oidc",
    label: issuer.hostname,
    ask: (redirectUri, { state, nonce, codeVerifier }) =>
      upstream(async () => {
        const scope = "openid email profile";
        const pkce = await challengeOf(codeVerifier);
        const parameters = { redirect_uri: redirectUri, scope, state, nonce, ...pkce };
        return buildAuthorizationUrl(await (discovered ??= discover()), parameters);
      }),
    read: (url, { state, nonce, codeVerifier }) =>
      upstream(async () => {
        const config = await (discovered ??= discover());
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier };
        const tokens = await authorizationCodeGrant(config, url, { ...checks, idTokenExpected: true });
        const token = tokens.claims()!;
        if (token.sub.length > maxSubject) throw new Error("The subject is too long.");
        const isComplete = token.email !== undefined || !config.serverMetadata().userinfo_endpoint;
        const claims = isComplete
          ? token
          : { ...token, ...(await fetchUserInfo(config, tokens.access_token, token.sub)) };
        return {
          provider: "oidc",
          issuer: token.iss,
          subject: token.sub,
          email: claims.email_verified === true ? textOf(claims.email) : undefined,
          username: textOf(claims.preferred_username),
          name: textOf(claims.name),
        };
      }),
  };
}

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

const insecurely = ({ protocol }: URL) => (protocol === "http:" ? [allowInsecureRequests] : []);

const challengeOf = async (codeVerifier: string) => ({
  code_challenge: await calculatePKCECodeChallenge(codeVerifier),
  code_challenge_method: "S256",
});

/** Authenticates the client by a method that the issuer supports; `client_secret_basic` by default (RFC 8414 §2). */
const authenticateWith =
  (secret: string): ClientAuth =>
  (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const authenticate = methods.includes("client_secret_basic") ? ClientSecretBasic(secret) : ClientSecretPost(secret);
    authenticate(server, ...rest);
  };

const textOf = (claim: unknown): string | undefined => (typeof claim === "string" && claim !== "" ? claim : undefined);

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
    throw new DomainError("UNAVAILABLE", "The identity provider failed.", { upstream: true, cause });
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
