import type { Logger } from "pino";
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
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
import { type ClaimMapping, longestSubject } from "../entities/sign-in.js";
import { BadLogoutToken, type LogoutToken } from "./logout-tokens.js";
import {
  type Claims,
  emailOf,
  type EmailTrust,
  factorIn,
  type ProviderFactor,
  readClaim,
  subjectOf,
  textOf,
} from "./oidc-claims.js";
import {
  type ClientCredential,
  insecurely,
  IssuerMismatch,
  OidcIssuer,
  type Registration,
  withoutFinalSlash,
} from "./oidc-issuers.js";

/** Kinds of identity providers. */
export const ProviderKind = { OIDC: "oidc", GITHUB: "github" } as const;
export type ProviderKind = (typeof ProviderKind)[keyof typeof ProviderKind];

/** Which accounts without an identity a provider may link by their address. */
export const EmailLinking = { ANY: "any", DOMAINS: "domains", NEVER: "never" } as const;
export type EmailLinking = (typeof EmailLinking)[keyof typeof EmailLinking];

/** A provider as owners or the operator describe it. */
export interface ProviderSettings extends EmailTrust {
  /** Last part of the path of its sign-in. */
  name: string;
  kind: ProviderKind;
  /** Empty for the host of the issuer, or for GitHub. */
  displayName: string;
  /** Path on this server, or an image as a data URL; empty for none. */
  icon: string;
  /** The issuer of OpenID Connect, or the site of GitHub. */
  issuer: string;
  clientId: string;
  credential: ClientCredential;
  scopes: readonly string[];
  /** The claim that identifies users permanently. */
  subjectClaim: string;
  /** Whether accounts get another verified address in its domains. */
  followsEmail: boolean;
  linksByEmail: EmailLinking;
  /** Whether people without an account, with an address in its domains, get one. */
  admitsNewcomers: boolean;
  /** The organizations that they join, by ID or name; empty for the default one. */
  organizations: readonly string[];
  /** The tenants (`tid`) and hosted domains (`hd`) whose users may sign in; empty for all. */
  tenants: readonly string[];
  hostedDomains: readonly string[];
  /** Values of `amr` and of `acr` by which it says that it checked a second factor; empty for none. */
  factorMethods: readonly string[];
  factorContexts: readonly string[];
  claimMappings: readonly ClaimMapping[];
  /** Whether sign-ins apply them; otherwise, tests show their effect. */
  appliesClaims: boolean;
  /** Whether who signs out here signs out there as well, if the provider has an endpoint for it. */
  signsOut: boolean;
  /** Whether people cannot change the names and members of the groups that it made. */
  locksGroups: boolean;
  /** Seconds between two checks of people who are signed in; 0 for none. */
  checkInterval: number;
}

/** The scopes that are requested unless the settings name others. */
export const usualScopes: Readonly<Record<ProviderKind, readonly string[]>> = {
  oidc: ["openid", "email", "profile"],
  github: ["read:user", "user:email"],
};

/** A person's account at a provider. Only issuer and subject are stable. */
export interface Identity {
  /** Name of the provider. */
  provider: string;
  kind: ProviderKind;
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
  /** The tenant (`tid`) and the hosted domain (`hd`) in the ID token. */
  tenant?: string;
  hostedDomain?: string;
  /** The second factor that the provider checked, if the ID token says so in a way that its settings accept. */
  factor?: ProviderFactor;
  /** All that the provider said. Never logged. */
  claims: Claims;
  /** The session there, at an OpenID provider. */
  session?: SessionThere;
}

/** The session of a person at a provider, as an ID token names it. */
export interface SessionThere {
  /** The `sub` of the person. */
  subject: string;
  /** The `sid`, if the provider names its sessions. */
  id?: string;
  /** The ID token, with which this server may ask to end it. Never logged. */
  idToken: string;
  /** With which the provider is asked again, if it gave one and its settings want that. Never logged. */
  refreshToken?: string;
}

/** A person who is signed in, as the provider describes them between sign-ins. */
export interface Checked {
  claims: Claims;
  /** Whether there was an ID token, so that claims which are absent are absent at sign-ins as well. */
  isWhole: boolean;
}

/** A provider no longer knows the session or the person of a refresh token. */
export class RefreshRejected extends Error {}

/** A session at a provider about which it can be asked again. */
export type RefreshableSession = Required<Pick<SessionThere, "subject" | "refreshToken">>;

/** Secrets that tie a provider's response to the request that this server sent. The browser keeps them meanwhile. */
export interface Question {
  state: string;
  nonce: string;
  /** PKCE (RFC 7636). */
  codeVerifier: string;
  /** Seconds since the last sign-in at the provider after which it has to ask the user again; absent for any. */
  longestAge?: number;
}

/** A service that authenticates users. */
export interface IdentityProvider {
  readonly settings: ProviderSettings;
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
  /** Verifies a logout token of the provider. Throws BAD_USER_INPUT, or UNAVAILABLE if its keys cannot be fetched. */
  readLogoutToken?(token: string): Promise<LogoutToken>;
  /**
   * Asks about a person who is signed in, with a refresh token, which may be replaced: `keep` stores the next one before
   * anything else can fail. Throws RefreshRejected, or UNAVAILABLE for any other failure.
   */
  check?(session: RefreshableSession, keep: (refreshToken: string) => Promise<void>): Promise<Checked>;
  /** Returns the URL at which a browser signs out there, if the provider has one, and comes back to `returnTo`. */
  signOutUrl?(returnTo: string, idToken: string | undefined, state: string): Promise<URL | undefined>;
}

/** Generates the secrets of one sign-in. */
export const newQuestion = (): Question => ({
  state: randomState(),
  nonce: randomNonce(),
  codeVerifier: randomPKCECodeVerifier(),
});

/** How a provider is called. */
interface Calls extends Pick<Config, "outboundAllow" | "outboundProxy"> {
  /** The setting of the server that has the issuer, whose origin may have any address: the operator named it. */
  setting?: string;
}

/** Creates a provider. */
export function createIdentityProvider(settings: ProviderSettings, { setting, ...calls }: Calls): IdentityProvider {
  const { name, kind, issuer, clientId, credential } = settings;
  const base = new URL(issuer);
  // Endpoints in its metadata may not have any address: the provider chooses them.
  const named = setting === undefined ? [] : [base.origin];
  const registration: Registration = {
    base,
    namedBy: setting ?? `the provider ${name}`,
    id: clientId,
    credential,
    fetch: outsideFetch({ proxy: calls.outboundProxy, allow: calls.outboundAllow, named }),
  };
  return kind === "oidc" ? openIdConnect(registration, settings) : github(registration, settings);
}

/** Logs an error for each provider whose metadata are not those of the configured issuer. Other failures show at sign-in. */
export async function checkIssuers(providers: readonly IdentityProvider[], log: Logger): Promise<void> {
  for (const provider of providers) {
    try {
      await provider.discover?.();
    } catch (error) {
      if (error instanceof IssuerMismatch) log.error({ provider: provider.settings.name }, error.message);
    }
  }
}

/** OpenID Connect: the authorization code flow with PKCE and nonce. */
function openIdConnect(registration: Registration, settings: ProviderSettings): IdentityProvider {
  const issuer = new OidcIssuer(registration);
  const { name, subjectClaim: claim, scopes, tenants, hostedDomains } = settings;
  // Google shows the accounts of one domain alone.
  const [hd, ...more] = hostedDomains;
  const hosted = hd !== undefined && more.length === 0 && { hd };

  return {
    settings,
    label: settings.displayName || registration.base.hostname,
    discover: () => issuer.discover(),
    ask: (redirectUri, { state, nonce, codeVerifier, longestAge }) =>
      upstream(async () => {
        const pkce = await challengeOf(codeVerifier);
        const again = longestAge !== undefined && { max_age: String(longestAge) };
        const asked = { redirect_uri: redirectUri, scope: scopes.join(" "), state, nonce };
        const parameters = { ...asked, ...hosted, ...again, ...pkce };
        return buildAuthorizationUrl(await issuer.discover(), parameters);
      }),
    read: (url, { state, nonce, codeVerifier }) =>
      upstream(async () => {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: codeVerifier };
        const tokens = await issuer.exchange(url, { ...checks, idTokenExpected: true });
        const token = tokens.claims()!;
        const subject = subjectOf(token, claim);
        const mapped = settings.claimMappings.map((mapping) => mapping.claim);
        const about = await claimsAbout(await issuer.discover(), token, tokens.access_token, mapped);
        const isOfManyTenants = tenants.length === 0 && (await issuer.servesManyTenants());
        return {
          provider: name,
          kind: "oidc",
          issuer: withoutFinalSlash(token.iss),
          subject,
          ...(claim !== "sub" && { claim, sub: subjectOf(token, "sub") }),
          ...emailOf(about, settings, isOfManyTenants),
          username: textOf(about.preferred_username),
          name: textOf(about.name),
          tenant: textOf(token.tid),
          hostedDomain: textOf(token.hd),
          factor: factorIn(token, settings),
          claims: about,
          session: {
            subject: subjectOf(token, "sub"),
            ...sessionIdOf(token),
            idToken: tokens.id_token!,
            ...(settings.checkInterval > 0 && refreshTokenOf(tokens)),
          },
        };
      }),
    check: ({ subject, refreshToken }, keep) =>
      upstream(async () => {
        const tokens = await issuer.refresh(refreshToken).catch((error: unknown) => {
          throw isRejectedGrant(error) ? new RefreshRejected(reasonOf(error)) : error;
        });
        const next = refreshTokenOf(tokens)?.refreshToken;
        if (next !== undefined && next !== refreshToken) await keep(next);
        const token = tokens.claims();
        if (token && token.sub !== subject) throw new Error("The provider returned the ID token of another person.");
        const config = await issuer.discover();
        const told: Claims = config.serverMetadata().userinfo_endpoint
          ? await fetchUserInfo(config, tokens.access_token, subject)
          : {};
        return { claims: { ...told, ...token }, isWhole: token !== undefined };
      }),
    readLogoutToken: (token) => issuer.readLogoutToken(token).catch(throwLogoutFailure),
    signOutUrl: async (returnTo, idToken, state) => {
      const config = await issuer.discover();
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
      const hint = idToken !== undefined && { id_token_hint: idToken };
      return buildEndSessionUrl(config, { ...hint, post_logout_redirect_uri: returnTo, state });
    },
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
  mapped: readonly string[],
): Promise<Claims> {
  const { email, email_verified: isVerified } = token;
  const isOfEmail = email === undefined || isVerified === undefined;
  const missing = mapped.filter((claim) => readClaimFault(token, claim) === "absent");
  if ((!isOfEmail && missing.length === 0) || !config.serverMetadata().userinfo_endpoint) return token;
  try {
    const told: Claims = await fetchUserInfo(config, accessToken, token.sub);
    if (email === undefined) return { ...token, ...told };
    // What is said of one address does not count for another one.
    if (told.email === email && isVerified === undefined) return { ...told, ...token, ...verificationIn(told) };
    const { email: _email, email_verified: _isVerified, ...others } = told;
    return missing.length > 0 ? { ...others, ...token } : token;
  } catch (error) {
    if (email === undefined) throw error;
    // The endpoint could have said that the address is not verified, and more of what is mapped.
    const elsewhere = Object.fromEntries(missing.map((claim) => [claim, "userinfo"]));
    return {
      ...token,
      ...(isVerified === undefined && { email_verified: null }),
      ...(missing.length > 0 && { _claim_names: elsewhere }),
    };
  }
}

const readClaimFault = (claims: Claims, claim: string) => {
  const reading = readClaim(claims, { claim, separator: "" });
  return "fault" in reading ? reading.fault : undefined;
};

const verificationIn = ({ email_verified: isVerified }: Claims) =>
  isVerified === undefined ? {} : { email_verified: isVerified };

/** GitHub: OAuth 2.0; the identity comes from its REST API. */
function github({ base, id, credential, fetch }: Registration, settings: ProviderSettings): IdentityProvider {
  const issuer = base.origin;
  // The public site serves its API on a separate host, an Enterprise Server under a path.
  const api = issuer === "https://github.com" ? "https://api.github.com" : `${issuer}/api/v3`;
  const endpoints = {
    issuer,
    authorization_endpoint: `${issuer}/login/oauth/authorize`,
    token_endpoint: `${issuer}/login/oauth/access_token`,
  };
  const secret = "secret" in credential ? credential.secret : undefined;
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
    settings,
    label: settings.displayName || "GitHub",
    ask: async (redirectUri, { state, codeVerifier }) =>
      buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(" "),
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
          provider: settings.name,
          kind: "github",
          issuer,
          subject: String(user.id),
          email: emails.find(({ primary, verified }) => primary && verified)?.email,
          username: textOf(user.login),
          name: textOf(user.name),
          claims: { ...user, emails },
        };
      }),
  };
}

/** Maximum length in characters of a refresh token that is kept. */
const longestRefreshToken = 8192;

const refreshTokenOf = ({ refresh_token: refreshToken }: { refresh_token?: string }) =>
  refreshToken !== undefined && refreshToken.length <= longestRefreshToken ? { refreshToken } : undefined;

const isRejectedGrant = (error: unknown): error is ResponseBodyError =>
  error instanceof ResponseBodyError && error.error === "invalid_grant";

/** The session that an ID token names. One of a strange form is none: no logout token could name it. */
const sessionIdOf = ({ sid }: Claims) =>
  typeof sid === "string" && sid !== "" && sid.length <= longestSubject ? { id: sid } : {};

function throwLogoutFailure(error: unknown): never {
  if (error instanceof BadLogoutToken)
    throw new DomainError("BAD_USER_INPUT", "The logout token is not valid.", { detail: error.message, cause: error });
  const cause = new Error(safeReasonOf(error));
  throw new DomainError("UNAVAILABLE", "The keys of the provider could not be fetched.", { upstream: true, cause });
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
    if (error instanceof RefreshRejected) throw error;
    if (error instanceof AuthorizationResponseError) {
      throw forbidden("The identity provider did not let you in.", { detail: reasonOf(error), cause: error });
    }
    if (isRejectedGrant(error)) {
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
