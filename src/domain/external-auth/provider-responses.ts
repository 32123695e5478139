import { retryAfterIn } from "../../infrastructure/retry-after.js";
import { isObject, jsonIn } from "../../runtime/json.js";
import { isStorable } from "../../runtime/text.js";
import { isValid, httpUrl } from "../kernel/values.js";
import { codeIn, ProviderRefusal, ProviderUnavailable } from "./provider-failures.js";

/** A response that was received completely. */
export interface Received {
  status: number;
  headers: Headers;
  text: string;
}

/** The tokens of an account at a provider. */
export interface TokenSet {
  accessToken: string;
  refreshToken?: string;
  /** Seconds; absent if the access token does not expire. */
  expiresIn?: number;
  /** Absent if the provider does not name them. */
  scopes?: string[];
  /** Further fields of the response, as JSON. */
  extra?: string;
}

/** A device authorization (RFC 8628 §3.2). */
export interface DeviceAuthorization {
  deviceCode: string;
  userCode: string;
  /** Null if the provider returned no http or https URL. */
  verificationUri: string | null;
  /** Seconds. */
  expiresIn: number;
  /** Minimum seconds between polls. */
  interval: number;
}

type Json = Record<string, unknown>;

/** Parses a response body: a JSON object or, whatever its type says, a form. Returns undefined for any other text. */
export function objectIn({ text }: Received): Json | undefined {
  const parsed = jsonIn(text);
  if (parsed !== undefined) return isObject(parsed) ? parsed : undefined;
  return /^[\w.-]+=[^<>\s]*$/.test(text.trim()) ? Object.fromEntries(new URLSearchParams(text.trim())) : undefined;
}

/** Codes with which providers reject a refresh for good. They count even in responses with a status of server errors. */
const definite = new Set(["invalid_grant", "bad_refresh_token"]);

/** Returns the object in a response of an OAuth endpoint. Throws a refusal for an error, whatever the status is. */
function acceptResponse(received: Received): Json {
  const { status, headers } = received;
  const body = objectIn(received);
  const isError = body !== undefined && (body.error != null || body.ok === false);
  const code = codeIn(body?.error);
  if (status === 429) throw new ProviderRefusal("rate_limited", status, secondsToWait(headers));
  if (status >= 500 && !(isError && definite.has(code)))
    throw new ProviderUnavailable(`The provider returned status ${status}.`);
  if (isError) throw new ProviderRefusal(code, status);
  if (status >= 400) throw new ProviderRefusal(`http_${status}`, status);
  if (body === undefined) throw new ProviderUnavailable("The provider returned a response that is not readable.");
  return body;
}

/** Bytes of a token. */
const longestToken = 16 * 1024;

/** A token of visible characters (RFC 6749 Appendix A.12). */
const isToken = (value: unknown): value is string =>
  typeof value === "string" && value.length <= longestToken && /^[\x20-\x7e]+$/.test(value);

/** Reads a token response (RFC 6749 §5.1). `extraKeys` are the fields to keep. */
export function tokensIn(received: Received, extraKeys: readonly string[]): TokenSet {
  const body = acceptResponse(received);
  // Slack returns the token of a user inside of another object.
  const user = isObject(body.authed_user) ? body.authed_user : {};
  const accessToken = body.access_token ?? user.access_token;
  if (accessToken === undefined || accessToken === null) throw new ProviderRefusal("no_access_token", received.status);
  const refreshToken = body.refresh_token ?? undefined;
  const isUsable = isToken(accessToken) && (refreshToken === undefined || refreshToken === "" || isToken(refreshToken));
  if (!isUsable || !isBearer(body)) throw new ProviderUnavailable("The provider returned a token that is not usable.");
  const extra = extraIn(body, extraKeys);
  return {
    accessToken,
    ...(refreshToken && { refreshToken }),
    expiresIn: secondsIn(body.expires_in, mostSeconds),
    scopes: scopesIn(body.scope ?? body.scopes),
    extra,
  };
}

/** Whether a token is sent as a bearer token (RFC 6750). Slack names the holder instead, Azure its own kind. */
const isBearer = ({ token_type: type, ok }: Json): boolean =>
  typeof type !== "string" || ok === true || /(^|-)bearer$/i.test(type);

function extraIn(body: Json, keys: readonly string[]): string | undefined {
  const kept = Object.entries(body).filter(([key]) => keys.includes(key));
  if (kept.length === 0) return undefined;
  const extra = JSON.stringify(Object.fromEntries(kept));
  if (Buffer.byteLength(extra) > longestToken)
    throw new ProviderUnavailable("The provider returned fields that are too large.");
  return extra;
}

/** Ten years: longer lifetimes count as none. */
const mostSeconds = 315_360_000;

/** A positive number of seconds, given as a number or as digits. */
function secondsIn(value: unknown, most: number): number | undefined {
  const seconds = typeof value === "string" && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds > 0 && seconds <= most ? Math.ceil(seconds) : undefined;
}

function scopesIn(value: unknown): string[] | undefined {
  if (typeof value !== "string" || !isStorable(value)) return undefined;
  const scopes = value.split(/[\s,]+/).filter((scope) => scope !== "" && scope.length <= 256);
  return scopes.slice(0, 100);
}

const usual = { expiresIn: 900, interval: 5 };

/** Seconds. */
const longestDevice = 86_400;
const longestInterval = 300;

/** Reads a device authorization response (RFC 8628 §3.2). */
export function deviceIn(received: Received): DeviceAuthorization {
  const body = acceptResponse(received);
  const { device_code: deviceCode, user_code: userCode } = body;
  if (!isToken(deviceCode) || !isToken(userCode) || userCode.length > 256)
    throw new ProviderUnavailable("The provider returned no device code.");
  return {
    deviceCode,
    userCode,
    verificationUri: urlIn(body.verification_uri ?? body.verification_url),
    expiresIn: secondsIn(body.expires_in, longestDevice) ?? usual.expiresIn,
    interval: secondsIn(body.interval, longestInterval) ?? usual.interval,
  };
}

/** An http or https URL that may be shown; null for any other value. */
export const urlIn = (value: unknown): string | null =>
  typeof value === "string" && isValid(httpUrl, value) ? value : null;

/** Throws a refusal unless a token was revoked (RFC 7009 §2.2). */
export function requireRevoked(received: Received): void {
  const { status } = received;
  if (status >= 500) throw new ProviderUnavailable(`The provider returned status ${status}.`);
  const body = objectIn(received);
  if (status !== 200 && status !== 204) throw new ProviderRefusal(body ? codeIn(body.error) : `http_${status}`, status);
  if (body?.ok === false) throw new ProviderRefusal(codeIn(body.error), status);
}

/** Seconds to wait before a retry, at most an hour. */
export function secondsToWait(headers: Headers): number | undefined {
  const wait = retryAfterIn(headers);
  return wait === undefined ? undefined : Math.min(3600, Math.max(1, Math.ceil(wait / 1000)));
}
