import {
  allowInsecureRequests,
  authorizationCodeGrant,
  type AuthorizationCodeGrantChecks,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  getJwksCache,
  type IDToken,
  PrivateKeyJwt,
  refreshTokenGrant,
  type ServerMetadata,
  setJwksCache,
} from "openid-client";
import { createRemoteJWKSet, customFetch as keysFetch, type RemoteJWKSet } from "jose";
import { importClientKey } from "./client-keys.js";
import type { Fetch } from "./http.js";
import { type LogoutToken, verifyLogoutToken } from "./logout-tokens.js";

/** The registration of this server as a client of a provider. */
export interface Registration {
  /** The issuer of OpenID Connect, or the site of GitHub. */
  base: URL;
  /** The name of the issuer for operators: a setting, or the provider. */
  namedBy: string;
  /** The client id. */
  id: string;
  credential: ClientCredential;
  fetch: Fetch;
}

/** How this server authenticates at a provider: by a secret, or by assertions that a private key signs (RFC 7523). */
export type ClientCredential = { secret: string } | { privateKey: string };

/** Permits plain HTTP to a provider on the same machine, the only one for which settings accept it. */
export const insecurely = ({ protocol }: URL) => (protocol === "http:" ? [allowInsecureRequests] : []);

/** An issuer without its final slash: providers spell it both ways, and so it is compared and stored without. */
export const withoutFinalSlash = (issuer: string): string => issuer.replace(/\/$/, "");

const isSameIssuer = (one: string, other: string): boolean =>
  withoutFinalSlash(URL.parse(one)?.href ?? one) === withoutFinalSlash(URL.parse(other)?.href ?? other);

/** The placeholder of the tenant in the issuer of Entra's metadata. URLs escape the braces. */
const tenantPattern = /\{tenantid\}|%7Btenantid%7D/i;

/** Names in the place of a tenant for several of them. The last one is the tenant of all personal Microsoft accounts. */
const severalTenants = new Set(["common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad"]);

/** Whether an issuer serves many tenants, whose administrators, and not the operator, decide on the addresses of users. */
export const servesManyTenants = (issuer: string): boolean =>
  tenantPattern.test(issuer) || severalTenants.has(URL.parse(issuer)?.pathname.split("/")[1]?.toLowerCase() ?? "");

/**
 * Whether a server's metadata name another issuer than its own URL on purpose: Microsoft's do for several tenants, for
 * tenants that are given by their domain, and for policies.
 */
const namesIssuersFreely = ({ hostname }: URL): boolean =>
  ["login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"].includes(hostname) ||
  [".b2clogin.com", ".ciamlogin.com"].some((end) => hostname.endsWith(end));

/** Whether metadata with an issuer are those of the configured one. */
function isIssuerOf(configured: URL, issuer: string): boolean {
  if (isSameIssuer(configured.href, issuer) || namesIssuersFreely(configured)) return true;
  const [, tenant = ""] = configured.pathname.split("/");
  return (
    severalTenants.has(tenant.toLowerCase()) && isSameIssuer(configured.href.replace(tenant, "{tenantid}"), issuer)
  );
}

/** The issuer of a provider differs from the configured one. The message is for operators, and names both. */
export class IssuerMismatch extends Error {
  constructor(where: string, issuer: unknown, namedBy: string, expected: string) {
    super(`${where} issuer ${quoteIssuer(issuer)}, but ${namedBy} expects ${quoteIssuer(expected)}.`);
    this.name = "IssuerMismatch";
  }
}

const longestQuoted = 256;
const quoteIssuer = (issuer: unknown) => JSON.stringify(String(issuer).slice(0, longestQuoted));

/** Milliseconds before keys are fetched again because a token names an unknown one. */
const keysCooldown = 1_000;

/** The metadata of an issuer, the exchange of codes for its ID tokens, and its logout tokens. */
export class OidcIssuer {
  #discovered: Promise<Configuration> | undefined;
  #keys: RemoteJWKSet | undefined;

  constructor(private readonly registration: Registration) {}

  /** Fetches the metadata, once for all who wait, and again after a failure. Throws IssuerMismatch for those of another issuer. */
  discover(): Promise<Configuration> {
    return (this.#discovered ??= this.#fetchMetadata().catch((error: unknown) => {
      this.#discovered = undefined;
      throw error;
    }));
  }

  async #fetchMetadata(): Promise<Configuration> {
    const { base, namedBy, id, credential, fetch } = this.registration;
    // By the whole URL, for which the library does not compare issuers.
    const url = new URL(`${withoutFinalSlash(base.href)}/.well-known/openid-configuration`);
    const options = { execute: this.#extensions(), [customFetch]: fetch };
    const config = await discovery(url, id, {}, await authenticateWith(credential), options);
    const { issuer } = config.serverMetadata();
    if (!isIssuerOf(base, issuer))
      throw new IssuerMismatch("The metadata of the provider have the", issuer, namedBy, base.href);
    return config;
  }

  #extensions = () => [enableNonRepudiationChecks, ...insecurely(this.registration.base)];

  /** Whether addresses of users say nothing unless the provider has verified them. */
  async servesManyTenants(): Promise<boolean> {
    const { issuer } = (await this.discover()).serverMetadata();
    return servesManyTenants(this.registration.base.href) || servesManyTenants(issuer);
  }

  /**
   * Exchanges the code with which a browser returned to `url`, and validates the ID token (OpenID Connect Core §3.1.3.7). Its
   * issuer may differ from that of the metadata by a final slash, or by the tenant where the metadata leave it open.
   */
  exchange(url: URL, checks: AuthorizationCodeGrantChecks) {
    const { namedBy } = this.registration;
    return this.#requestTokens((config) =>
      authorizationCodeGrant(config, spelledFor(config.serverMetadata().issuer, url, namedBy), checks),
    );
  }

  /** Requests tokens with a refresh token. An ID token among them is validated in the same way (§12.2). */
  refresh(refreshToken: string) {
    return this.#requestTokens((config) => refreshTokenGrant(config, refreshToken));
  }

  async #requestTokens<Tokens>(request: (config: Configuration) => Promise<Tokens>): Promise<Tokens> {
    const config = await this.discover();
    const metadata: ServerMetadata = { ...(config.serverMetadata() as ServerMetadata) };
    let response: Response | undefined;
    const keeping: Fetch = async (target, init) => {
      const received = await this.registration.fetch(target, init);
      if (isTokenEndpoint(metadata, target)) response = received.clone();
      return received;
    };
    try {
      return await this.#requestWith(config, metadata, keeping, request);
    } catch (error) {
      const received = response;
      if (!received) throw error;
      const replaying: Fetch = async (target, init) =>
        isTokenEndpoint(metadata, target) ? received.clone() : this.registration.fetch(target, init);
      const claims = await unverifiedClaims(received.clone());
      const issuer = claims.iss ?? metadata.issuer;
      const validate = (hasNewKey?: "new key") =>
        this.#requestWith(config, { ...metadata, issuer }, replaying, request, hasNewKey);
      if (issuer === metadata.issuer) {
        if (isUnknownKey(error)) return validate("new key");
        throw error;
      }
      const expected = expectedIssuer(metadata.issuer, claims);
      if (!isSameIssuer(issuer, expected))
        throw new IssuerMismatch("The ID token has the", issuer, this.registration.namedBy, expected);
      // The library compares issuers exactly. It validates the response, which was received, with the other spelling.
      return validate().catch((failure: unknown) => {
        if (isUnknownKey(failure)) return validate("new key");
        throw failure;
      });
    }
  }

  /** Verifies a logout token. Throws BadLogoutToken, or the failure of a request for the keys of the provider. */
  async readLogoutToken(token: string): Promise<LogoutToken> {
    const { base, id, fetch } = this.registration;
    const metadata = (await this.discover()).serverMetadata();
    const keysUrl = new URL(metadata.jwks_uri ?? "none:");
    if (keysUrl.protocol !== "https:" && base.protocol !== "http:")
      throw new Error("The metadata of the provider have no https URL of its keys.");
    this.#keys ??= createRemoteJWKSet(keysUrl, { [keysFetch]: fetch, cooldownDuration: keysCooldown });
    return verifyLogoutToken(token, {
      keys: this.#keys,
      algorithms: metadata.id_token_signing_alg_values_supported ?? ["RS256"],
      clientId: id,
      isIssuer: (claims) => isSameIssuer(claims.iss!, expectedIssuer(metadata.issuer, { tid: claims.tid })),
    });
  }

  async #requestWith<Tokens>(
    discovered: Configuration,
    metadata: ServerMetadata,
    fetch: Fetch,
    request: (config: Configuration) => Promise<Tokens>,
    hasNewKey?: "new key",
  ): Promise<Tokens> {
    const { id, credential } = this.registration;
    const config = new Configuration(metadata, id, {}, await authenticateWith(credential));
    config[customFetch] = fetch;
    for (const extend of this.#extensions()) extend(config);
    // The provider has begun to sign with another key: they are fetched again, sooner than the library would.
    const keys = hasNewKey ? undefined : getJwksCache(discovered);
    if (keys) setJwksCache(config, keys);
    const tokens = await request(config);
    const newKeys = getJwksCache(config);
    if (newKeys) setJwksCache(discovered, newKeys);
    return tokens;
  }
}

/** Whether a token names a key that the provider had not published when its keys were fetched. */
const isUnknownKey = (error: unknown): boolean =>
  error instanceof Error &&
  [error, error.cause].some((each) => (each as { code?: unknown } | undefined)?.code === "OAUTH_KEY_SELECTION_FAILED");

const isTokenEndpoint = ({ token_endpoint: endpoint }: ServerMetadata, target: string | URL): boolean =>
  endpoint !== undefined && new URL(target).href === new URL(endpoint).href;

/** The issuer of ID tokens: that of the metadata, with the tenant that a token names. */
const expectedIssuer = (issuer: string, { tid }: { tid?: unknown }): string =>
  typeof tid === "string" && /^[\w-]{1,64}$/.test(tid) ? issuer.replace(tenantPattern, tid) : issuer;

/**
 * The response of the authorization endpoint, with an `iss` (RFC 9207) that differs only in its final slash replaced. Throws
 * IssuerMismatch for any other one.
 */
function spelledFor(issuer: string, url: URL, namedBy: string): URL {
  const given = url.searchParams.get("iss");
  if (given === null) return url;
  const expected = expectedIssuer(issuer, { tid: tenantOf(issuer, given) });
  if (!isSameIssuer(given, expected))
    throw new IssuerMismatch("The response of the provider has the", given, namedBy, expected);
  const spelled = new URL(url);
  spelled.searchParams.set("iss", issuer);
  return spelled;
}

/** The part of a given issuer where another one leaves the tenant open. */
const tenantOf = (issuer: string, given: string): string | undefined => {
  const [before] = issuer.split(tenantPattern);
  return tenantPattern.test(issuer) && given.startsWith(before!)
    ? given.slice(before!.length).split("/")[0]
    : undefined;
};

/** The issuer and the tenant in the ID token of a response, before anything is verified. */
async function unverifiedClaims(response: Response): Promise<Partial<Pick<IDToken, "iss">> & { tid?: unknown }> {
  try {
    const { id_token: token } = (await response.json()) as { id_token: string };
    const { iss, tid } = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Record<
      string,
      unknown
    >;
    return typeof iss === "string" ? { iss, tid } : {};
  } catch {
    return {};
  }
}

/** Authenticates the client by its key, or by a method that the issuer supports; `client_secret_basic` by default (RFC 8414 §2). */
async function authenticateWith(credential: ClientCredential): Promise<ClientAuth> {
  if ("privateKey" in credential) return PrivateKeyJwt(await importClientKey(credential.privateKey));
  const { secret } = credential;
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const authenticate = methods.includes("client_secret_basic") ? ClientSecretBasic(secret) : ClientSecretPost(secret);
    authenticate(server, ...rest);
  };
}
