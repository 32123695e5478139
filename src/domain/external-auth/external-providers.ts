import { createHash } from "node:crypto";
import type { Config } from "../../runtime/config.js";
import type { ExternalAuthProvider } from "./configuration.js";
import { typeTraits } from "./types.js";
import { type BoundedPool, boundedPool } from "../../runtime/concurrency.js";
import { type Fetch, OutsideError, outsideFetch } from "../../infrastructure/http.js";
import { ProviderUnavailable } from "./provider-failures.js";
import {
  type DeviceAuthorization,
  deviceIn,
  type Received,
  requireRevoked,
  type TokenSet,
  tokensIn,
} from "./provider-responses.js";

/** Milliseconds to connect. */
const connectTimeout = 5_000;

/** Calls that may wait for a provider, each for as long as a call may take. */
const mostWaiting = 1_000;

/** The tokens to revoke. */
export type Revocable = Pick<TokenSet, "accessToken" | "refreshToken">;

/** The parameters of a redirect to a provider. */
export interface AuthorizationRequest {
  redirectUri: string;
  state: string;
  /** PKCE (RFC 7636); null for providers without it. */
  verifier: string | null;
}

/** Calls the configured providers. Every call is bounded in time and size, and so is the number of calls. */
export class ExternalProviders {
  readonly #fetch: Fetch;
  readonly #all: BoundedPool;
  /** A provider that does not respond occupies a part of the calls, never all. */
  readonly #each = new Map<string, BoundedPool>();
  readonly #limit: number;
  readonly #timeout: number;

  constructor({
    externalAuthTimeout,
    externalAuthParallel,
    outboundProxy: proxy,
  }: Pick<Config, "externalAuthTimeout" | "externalAuthParallel" | "outboundProxy">) {
    // The operator chose the addresses, which may be private; redirects stay on the same origin.
    this.#fetch = outsideFetch({
      proxy,
      permits: () => true,
      keepsOrigin: true,
      timeout: externalAuthTimeout,
      connectTimeout: Math.min(connectTimeout, externalAuthTimeout),
    });
    this.#timeout = externalAuthTimeout;
    this.#limit = externalAuthParallel * 8;
    this.#all = boundedPool(this.#limit);
  }

  /** Returns the URL of the authorization endpoint (RFC 6749 §4.1.1) to which to redirect the browser. */
  authorizationUrl(provider: ExternalAuthProvider, { redirectUri, state, verifier }: AuthorizationRequest): string {
    const url = new URL(provider.authUrl);
    const parameters = {
      response_type: "code",
      client_id: provider.clientId,
      redirect_uri: redirectUri,
      scope: provider.scopes.join(" "),
      state,
      ...(verifier !== null && { code_challenge: challengeOf(verifier), code_challenge_method: "S256" }),
      ...typeTraits[provider.type].parameters,
    };
    for (const [name, value] of Object.entries(parameters)) if (value !== "") url.searchParams.set(name, value);
    return url.href;
  }

  /** Exchanges an authorization code for tokens (RFC 6749 §4.1.3). */
  exchange(
    provider: ExternalAuthProvider,
    code: string,
    redirectUri: string,
    verifier: string | null,
  ): Promise<TokenSet> {
    const isAssertion = provider.authMethod === "assertion";
    const grant: Record<string, string> = isAssertion
      ? { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: code }
      : { grant_type: "authorization_code", code };
    return this.#tokens(provider, {
      ...grant,
      redirect_uri: redirectUri,
      ...(verifier !== null && { code_verifier: verifier }),
    });
  }

  /** Refreshes the access token (RFC 6749 §6). */
  refresh(provider: ExternalAuthProvider, refreshToken: string, signal: AbortSignal): Promise<TokenSet> {
    const name = provider.authMethod === "assertion" ? "assertion" : "refresh_token";
    return this.#tokens(provider, { grant_type: "refresh_token", [name]: refreshToken }, signal);
  }

  /** Requests a device code (RFC 8628 §3.1). */
  async startDevice(provider: ExternalAuthProvider): Promise<DeviceAuthorization> {
    const form = { client_id: provider.clientId, scope: provider.scopes.join(" ") };
    return deviceIn(await this.#post(provider, provider.deviceCodeUrl, form));
  }

  /** Polls for the tokens of a device code once (RFC 8628 §3.4). */
  pollDevice(provider: ExternalAuthProvider, deviceCode: string): Promise<TokenSet> {
    const grant = "urn:ietf:params:oauth:grant-type:device_code";
    return this.#tokens(provider, { grant_type: grant, device_code: deviceCode });
  }

  /** Revokes the grant of the tokens (RFC 7009). */
  async revoke(provider: ExternalAuthProvider, tokens: Revocable, signal?: AbortSignal): Promise<void> {
    if (typeTraits[provider.type].revocation === "grant") {
      const headers = { authorization: basic(provider), "content-type": "application/json" };
      const body = JSON.stringify({ access_token: tokens.accessToken });
      return requireRevoked(
        await this.#call(provider, provider.revokeUrl, { method: "DELETE", headers, body, signal }),
      );
    }
    const { accessToken, refreshToken } = tokens;
    const hint = refreshToken ? "refresh_token" : "access_token";
    const form = { token: refreshToken ?? accessToken, token_type_hint: hint };
    requireRevoked(await this.#post(provider, provider.revokeUrl, form, signal));
  }

  /** Reads a resource of an account. */
  read(provider: ExternalAuthProvider, url: string, accessToken: string): Promise<Received> {
    return this.#call(provider, url, { headers: { authorization: `Bearer ${accessToken}` } });
  }

  async #tokens(provider: ExternalAuthProvider, form: Record<string, string>, signal?: AbortSignal): Promise<TokenSet> {
    const parameters = { ...form, ...typeTraits[provider.type].parameters };
    return tokensIn(await this.#post(provider, provider.tokenUrl, parameters, signal), provider.extraTokenKeys);
  }

  /** Posts a form with the credentials of the client (RFC 6749 §2.3.1, RFC 7523 §2.2). */
  #post(
    provider: ExternalAuthProvider,
    url: string,
    form: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Received> {
    const { authMethod, clientId, clientSecret } = provider;
    const credentials: Record<string, string> =
      authMethod === "basic" && clientSecret
        ? {}
        : authMethod === "assertion"
          ? { client_assertion_type: assertionType, client_assertion: clientSecret }
          : { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) };
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      ...(authMethod === "basic" && clientSecret && { authorization: basic(provider) }),
    };
    const body = new URLSearchParams({ ...form, ...credentials }).toString();
    return this.#call(provider, url, { method: "POST", headers, body, redirect: "error", signal });
  }

  async #call(provider: ExternalAuthProvider, url: string, init: RequestInit): Promise<Received> {
    const headers = {
      accept: "application/json",
      "user-agent": "steward",
      ...(init.headers as Record<string, string>),
    };
    try {
      return await this.#inTurn(provider, async () => {
        init.signal?.throwIfAborted();
        const response = await this.#fetch(url, { ...init, headers });
        return { status: response.status, headers: response.headers, text: await response.text() };
      });
    } catch (error) {
      throw new ProviderUnavailable(reasonOf(error), error);
    }
  }

  /** Runs a call when the provider, and then the process, has room for it. Gives up if that takes too long. */
  #inTurn<Result>({ id }: ExternalAuthProvider, call: () => Promise<Result>): Promise<Result> {
    let pool = this.#each.get(id);
    if (!pool) this.#each.set(id, (pool = boundedPool(Math.ceil(this.#limit / 4), mostWaiting)));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(new Error("Other calls to the provider take too long."));
    }, this.#timeout);
    const run = async () => {
      clearTimeout(timer);
      if (!isLate) resolve(await call());
    };
    pool(() => this.#all(run)).catch(reject);
    return promise;
  }
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url");

const formEncoded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);

const basic = ({ clientId, clientSecret }: ExternalAuthProvider) =>
  `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString("base64")}`;

const reasons: Record<OutsideError["reason"], string> = {
  refused: "The provider redirects, or its address is not usable.",
  unreachable: "The provider is not reachable.",
  timeout: "The provider did not respond in time.",
  too_large: "The response of the provider is too large.",
};

/** A reason that may be shown: without addresses and texts of the provider. */
const reasonOf = (error: unknown): string =>
  error instanceof OutsideError ? reasons[error.reason] : "The provider did not respond in time.";
