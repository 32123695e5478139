import { setTimeout as sleep } from "node:timers/promises";
import { auditedAs } from "../audit/audit.js";
import { systemActor } from "../kernel/actor.js";
import { Context, type Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { ProviderRefusal, ProviderUnavailable } from "../outside/external-providers/failures.js";
import type { TokenSet } from "../outside/external-providers/responses.js";
import type { ExternalAuthProvider } from "./configuration.js";
import {
  linkHint,
  type LinkRow,
  openTokens,
  readLink,
  refreshAhead,
  type SealedTokens,
  sealedColumns,
  sealTokens,
  tokenColumns,
} from "./links.js";

/** Milliseconds for all attempts of a refresh, and between attempts: at first, and at most. */
const budget = 10_000;
const [firstPause, longestPause] = [250, 2_000];

/** Milliseconds in which a new token is written, once there is one: the old refresh token may be spent. */
const persistence = 30_000;

/** Seconds for which a replica claims a refresh: longer than it can take. */
const lease = (budget + persistence) / 1000 + 15;

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
export const isDue = ({ noRefresh }: ExternalAuthProvider, { isExpiring, hasRefreshToken }: LinkRow): boolean =>
  isExpiring && hasRefreshToken && !noRefresh;

/**
 * Refreshes the token of a link. Concurrent calls share one refresh, in this process and, by a lease in the row, across
 * replicas. It continues if the callers disconnect.
 */
export const refreshOnce = (
  services: Services,
  provider: ExternalAuthProvider,
  { userId }: LinkRow,
): Promise<Refreshed> =>
  services.externalAuth.flights.share(`refresh ${provider.id} ${userId}`, () => refresh(services, provider, userId));

const claimRefresh = statement<SealedTokens>(`
  update external_auth_links l set refreshing_until = now() + interval '${lease} s'
  where l.provider_id = $1 and l.user_id = $2 and l.refresh_token_key_id is not null
    and l.expires_at <= now() + interval '${refreshAhead} s'
    and (l.refreshing_until is null or l.refreshing_until <= now())
  returning ${sealedColumns}`);

async function refresh(services: Services, provider: ExternalAuthProvider, userId: string): Promise<Refreshed> {
  const { database } = services;
  const deadline = performance.now() + budget;
  for (;;) {
    const [claimed] = await database.query(claimRefresh, [provider.id.toLowerCase(), userId]);
    if (claimed) return refreshClaimed(services, provider, claimed);
    const link = await readLink(services, provider.id, userId);
    if (!link || !isDue(provider, link)) return { link, isNew: link !== undefined };
    if (performance.now() > deadline) return { link, isNew: false, problem: busy, isUnknown: true };
    await sleep(lookEvery);
  }
}

const busy = "Another server is refreshing the token.";

const releaseClaim = statement(`update external_auth_links set refreshing_until = null where id = $1 and version = $2`);

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
    await services.database.query(releaseClaim, [id, version]);
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

const storeRefreshed = statement<{ id: string }>(`
  update external_auth_links set (${tokenColumns.join(", ")}) = ($3, $4, $5,
      coalesce($6, refresh_token_key_id), coalesce($7, refresh_token_nonce), coalesce($8, refresh_token_ciphertext),
      coalesce($9, extra_key_id), coalesce($10, extra_nonce), coalesce($11, extra_ciphertext)),
    expires_at = now() + make_interval(secs => $12), scopes = coalesce($13, scopes), refresh_error = '',
    version = version + 1, updated_at = now(), refreshing_until = null,
    validation = 'unknown', validated_at = null, validation_paused_until = null
  where id = $1 and version = $2
  returning id`);

/** Writes new tokens, before anything uses them. They are in no other place, so a failed write is retried. */
async function persist(
  services: Services,
  provider: ExternalAuthProvider,
  { id, ownerId, version }: SealedTokens,
  tokens: TokenSet,
): Promise<void> {
  const deadline = performance.now() + persistence;
  const { expiresIn = null, scopes = null } = tokens;
  for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
    try {
      const sealed = sealTokens(services, { id, ownerId }, tokens);
      const [stored] = await services.database.query(storeRefreshed, [id, version, ...sealed, expiresIn, scopes]);
      if (!stored) await dropUnlinked(services, provider, ownerId, tokens);
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
  services.errands.run("revoke the token of a deleted link", (signal) =>
    services.externalAuth.calls.revoke(provider, tokens, signal),
  );
}

const forget = statement<{ id: string }>(`
  update external_auth_links set refresh_token_key_id = null, refresh_token_nonce = null, refresh_token_ciphertext = null,
    refresh_error = $3, updated_at = now(), refreshing_until = null
  where id = $1 and version = $2
  returning id`);

/** Deletes a refresh token that the provider no longer accepts, unless it was replaced. Keeps the reason. */
async function forgetRefreshToken(
  services: Services,
  { id: providerId }: ExternalAuthProvider,
  { id, ownerId, version }: SealedTokens,
  reason: string,
): Promise<void> {
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  await ctx.transactional(async () => {
    if (!(await ctx.row(forget, id, version, reason))) return;
    const diff = {
      userId: { old: ownerId, new: ownerId },
      refreshToken: { old: "***" },
      refreshError: { new: reason },
    };
    ctx.audit({ action: "update", ...auditedAs("external_auth_link", id, providerId), diff });
    ctx.publish(linkHint(ownerId));
  });
}
