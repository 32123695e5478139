import { sql } from "kysely";
import { deviceCodes, type SealedRow } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import type { Context } from "../kernel/context.js";
import { DomainError, Problems, rateLimited, unavailable } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { ProviderRefusal, ProviderUnavailable } from "./provider-failures.js";
import type { DeviceAuthorization, TokenSet } from "./provider-responses.js";
import { SealBroken } from "../../infrastructure/vault.js";
import { hashSecret } from "../tokens/token-text.js";
import { upstreamFailed } from "./external-auth.js";
import { makeRoom, storeLink } from "./linking.js";
import { storedId } from "./links.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { callerWho, type ExternalAuthProvider, findProvider, requireLicensed, providerRule } from "./providers.js";
import { check, inputOf, reference, required, type Input, optional, pasted, presented } from "../kernel/values.js";

export const StartExternalAuthDevice = inputOf({
  providerId: required(reference, providerRule),
});
export type StartExternalAuthDevice = Input<typeof StartExternalAuthDevice>;

const externalAuthDevices = columnsOf("externalAuthDevices");

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

/** Requests a device code for the caller. The first poll may follow immediately. */
export async function startDevice(ctx: Context, providerId: string): Promise<DeviceAuthorization> {
  const { userId, provider } = admit(ctx, providerId);
  await ctx.services.limits.links.take(userId, ctx.request);
  const device = await requestDevice(ctx, provider);
  const { deviceCode, interval, expiresIn } = device;
  const id = newId();
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(deviceCodes.place({ id, ownerId: userId }), deviceCode);
  await makeRoom(ctx, "devices", userId, provider.id);
  const code = {
    id,
    keyId,
    codeNonce: nonce,
    codeCiphertext: ciphertext,
    intervalSeconds: interval,
    nextPollAt: now,
    expiresAt: after(expiresIn * 1000),
  };
  await ctx.db
    .insertInto("externalAuthDevices")
    .values({ ...code, userId, providerId: storedId(provider.id), codeHash: hashSecret(deviceCode) })
    .onConflict((existing) =>
      existing
        .columns(["userId", "providerId", "codeHash"])
        .doUpdateSet({ ...code, pollingUntil: null, redeemedAt: null }),
    )
    .execute()
    .catch(refuseForgottenKey);
  return device;
}

async function requestDevice(ctx: Context, provider: ExternalAuthProvider): Promise<DeviceAuthorization> {
  try {
    return await ctx.services.externalAuth.calls.startDevice(provider);
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw upstreamFailed(error.message, error);
    if (!(error instanceof ProviderRefusal)) throw error;
    if (error.status === 429) throw rateLimited(error.retryAfter ?? 60, "The provider limits the rate of requests.");
    throw deviceCodeFailure(error.code);
  }
}

export const CompleteDevice = inputOf({
  providerId: required(reference, providerRule),
  deviceCode: optional(pasted(presented(4096)), "The device code. Default: the caller's newest one."),
});
export type CompleteDevice = Input<typeof CompleteDevice>;

/** Selects device codes that have not expired. */
const devices = ({ services: { database } }: Context) =>
  database.db
    .selectFrom("externalAuthDevices")
    .where("expiresAt", ">", now)
    .select((eb) => ["id", eb("redeemedAt", "is not", null).as("isRedeemed")])
    .select(sql<boolean>`coalesce(${externalAuthDevices.pollingUntil} > now(), false)`.as("isPolling"));

/**
 * Polls the provider for the caller's device code, at most once, and links the account when the user has confirmed it.
 * Also succeeds for a code that was redeemed already. Otherwise throws BAD_USER_INPUT with the code of RFC 8628 §3.5 in
 * `reason`. Returns the id of the provider. Polls are recorded outside of the transaction, because failures must be recorded, too.
 */
export async function completeDevice(ctx: Context, { providerId, deviceCode }: CompleteDevice): Promise<string> {
  const { userId, provider } = admit(ctx, providerId);
  const problems = new Problems();
  check(CompleteDevice, { deviceCode }, problems);
  problems.throwIfAny();
  const own = devices(ctx).where("userId", "=", userId).where("providerId", "=", storedId(provider.id));
  const device = deviceCode
    ? await own.where("codeHash", "=", hashSecret(deviceCode)).executeTakeFirst()
    : await own.orderBy("isRedeemed").orderBy("id", "desc").limit(1).executeTakeFirst();
  if (!device) throw deviceCodeFailure("expired_token");
  if (device.isRedeemed) return provider.id;
  const claimed = await claim(ctx, device.id);
  if (claimed === "redeemed") return provider.id;
  const tokens = await poll(ctx, provider, claimed);
  await storeLink(ctx, provider, userId, tokens, device.id);
  return provider.id;
}

/** Milliseconds that the storage of a link may take after the response of the provider. */
const margin = 30_000;

/**
 * Extends the interval after polls that are too frequent. The next poll stays one interval after the last one, so that a
 * client that polls too often is not locked out.
 */
const extendInterval = ({ services: { database } }: Context, id: string) => {
  const extended = sql`greatest(${externalAuthDevices.intervalSeconds}, least(${externalAuthDevices.intervalSeconds} + ${sql.lit(slowDown.by)}, ${sql.lit(slowDown.upTo)}))`;
  return database.db
    .updateTable("externalAuthDevices")
    .set({
      intervalSeconds: sql<number>`${extended}`,
      nextPollAt: sql<string>`${externalAuthDevices.nextPollAt} + make_interval(secs => ${extended} - ${externalAuthDevices.intervalSeconds})`,
    })
    .where("id", "=", id)
    .execute();
};

/** Reserves the poll of a code. Throws the refusal for a code that is polled already, or too early. */
async function claim(ctx: Context, id: string): Promise<SealedRow | "redeemed"> {
  const { database, config } = ctx.services;
  const claimed = await database.db
    .updateTable("externalAuthDevices")
    .set({ pollingUntil: after(config.externalAuthTimeout + margin) })
    .where("id", "=", id)
    .where("redeemedAt", "is", null)
    .where("expiresAt", ">", now)
    .where("nextPollAt", "<=", now)
    .where((eb) => eb.or([eb("pollingUntil", "is", null), eb("pollingUntil", "<=", now)]))
    .returning(["id", "userId as ownerId", "keyId", "codeNonce as nonce", "codeCiphertext as ciphertext"])
    .executeTakeFirst();
  if (claimed) return claimed;
  const device = await devices(ctx).where("id", "=", id).executeTakeFirst();
  if (!device) throw deviceCodeFailure("expired_token");
  if (device.isRedeemed) return "redeemed";
  if (device.isPolling) throw deviceCodeFailure("authorization_pending");
  await extendInterval(ctx, id);
  throw deviceCodeFailure("slow_down");
}

/** Ends a poll without a token. The code is dropped if `isOver`. */
async function endPoll({ services: { database } }: Context, id: string, isOver: boolean): Promise<void> {
  if (isOver) await database.db.deleteFrom("externalAuthDevices").where("id", "=", id).execute();
  else
    await database.db
      .updateTable("externalAuthDevices")
      .set({
        pollingUntil: null,
        nextPollAt: sql<string>`now() + make_interval(secs => ${externalAuthDevices.intervalSeconds})`,
      })
      .where("id", "=", id)
      .where("redeemedAt", "is", null)
      .execute();
}

async function poll(ctx: Context, provider: ExternalAuthProvider, claimed: SealedRow): Promise<TokenSet> {
  try {
    return await ctx.services.externalAuth.calls.pollDevice(provider, codeOf(ctx, claimed));
  } catch (error) {
    const code = error instanceof ProviderRefusal ? error.code : undefined;
    await endPoll(ctx, claimed.id, code === "expired_token" || code === "access_denied");
    if (code === "slow_down") await extendInterval(ctx, claimed.id);
    if (error instanceof ProviderRefusal && error.status === 429) throw rateLimited(error.retryAfter ?? 60);
    if (code !== undefined) throw deviceCodeFailure(code);
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
const deviceCodeFailure = (reason: string) =>
  new DomainError("BAD_USER_INPUT", messages.get(reason) ?? "The provider rejected the device code.", {
    detail: reason,
    reason,
  });
