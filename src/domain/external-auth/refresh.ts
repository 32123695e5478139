import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../../infrastructure/database/database.js";
import { auditedAs } from "../kernel/audit.js";
import { type Services, systemContext } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { ProviderRefusal, ProviderUnavailable } from "./provider-failures.js";
import type { TokenSet } from "./provider-responses.js";
import type { ExternalAuthProvider } from "./configuration.js";
import {
  linkHint,
  type LinkRow,
  noRefreshToken,
  notValidated,
  openTokens,
  readLink,
  type SealedTokens,
  sealedFields,
  sealTokens,
  storedId,
} from "./links.js";

/** Milliseconds before its expiry from which on a token is refreshed. */
const refreshAhead = minute;

/** Milliseconds for all attempts of a refresh, and between attempts: at first, and at most. */
const budget = 10_000;
const firstPause = 250;
const longestPause = 2_000;

/** Milliseconds in which a new token is written, once there is one: the old refresh token may be spent. */
const persistence = 30_000;

/** Milliseconds for which a replica claims a refresh: longer than it can take. */
const lease = budget + persistence + 15_000;

/** Milliseconds between looks at a refresh of another replica. */
const lookEvery = 100;

/** The link after a refresh; undefined if it was deleted. */
export interface Refreshed {
  link: LinkRow | undefined;
  /** Whether the token was replaced just now. */
  isNew: boolean;
  /** Why it was not. */
  problem?: string;
  /** Whether the provider failed, so that the state of the token is unknown. */
  isUnknown?: boolean;
}

/** Whether the token of a link is due for a refresh. */
export const isDue = ({ noRefresh }: ExternalAuthProvider, { expiresIn, hasRefreshToken }: LinkRow): boolean =>
  expiresIn !== null && expiresIn <= refreshAhead && hasRefreshToken && !noRefresh;

/**
 * Refreshes the token of a link. Concurrent calls share one refresh, in this process and, by a lease in the row, across
 * replicas. It continues if the callers disconnect.
 */
export const refreshOnce = (
  services: Services,
  provider: ExternalAuthProvider,
  { userId }: LinkRow,
): Promise<Refreshed> =>
  services.externalAuth.singleFlight.share(`refresh ${provider.id} ${userId}`, () =>
    refresh(services, provider, userId),
  );

/** Claims the refresh of a token that is due, unless a replica has done so. */
const claimRefresh = ({ database }: Services, { id: providerId }: ExternalAuthProvider, userId: string) =>
  database.db
    .updateTable("externalAuthLinks as l")
    .set({ refreshingUntil: after(lease) })
    .where("l.providerId", "=", storedId(providerId))
    .where("l.userId", "=", userId)
    .where("l.refreshTokenKeyId", "is not", null)
    .where("l.expiresAt", "<=", after(refreshAhead))
    .where((eb) => eb.or([eb("l.refreshingUntil", "is", null), eb("l.refreshingUntil", "<=", now)]))
    .returning(sealedFields)
    .executeTakeFirst();

async function refresh(services: Services, provider: ExternalAuthProvider, userId: string): Promise<Refreshed> {
  const deadline = performance.now() + budget;
  for (;;) {
    const claimed = await claimRefresh(services, provider, userId);
    if (claimed) return refreshClaimed(services, provider, claimed);
    const link = await readLink(services, provider.id, userId);
    if (!link || !isDue(provider, link)) return { link, isNew: link !== undefined };
    if (performance.now() > deadline) return { link, isNew: false, problem: busy, isUnknown: true };
    await sleep(lookEvery);
  }
}

const busy = "Another server is refreshing the token.";

/** Updates a link, unless its tokens were replaced since they were read. */
const updateVersion = (db: Db, { id, version }: SealedTokens) =>
  db.updateTable("externalAuthLinks").where("id", "=", id).where("version", "=", version);

/** Refreshes the token of a link that this process has claimed. */
async function refreshClaimed(
  services: Services,
  provider: ExternalAuthProvider,
  claimed: SealedTokens,
): Promise<Refreshed> {
  const { id, ownerId, version } = claimed;
  const outcome = async (failure: Pick<Refreshed, "problem" | "isUnknown"> = {}): Promise<Refreshed> => {
    const link = await readLink(services, provider.id, ownerId);
    const isNew = link !== undefined && (link.id !== id || link.version !== version);
    return isNew ? { link, isNew } : { link, isNew, ...failure };
  };
  try {
    const { refreshToken } = openTokens(services, claimed);
    const tokens = await requestTokens(services, provider, refreshToken!);
    await persist(services, provider, claimed, tokens);
    return await outcome();
  } catch (error) {
    if (error instanceof ProviderRefusal) {
      const problem = `The provider rejected the refresh of the token: ${error.code}.`;
      if (isPermanent(error)) await forgetRefreshToken(services, provider, claimed, problem);
      else if (concernsClient(error))
        services.log.error(
          { providerId: provider.id, code: error.code },
          "A provider rejected the client credentials.",
        );
      return outcome({ problem, isUnknown: error.status === 429 });
    }
    if (error instanceof ProviderUnavailable) return outcome({ problem: error.message, isUnknown: true });
    throw error;
  } finally {
    await updateVersion(services.database.db, claimed).set({ refreshingUntil: null }).execute();
  }
}

/** Requests new tokens, again after failures that may pass. */
async function requestTokens(
  { externalAuth }: Services,
  provider: ExternalAuthProvider,
  refreshToken: string,
): Promise<TokenSet> {
  const deadline = performance.now() + budget;
  const signal = AbortSignal.timeout(budget);
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      return await externalAuth.calls.refresh(provider, refreshToken, signal);
    } catch (error) {
      const mayPass =
        error instanceof ProviderUnavailable || (error instanceof ProviderRefusal && error.status === 429);
      if (!mayPass || performance.now() + pause >= deadline) throw error;
      await sleep(pause);
    }
  }
}

const clientErrors = new Set(["incorrect_client_credentials", "invalid_client"]);
const permanentErrors = new Set(["invalid_grant", "bad_refresh_token", "unauthorized_client"]);

/** Whether the provider does not accept the credentials of this server, which says nothing about the token. */
const concernsClient = ({ code }: ProviderRefusal): boolean => clientErrors.has(code);

const isPermanent = (refusal: ProviderRefusal): boolean =>
  permanentErrors.has(refusal.code) || (refusal.status === 401 && !concernsClient(refusal));

/** Writes new tokens, before anything uses them. They are in no other place, so a failed write is retried. */
async function persist(
  services: Services,
  provider: ExternalAuthProvider,
  claimed: SealedTokens,
  tokens: TokenSet,
): Promise<void> {
  const deadline = performance.now() + persistence;
  const { expiresIn, scopes } = tokens;
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      const { numUpdatedRows } = await updateVersion(services.database.db, claimed)
        .set((eb) => ({
          ...sealTokens(services, claimed, tokens),
          ...notValidated,
          ...(scopes && { scopes }),
          expiresAt: expiresIn === undefined ? null : after(expiresIn * 1000),
          refreshError: "",
          version: eb("version", "+", 1),
          updatedAt: now,
          refreshingUntil: null,
        }))
        .executeTakeFirst();
      if (numUpdatedRows === 0n) await dropUnlinked(services, provider, claimed.ownerId, tokens);
      return;
    } catch (error) {
      services.log.error({ err: error, providerId: provider.id }, "A refreshed token could not be stored.");
      if (performance.now() + pause >= deadline) throw error;
      await sleep(pause);
    }
  }
}

/** Revokes tokens of a link that was deleted during the refresh. Not if it was replaced: that may be the same grant. */
async function dropUnlinked(
  services: Services,
  provider: ExternalAuthProvider,
  userId: string,
  tokens: TokenSet,
): Promise<void> {
  if (provider.revokeUrl === "" || (await readLink(services, provider.id, userId))) return;
  services.backgroundTasks.run("revoke the token of a deleted link", (signal) =>
    services.externalAuth.calls.revoke(provider, tokens, signal),
  );
}

/** Deletes a refresh token that the provider no longer accepts, unless it was replaced. Keeps the reason. */
async function forgetRefreshToken(
  services: Services,
  { id: providerId }: ExternalAuthProvider,
  claimed: SealedTokens,
  reason: string,
): Promise<void> {
  const { id, ownerId } = claimed;
  const ctx = systemContext(services);
  await ctx.transactional(async () => {
    const { numUpdatedRows } = await updateVersion(ctx.db, claimed)
      .set({ ...noRefreshToken, refreshError: reason, updatedAt: now, refreshingUntil: null })
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    const diff = {
      userId: { old: ownerId, new: ownerId },
      refreshToken: { old: "***" },
      refreshError: { new: reason },
    };
    ctx.audit({ action: "update", ...auditedAs("external_auth_link", id, providerId), diff });
    ctx.publish(linkHint(ownerId));
  });
}
