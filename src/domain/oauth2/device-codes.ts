import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError, onViolation } from "../kernel/errors.js";
import { hour, purge } from "../kernel/purge.js";
import { randomText } from "../tokens/text.js";
import { requestedAudiences } from "./audiences.js";
import {
  authenticateClient,
  type ClientCredentials,
  invalidClient,
  requireGrantType,
} from "./client-authentication.js";
import type { DeviceExchange } from "./exchange.js";
import { oauthFailure, requireValues } from "./failures.js";
import { invalidGrant } from "./presented.js";
import { requestedScopes } from "./scopes.js";
import { newSecret } from "./secrets.js";
import { requireOAuth2 } from "./settings.js";

/** A device authorization request (RFC 8628 §3.1). */
export interface StartOAuth2Device extends ClientCredentials {
  scope?: string | null;
  resource?: readonly string[] | null;
}

/** A device authorization response (RFC 8628 §3.2). */
export interface StartedDevice {
  deviceCode: string;
  userCode: string;
  verificationUri: string;
  verificationUriComplete: string;
  /** Seconds. */
  expiresIn: number;
  /** Seconds to wait between polls. */
  interval: number;
}

/** Letters of user codes: consonants, so that codes are no words (RFC 8628 §6.1). Eight of them have 34 bits. */
const letters = "BCDFGHJKLMNPQRSTVWXZ";

/** Seconds between polls, and seconds added after each poll that is too early (RFC 8628 §3.5). */
const interval = 5;

/** Maximum number of seconds between polls. */
const longestInterval = 3600;

const insertDeviceCode = statement<{ isCreated: true }>(`
  insert into oauth2_device_codes
    (id, secret_hash, user_code, client_id, scopes, audiences, state, ip, created_at, expires_at, poll_interval)
  values ($1, $2, $8, $3, $4, $5, 'pending', $6, now(), now() + make_interval(secs => $7), ${interval})
  on conflict (user_code) do nothing
  returning true as "isCreated"`);

const onDeletion = onViolation({ oauth2_device_codes_client_id_foreign: invalidClient });

/** Starts the authorization of a device without a browser (RFC 8628 §3.1). Returns the codes for it and for its user. */
export async function startOAuth2Device(ctx: Context, input: StartOAuth2Device): Promise<StartedDevice> {
  requireOAuth2(ctx);
  requireValues({ clientId: input.clientId });
  const client = await authenticateClient(ctx, input);
  requireGrantType(client, "urn:ietf:params:oauth:grant-type:device_code");
  const scopes = requestedScopes(client, input.scope, ctx.config);
  const audiences = await requestedAudiences(ctx, input.resource ?? []);
  const { accessUrl, oauth2DeviceTtl } = ctx.config;
  const expiresIn = oauth2DeviceTtl / 1000;
  const code = newSecret("deviceCode");
  const values = [code.id, code.secretHash, client.id, scopes, audiences, ctx.request.ip ?? null, expiresIn];
  const userCode = await insert(ctx, values);
  const verificationUri = `${accessUrl}/oauth2/device`;
  const verificationUriComplete = `${verificationUri}?user_code=${userCode}`;
  return { deviceCode: code.text, userCode, verificationUri, verificationUriComplete, expiresIn, interval };
}

/** Stores a device code with a user code that no other one has. Returns that with a dash in the middle. */
async function insert(ctx: Context, values: readonly unknown[]): Promise<string> {
  const userCode = randomText(8, letters);
  const isCreated = await ctx.row(insertDeviceCode, ...values, userCode).catch(onDeletion);
  return isCreated ? `${userCode.slice(0, 4)}-${userCode.slice(4)}` : insert(ctx, values);
}

// Locks the row: of concurrent polls, all but the first are early.
const recordPoll = statement<{ isEarly: boolean }>(`
  update oauth2_device_codes d
  set polled_at = now(),
    poll_interval = case when is_early then least(poll_interval + ${interval}, ${longestInterval}) else poll_interval end
  from (
    select id, coalesce(polled_at > now() - make_interval(secs => poll_interval), false) as is_early
    from oauth2_device_codes where id = $1 and state = 'pending' and expires_at > now() for no key update
  ) pending
  where d.id = pending.id
  returning is_early as "isEarly"`);

/**
 * Throws what keeps a device from its tokens (RFC 8628 §3.5). Polls are recorded outside of the transaction of the
 * request, which fails.
 */
export async function requireApproval({ ctx, presented: { id, state, isExpired } }: DeviceExchange): Promise<void> {
  if (state === "redeemed") throw invalidGrant();
  if (isExpired) throw oauthFailure("expired_token", "The device code has expired.");
  if (state === "denied") throw denied();
  if (state === "approved") return;
  const [poll] = await ctx.services.database.query(recordPoll, [id]);
  if (poll?.isEarly) throw oauthFailure("slow_down", `Wait ${interval} seconds longer between requests.`);
  throw oauthFailure("authorization_pending", "The user has not decided yet.");
}

/** RFC 6749 §5.2: errors of the token endpoint have the status 400, also `access_denied`. */
const denied = () => new DomainError("BAD_USER_INPUT", "The user denied the request.", { oauthError: "access_denied" });

/** Deletes device codes an hour after they expired: until then, devices learn that they did. */
export const deviceCodePurge = purge("oauth2_device_codes", { by: "expires_at", keptFor: hour });
