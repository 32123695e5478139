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
import type { Config } from "../../config/config.js";
import { DomainError, forbidden } from "../kernel/errors.js";
import { type Fetch, outsideFetch } from "./http.js";

/** How people sign in through a provider. */
export const ProviderName = { OIDC: "oidc", GITHUB: "github" } as const;
export type ProviderName = (typeof ProviderName)[keyof typeof ProviderName];

/** A person as a provider knows them. Only issuer and subject are for good. */
export interface Identity {
  provider: ProviderName;
  issuer: string;
  subject: string;
  /** Only if the provider vouches for it. */
  email?: string;
  /** What the person is called there: an account name, and a real one. */
  username?: string;
  name?: string;
}

/** What proves that the answer of a provider belongs to a question of ours, to be kept with the browser meanwhile. */
export interface Question {
  state: string;
  nonce: string;
  /** RFC 7636. */
  codeVerifier: string;
}

/** A service that tells who somebody is. */
export interface IdentityProvider {
  readonly name: ProviderName;
  /** What people know it as. */
  readonly label: string;
  /** Where a browser goes to ask who its user is. */
  ask(redirectUri: string, question: Question): Promise<URL>;
  /** Reads the answer that the browser brought back to `url`. Throws FORBIDDEN for a refusal and UNAVAILABLE for a failure. */
  read(url: URL, question: Question): Promise<Identity>;
}

export type IdentityProviders = ReadonlyMap<string, IdentityProvider>;

/** Fresh secrets for one sign-in. */
export const newQuestion = (): Question => ({
  state: randomState(),
  nonce: randomNonce(),
  codeVerifier: randomPKCECodeVerifier(),
});

/** OpenID Connect Core §2. */
const longestSubject = 255;

type ProviderSettings = Pick<
  Config,
  | "oidcIssuerUrl"
  | "oidcClientId"
  | "oidcClientSecret"
  | "githubUrl"
  | "githubClientId"
  | "githubClientSecret"
  | "outboundAllow"
>;

/** The providers that are configured, by name. */
export function createIdentityProviders(settings: ProviderSettings): IdentityProviders {
  const { oidcIssuerUrl, oidcClientId = "", oidcClientSecret = "" } = settings;
  const { githubUrl, githubClientId, githubClientSecret = "" } = settings;
  const registered = (url: string, id: string, secret: string): Registration => {
    const base = new URL(url);
    // Operators name a provider wherever it is. Where its metadata leads from there is up to others.
    return { base, id, secret, fetch: outsideFetch({ allow: settings.outboundAllow, named: [base.origin] }) };
  };
  const providers: IdentityProvider[] = [];
  if (oidcIssuerUrl) providers.push(openIdConnect(registered(oidcIssuerUrl, oidcClientId, oidcClientSecret)));
  if (githubClientId) providers.push(github(registered(githubUrl, githubClientId, githubClientSecret)));
  return new Map(providers.map((provider) => [provider.name, provider]));
}

/** What a provider and this server know of each other. */
interface Registration {
  /** The issuer, or the site. */
  base: URL;
  /** What the provider calls this server. */
  id: string;
  secret: string;
  fetch: Fetch;
}

/** OpenID Connect: authorization code with PKCE and nonce. What the issuer can do is asked at the first sign-in. */
function openIdConnect({ base: issuer, id, secret, fetch }: Registration): IdentityProvider {
  let discovered: Promise<Configuration> | undefined;
  const discover = () => {
    const execute = [enableNonRepudiationChecks, ...insecurely(issuer)];
    const discovering = discovery(issuer, id, {}, proofOf(secret), { execute, [customFetch]: fetch });
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
        if (token.sub.length > longestSubject) throw new Error("The subject is too long.");
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

/** GitHub: OAuth 2.0, and its API to ask who it was. */
function github({ base, id, secret, fetch }: Registration): IdentityProvider {
  const issuer = base.origin;
  // The public site has its API on a host of its own, an Enterprise Server under a path.
  const api = issuer === "https://github.com" ? "https://api.github.com" : `${issuer}/api/v3`;
  const endpoints = {
    issuer,
    authorization_endpoint: `${issuer}/login/oauth/authorize`,
    token_endpoint: `${issuer}/login/oauth/access_token`,
  };
  const config = new Configuration(endpoints, id, {}, ClientSecretPost(secret));
  config[customFetch] = fetch;
  for (const allow of insecurely(base)) allow(config);

  const asked = async <Answer>(token: string, path: string) => {
    const headers = new Headers({ accept: "application/vnd.github+json" });
    const response = await fetchProtectedResource(config, token, new URL(api + path), "GET", null, headers);
    if (!response.ok) throw new Error(`GitHub answered ${response.status} to ${path}.`);
    return (await response.json()) as Answer;
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
          asked<{ id: number; login: string; name?: string }>(tokens.access_token, "/user"),
          asked<Array<{ email: string; primary: boolean; verified: boolean }>>(tokens.access_token, "/user/emails"),
        ]);
        if (!Number.isSafeInteger(user.id)) throw new Error("GitHub did not say who it was.");
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

/** Shows the secret in the way that the issuer understands; RFC 8414 §2 says what silence means. */
const proofOf =
  (secret: string): ClientAuth =>
  (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const prove = methods.includes("client_secret_basic") ? ClientSecretBasic(secret) : ClientSecretPost(secret);
    prove(server, ...rest);
  };

const textOf = (claim: unknown): string | undefined => (typeof claim === "string" && claim !== "" ? claim : undefined);

/** Runs what talks to a provider, and says of what goes wrong whose failure it is. */
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
    const cause = new Error(told(error));
    throw new DomainError("UNAVAILABLE", "The identity provider failed.", { upstream: true, cause });
  }
}

/**
 * Why it failed, in words for operators. The rest of such an error may be the provider's answer with tokens in it, which
 * the parser of JSON even quotes.
 */
function told(error: unknown): string {
  const reasons: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!(cause instanceof SyntaxError)) reasons.push(cause.message);
    if (cause instanceof ResponseBodyError) reasons.push(reasonOf(cause) ?? "");
  }
  return reasons.filter(Boolean).join(": ");
}

/** The error code of RFC 6749, if it looks like one. */
const reasonOf = ({ error }: { error: string }) => (/^\w{1,64}$/.test(error) ? `It said: ${error}.` : undefined);
