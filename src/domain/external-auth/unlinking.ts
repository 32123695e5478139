import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { auditAtOnce, auditedAs } from "../kernel/audit.js";
import type { Context, Services } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { claimIds } from "../kernel/queue.js";
import { ProviderRefusal, ProviderUnavailable } from "./provider-failures.js";
import type { Revocable } from "./external-providers.js";
import type { ExternalAuthProvider } from "./configuration.js";
import { linkHint, openTokens, sealedFields, storedId } from "./links.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { callerWho, providerRule } from "./providers.js";
import { inputOf, reference, required, type Input } from "../kernel/values.js";

const l = columnsOf("externalAuthLinks", "l");

/** The result of unlinking an account. */
export interface Unlinked {
  providerId: string;
  /** Whether the provider has revoked the tokens. */
  tokenRevoked: boolean;
  /** Why it has not; null if it has, or if the provider revokes none. */
  tokenRevocationError: string | null;
}

/** Milliseconds for the revocation. */
const budget = 10_000;

export const DeleteExternalAuth = inputOf({
  providerId: required(reference, `${providerRule} The provider may have been removed.`),
});
export type DeleteExternalAuth = Input<typeof DeleteExternalAuth>;

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
    await own.db
      .deleteFrom("externalAuthDevices")
      .where("providerId", "=", storedId(id))
      .where("userId", "=", userId)
      .where("redeemedAt", "is not", null)
      .execute();
    const link = await own.db
      .deleteFrom("externalAuthLinks as l")
      .where("l.providerId", "=", storedId(id))
      .where("l.userId", "=", userId)
      .returning(sealedFields)
      .executeTakeFirst();
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

/**
 * Claims links whose tokens are to be revoked. Sets the next attempt first: a server that stops in between delays it, and
 * loses nothing.
 */
const claimDue = (db: Db) => {
  const due = db.selectFrom("externalAuthLinks").where("revokeAt", "<=", now).orderBy("revokeAt").select("id");
  return db
    .updateTable("externalAuthLinks as l")
    .where("l.id", "=", claimIds(due, batchSize))
    .set((eb) => ({
      revokeAttempts: eb("l.revokeAttempts", "+", 1),
      revokeAt: sql<string>`now() + interval '1 minute' * 2 ^ ${l.revokeAttempts}`,
    }))
    .returning(sealedFields)
    .returning(["l.providerId", "l.revokeAttempts"]);
};

type Due = InferResult<ReturnType<typeof claimDue>>[number];

/** Revokes the tokens of deleted users, with five attempts each. */
export const revocationJob = {
  name: "revoke tokens of deleted users",
  every: minute,
  async run(services: Services): Promise<void> {
    const { db } = services.database;
    for (;;) {
      const due = await claimDue(db).execute();
      if (due.length === 0) return;
      const isDone = await Promise.all(due.map((link) => revokeDue(services, link)));
      const done = due.filter((_, index) => isDone[index]).map(({ id }) => id);
      await db
        .deleteFrom("externalAuthLinks")
        .where("id", "=", anyOf(done))
        .where("revokeAt", "is not", null)
        .execute();
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
  return link.revokeAttempts >= mostAttempts;
}
