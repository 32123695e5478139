import { auditAtOnce, auditedAs } from "../audit/audit.js";
import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { minute } from "../kernel/purge.js";
import { ProviderRefusal, ProviderUnavailable } from "../outside/external-providers/failures.js";
import type { Revocable } from "../outside/external-providers/external-providers.js";
import type { ExternalAuthProvider } from "./configuration.js";
import { linkHint, openTokens, type SealedTokens, sealedColumns, storedId } from "./links.js";
import { callerWho } from "./providers.js";

/** The result of unlinking an account. */
export interface Unlinked {
  providerId: string;
  /** Whether the provider has revoked the tokens. */
  tokenRevoked: boolean;
  /** Why it has not; null if it has, or if the provider revokes none. */
  tokenRevocationError: string | null;
}

const deleteLink = statement<SealedTokens>(`
  with redeemed as (
    delete from external_auth_devices where provider_id = $1 and user_id = $2 and redeemed_at is not null
  )
  delete from external_auth_links l where l.provider_id = $1 and l.user_id = $2 returning ${sealedColumns}`);

/** Milliseconds for the revocation. */
const budget = 10_000;

/**
 * Unlinks the caller's account at a provider, which may have been removed. The deletion is committed before the provider
 * is called, so that the provider cannot prevent it.
 */
export async function deleteExternalAuth(ctx: Context, id: string): Promise<Unlinked> {
  const userId = callerWho(ctx, "external_auth_link:delete");
  const provider = ctx.services.externalAuth.find(id);
  const revoking = provider && provider.revokeUrl !== "" ? provider : undefined;
  const own = ctx.afresh();
  const deleted = await own.transactional(async () => {
    const link = await own.row(deleteLink, storedId(id), userId);
    if (!link) throw notFound();
    const audited = auditedAs("external_auth_link", link.id, storedId(id));
    const diff = { userId: { old: userId }, accessToken: { old: "***" } };
    own.audit({ action: "delete", ...audited, diff });
    own.publish(linkHint(userId));
    return { audited, tokens: revoking && openTokens(ctx.services, link) };
  });
  const providerId = provider?.id ?? storedId(id);
  if (!revoking || !deleted.tokens) return { providerId, tokenRevoked: false, tokenRevocationError: null };
  const failure = await revoke(ctx.services, revoking, deleted.tokens);
  await recordRevocation(ctx, deleted.audited, failure);
  return { providerId, tokenRevoked: failure === null, tokenRevocationError: failure };
}

/** Revokes tokens. Returns why that failed; null if it did not. */
async function revoke(
  { externalAuth }: Services,
  provider: ExternalAuthProvider,
  tokens: Revocable,
): Promise<string | null> {
  try {
    await externalAuth.calls.revoke(provider, tokens, AbortSignal.timeout(budget));
    return null;
  } catch (error) {
    if (error instanceof ProviderRefusal || error instanceof ProviderUnavailable) return error.message;
    throw error;
  }
}

/** Records the result. Its failure is logged only: the link is deleted. */
async function recordRevocation(
  ctx: Context,
  audited: ReturnType<typeof auditedAs>,
  failure: string | null,
): Promise<void> {
  const diff = { revoked: { new: failure === null }, ...(failure && { error: { new: failure } }) };
  try {
    await auditAtOnce(ctx, { action: "revoke", ...audited, diff });
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.request.id }, "A revocation could not be recorded.");
  }
}

/** Attempts to revoke a token of a deleted user, and links that are revoked concurrently. */
const mostAttempts = 5;
const batchSize = 20;

interface Due extends SealedTokens {
  providerId: string;
  attempts: number;
}

// The next attempt is set first: a server that stops in between delays it, and loses nothing.
const claimDue = statement<Due>(`
  update external_auth_links l set revoke_attempts = l.revoke_attempts + 1,
    revoke_at = now() + interval '1 minute' * 2 ^ l.revoke_attempts
  where l.id in (
    select id from external_auth_links where revoke_at <= now() order by revoke_at limit ${batchSize}
    for no key update skip locked
  )
  returning ${sealedColumns}, l.provider_id as "providerId", l.revoke_attempts as attempts`);

const dropLinks = statement(`delete from external_auth_links where id = any($1::uuid[]) and revoke_at is not null`);

/** Revokes the tokens of deleted users, with five attempts each. */
export const revocationJob = {
  name: "revoke tokens of deleted users",
  every: minute,
  async run(services: Services): Promise<void> {
    for (;;) {
      const due = await services.database.query(claimDue, []);
      if (due.length === 0) return;
      const isDone = await Promise.all(due.map((link) => revokeDue(services, link)));
      await services.database.query(dropLinks, [due.filter((_, index) => isDone[index]).map(({ id }) => id)]);
    }
  },
};

/** Revokes the tokens of a link. Returns whether no further attempt is to be made. */
async function revokeDue(services: Services, link: Due): Promise<boolean> {
  const provider = services.externalAuth.find(link.providerId);
  if (!provider || provider.revokeUrl === "") return true;
  try {
    if ((await revoke(services, provider, openTokens(services, link))) === null) return true;
  } catch (error) {
    services.log.warn({ err: error, providerId: provider.id }, "A token of a deleted user could not be revoked.");
  }
  return link.attempts >= mostAttempts;
}
