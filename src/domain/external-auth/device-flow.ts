import { deviceCodes, type SealedRow } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/keys.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { DomainError, rateLimited, unavailable } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { ProviderRefusal, ProviderUnavailable } from "../outside/external-providers/failures.js";
import type { DeviceAuthorization, TokenSet } from "../outside/external-providers/responses.js";
import { SealBroken } from "../outside/vault.js";
import { hashSecret } from "../tokens/text.js";
import { upstreamFailed } from "./external-auth.js";
import { makeRoom, storeLink } from "./linking.js";
import { storedId } from "./links.js";
import { callerWho, type ExternalAuthProvider, findProvider, requireLicensed } from "./providers.js";

/** Seconds by which polls that are too frequent extend the interval (RFC 8628 §3.5), and up to which. */
const slowDown = { by: 5, upTo: 60 };

/** The provider, which must support device codes, and the caller. */
function admit(ctx: Context, providerId: string): { userId: string; provider: ExternalAuthProvider } {
  const userId = callerWho(ctx, "external_auth_link:update");
  const provider = findProvider(ctx, providerId);
  requireLicensed(ctx, provider);
  if (!provider.deviceFlow) throw new DomainError("BAD_USER_INPUT", "The provider does not support device codes.");
  return { userId, provider };
}

const insertDevice = statement(`
  insert into external_auth_devices (id, user_id, provider_id, code_hash, key_id, code_nonce, code_ciphertext,
    interval_seconds, next_poll_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, now(), now() + make_interval(secs => $9))
  on conflict (user_id, provider_id, code_hash) do update
  set (id, key_id, code_nonce, code_ciphertext, interval_seconds, next_poll_at, expires_at) = (excluded.id,
      excluded.key_id, excluded.code_nonce, excluded.code_ciphertext, excluded.interval_seconds, excluded.next_poll_at,
      excluded.expires_at),
    polling_until = null, redeemed_at = null`);

/** Requests a device code for the caller. The first poll may follow immediately. */
export async function startDevice(ctx: Context, providerId: string): Promise<DeviceAuthorization> {
  const { userId, provider } = admit(ctx, providerId);
  await ctx.services.limits.links.take(userId, ctx.request);
  const device = await requestDevice(ctx, provider);
  const { deviceCode, interval, expiresIn } = device;
  const id = newId();
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(deviceCodes.place({ id, ownerId: userId }), deviceCode);
  const values = [id, userId, storedId(provider.id), hashSecret(deviceCode), keyId, nonce, ciphertext];
  await makeRoom(ctx, "devices", userId, provider.id);
  await ctx.rows(insertDevice, ...values, interval, expiresIn).catch(refuseForgottenKey);
  return device;
}

async function requestDevice(ctx: Context, provider: ExternalAuthProvider): Promise<DeviceAuthorization> {
  try {
    return await ctx.services.externalAuth.calls.startDevice(provider);
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw upstreamFailed(error.message, error);
    if (!(error instanceof ProviderRefusal)) throw error;
    if (error.status === 429) throw rateLimited(error.retryAfter ?? 60, "The provider limits the rate of requests.");
    throw refused(error.code);
  }
}

export interface CompleteDevice {
  providerId: string;
  /** Default: the newest code of the caller. */
  deviceCode?: string | null;
}

interface DeviceRow {
  id: string;
  isRedeemed: boolean;
  isPolling: boolean;
}

const deviceColumns = `id, redeemed_at is not null as "isRedeemed", coalesce(polling_until > now(), false) as "isPolling"`;

const deviceByCode = lookup<DeviceRow>(`
  select ${deviceColumns} from external_auth_devices
  where user_id = $1 and provider_id = $2 and code_hash = $3 and expires_at > now()`);

const newestDevice = lookup<DeviceRow>(`
  select ${deviceColumns} from external_auth_devices where user_id = $1 and provider_id = $2 and expires_at > now()
  order by redeemed_at is not null, id desc limit 1`);

/**
 * Polls the provider for the caller's device code, at most once, and links the account when the user has confirmed it.
 * Also succeeds for a code that was redeemed already. Otherwise throws BAD_USER_INPUT with the code of RFC 8628 §3.5 in
 * `reason`. Returns the id of the provider. Polls are recorded outside of the transaction, because failures must be recorded, too.
 */
export async function completeDevice(ctx: Context, { providerId, deviceCode }: CompleteDevice): Promise<string> {
  const { userId, provider } = admit(ctx, providerId);
  const { database } = ctx.services;
  const owner = [userId, storedId(provider.id)];
  const [device] = deviceCode
    ? await database.query(deviceByCode, [...owner, hashSecret(deviceCode)])
    : await database.query(newestDevice, owner);
  if (!device) throw refused("expired_token");
  if (device.isRedeemed) return provider.id;
  const claimed = await claim(ctx, device.id);
  if (claimed === "redeemed") return provider.id;
  const tokens = await poll(ctx, provider, claimed);
  await storeLink(ctx, provider, userId, tokens, device.id);
  return provider.id;
}

/** Seconds that the storage of a link may take after the response of the provider. */
const margin = 30;

const claimPoll = statement<SealedRow>(`
  update external_auth_devices set polling_until = now() + make_interval(secs => $2)
  where id = $1 and redeemed_at is null and expires_at > now() and next_poll_at <= now()
    and (polling_until is null or polling_until <= now())
  returning id, user_id as "ownerId", key_id as "keyId", code_nonce as nonce, code_ciphertext as ciphertext`);

const deviceById = lookup<DeviceRow>(
  `select ${deviceColumns} from external_auth_devices where id = $1 and expires_at > now()`,
);

/** The interval of polls that are too frequent. */
const extended = `greatest(interval_seconds, least(interval_seconds + ${slowDown.by}, ${slowDown.upTo}))`;

// The next poll stays one interval after the last one, so that a client that polls too often is not locked out.
const extendInterval = statement(`
  update external_auth_devices set interval_seconds = ${extended},
    next_poll_at = next_poll_at + make_interval(secs => ${extended} - interval_seconds)
  where id = $1`);

/** Reserves the poll of a code. Throws the refusal for a code that is polled already, or too early. */
async function claim({ services }: Context, id: string): Promise<SealedRow | "redeemed"> {
  const { database, config } = services;
  const [claimed] = await database.query(claimPoll, [id, config.externalAuthTimeout / 1000 + margin]);
  if (claimed) return claimed;
  const [device] = await database.query(deviceById, [id]);
  if (!device) throw refused("expired_token");
  if (device.isRedeemed) return "redeemed";
  if (device.isPolling) throw refused("authorization_pending");
  await database.query(extendInterval, [id]);
  throw refused("slow_down");
}

const finishPoll = statement(`
  update external_auth_devices set polling_until = null, next_poll_at = now() + make_interval(secs => interval_seconds)
  where id = $1 and redeemed_at is null`);

const dropDevice = statement(`delete from external_auth_devices where id = $1`);

async function poll(ctx: Context, provider: ExternalAuthProvider, claimed: SealedRow): Promise<TokenSet> {
  const { database, externalAuth } = ctx.services;
  try {
    return await externalAuth.calls.pollDevice(provider, codeOf(ctx, claimed));
  } catch (error) {
    const code = error instanceof ProviderRefusal ? error.code : undefined;
    if (code === "expired_token" || code === "access_denied") await database.query(dropDevice, [claimed.id]);
    else await database.query(finishPoll, [claimed.id]);
    if (code === "slow_down") await database.query(extendInterval, [claimed.id]);
    if (error instanceof ProviderRefusal && error.status === 429) throw rateLimited(error.retryAfter ?? 60);
    if (code !== undefined) throw refused(code);
    throw error instanceof ProviderUnavailable ? upstreamFailed(error.message, error) : error;
  }
}

function codeOf({ services }: Context, claimed: SealedRow): string {
  try {
    return services.vault.open(deviceCodes.place(claimed), claimed);
  } catch (error) {
    throw error instanceof SealBroken ? unavailable("A stored device code cannot be decrypted.") : error;
  }
}

const messages = new Map([
  ["authorization_pending", "The code has not been confirmed at the provider yet."],
  ["slow_down", "The code was checked too early. Wait longer between checks."],
  ["expired_token", "The code has expired, or is not known. Request a new one."],
  ["access_denied", "The request was denied at the provider."],
]);

/** The error for a device code, with the code of the reason in lower case. */
const refused = (reason: string) =>
  new DomainError("BAD_USER_INPUT", messages.get(reason) ?? "The provider rejected the device code.", {
    detail: reason,
    reason,
  });
