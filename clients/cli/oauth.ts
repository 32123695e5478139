// How this program gets access: it registers itself as a public OAuth2 client (RFC 7591), and uses the device flow
// (RFC 8628). It has no secret, and the user decides in a browser.
import * as oauth from "openid-client";
import { version } from "../../src/runtime/program-files.js";
import { Failed, Interrupted, Unreachable } from "./failures.js";
import type { Registration, Tokens } from "./logins.js";

/** All that the commands of users do. */
export const scopes =
  "user:read organization:read template:* workspace:* task:* user_secret:* inbox_notification:* " +
  "provisioner_job:read provisioner_job:update";

/** All that the commands of administrators do in addition. */
export const administrationScopes = "user:* group:* organization_member:* oauth2_app:read license:read audit_log:read";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** Seconds that a request to the server may take. */
const timeout = 30;

/** Hosts of this machine: the names of RFC 6761 section 6.3, and the loopback addresses, as `URL` writes them. */
const thisMachine = /^(?:(?:[^.]+\.)*localhost\.?|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/;

/** Whether a token can be sent to a server without others reading it. */
const isProtected = (url: string): boolean =>
  new URL(url).protocol === "https:" || thisMachine.test(new URL(url).hostname);

/** Throws `Failed` if others could read a token on its way to a server, and the user has not allowed that. */
export function requireProtection(url: string, isHttpAllowed: boolean): void {
  if (!isHttpAllowed && !isProtected(url))
    throw new Failed(`${url} is not encrypted: others could read your tokens. Use https, or --allow-http.`);
}

const optionsFor = (url: string) => ({
  algorithm: "oauth2" as const,
  timeout,
  execute: url.startsWith("http:") ? [oauth.allowInsecureRequests] : [],
  // The server names the addresses to which the tokens go.
  [oauth.customFetch]: (address: string, options: oauth.CustomFetchOptions) => {
    if (new URL(address).origin !== new URL(url).origin && !isProtected(address))
      throw new Failed(`${url} asks to send tokens to ${address}, which is not encrypted.`);
    return fetch(address, options);
  },
});

/** Registers this program as a client of a server. */
export async function register(url: string): Promise<Registration> {
  const metadata = {
    client_name: "Steward command line",
    token_endpoint_auth_method: "none",
    grant_types: [deviceGrant, "refresh_token"],
    response_types: [],
    scope: `${scopes} ${administrationScopes}`,
    software_id: "steward-cli",
    software_version: version,
  };
  const made = await attempt(url, () =>
    oauth.dynamicClientRegistration(new URL(url), metadata as never, oauth.None(), optionsFor(url)),
  );
  const { client_id: clientId, registration_client_uri: uri, registration_access_token: token } = made.clientMetadata();
  return { clientId, uri: stringOr(uri), token: stringOr(token) };
}

const stringOr = (value: unknown) => (typeof value === "string" ? value : undefined);

const clientOf = (url: string, { clientId }: Pick<Registration, "clientId">) =>
  attempt(url, () =>
    oauth.discovery(new URL(url), clientId, { token_endpoint_auth_method: "none" }, oauth.None(), optionsFor(url)),
  );

/** A request for access that waits for the user. */
export interface DeviceLogin {
  userCode: string;
  /** Where the user enters the code, and the same with the code filled in. */
  address: string;
  completeAddress: string | undefined;
  minutes: number;
  /** Resolves when the user has allowed it. */
  allowed: (signal: AbortSignal) => Promise<Tokens & { scope: string }>;
}

/** Asks for access. Returns `undefined` if the server does not know the client any more. */
export async function startDevice(
  url: string,
  registration: Registration,
  scope: string,
): Promise<DeviceLogin | undefined> {
  const client = await clientOf(url, registration);
  const started = await attempt(url, () => oauth.initiateDeviceAuthorization(client, { scope })).catch(
    (error: unknown) => {
      if (error instanceof Refusal && ["invalid_client", "unauthorized_client"].includes(error.code)) return undefined;
      throw error;
    },
  );
  if (!started) return undefined;
  return {
    userCode: started.user_code,
    address: started.verification_uri,
    completeAddress: started.verification_uri_complete,
    minutes: Math.round(started.expires_in / 60),
    async allowed(signal) {
      const response = await attempt(
        url,
        () => oauth.pollDeviceAuthorizationGrant(client, started, undefined, { signal }),
        signal,
      );
      return { ...tokensOf(response), scope: response.scope ?? scope };
    },
  };
}

/** The server rejected a request of the protocol. */
export class Refusal extends Failed {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Exchanges a refresh token for new tokens. Throws a `Refusal` if the access has ended. */
export async function renew(url: string, registration: Registration, refreshToken: string): Promise<Tokens> {
  const client = await clientOf(url, registration);
  return tokensOf(await attempt(url, () => oauth.refreshTokenGrant(client, refreshToken)));
}

/** Ends the access to which a token belongs. */
export async function revoke(url: string, registration: Registration, token: string): Promise<void> {
  const client = await clientOf(url, registration);
  await attempt(url, () => oauth.tokenRevocation(client, token, { token_type_hint: "refresh_token" }));
}

/** Deletes the registration of this program (RFC 7592). A server that does not know it any more has nothing to delete. */
export async function unregister(url: string, { uri, token }: Registration): Promise<void> {
  if (!uri || !token || new URL(uri).origin !== new URL(url).origin) return;
  await attempt(url, () =>
    fetch(uri, {
      method: "DELETE",
      headers: { Authorization: `Bearer ${token}` },
      redirect: "error",
      signal: AbortSignal.timeout(timeout * 1000),
    }),
  );
}

function tokensOf(response: oauth.TokenEndpointResponse): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds = 60 } = response;
  if (!refreshToken) throw new Failed("The server issued no refresh token.");
  return { accessToken, refreshToken, expiresAt: Date.now() + seconds * 1000 };
}

const denials: Record<string, string> = {
  access_denied: "The request was denied.",
  expired_token: "The code has expired. Start again.",
};

/** Runs a request of the protocol, and explains its failures. */
async function attempt<Result>(url: string, request: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    // The library waits for the end of its pause before it notices.
    return await (signal ? Promise.race([request(), aborted(signal)]) : request());
  } catch (error) {
    if (signal?.aborted) throw new Interrupted("Interrupted.");
    const inner = (error as Error).cause;
    if (error instanceof Failed || inner instanceof Failed) throw error instanceof Failed ? error : inner;
    if (error instanceof oauth.ResponseBodyError) {
      const said = error.error_description ?? error.error;
      throw new Refusal(error.error, denials[error.error] ?? `${url} rejected the request: ${said}`);
    }
    // Responses with a challenge, which RFC 6749 requires for an unknown client.
    if (error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401)
      throw new Refusal("invalid_client", `${url} does not know this program any more.`);
    throw explained(url, error as Error);
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Interrupted("Interrupted.")), { once: true });
  });

function explained(url: string, error: Error): Error {
  const { code, cause } = error as { code?: string; cause?: { body?: { issuer?: unknown } } };
  const issuer = cause?.body?.issuer;
  if (code === "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED" && typeof issuer === "string")
    return new Failed(`The server at ${url} calls itself ${issuer}. Use that URL.`);
  if (code === "OAUTH_MISSING_SERVER_METADATA")
    return new Failed(`${url} does not let programs register themselves. ${useToken}`);
  if (code?.startsWith("OAUTH_") && code !== "OAUTH_TIMEOUT")
    return new Failed(`${url} does not respond as a Steward server with OAuth2. ${useToken}`);
  return new Unreachable(url, error);
}

const useToken = "Check the URL, or set STEWARD_URL and STEWARD_TOKEN, an API token, instead.";
