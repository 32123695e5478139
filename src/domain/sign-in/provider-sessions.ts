// Sessions that began at an OpenID provider: what is known of the session there.
import { newId } from "../kernel/ids.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import type { Identity, SessionThere } from "../../infrastructure/identity-providers.js";
import { logoutTokenLifetime } from "../../infrastructure/logout-tokens.js";
import type { Claims } from "../../infrastructure/oidc-claims.js";
import type { PublicSettings } from "./provider-settings.js";
import { providerSessionTokens } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { forbidden } from "../kernel/errors.js";
import { after, anyOf, now } from "../kernel/queries.js";
import { keyHint } from "../tokens/hints.js";
import { hashSecret, parseToken } from "../tokens/token-text.js";

/** The tokens of a session at a provider, which are sealed. */
export interface Tokens {
  /** To ask the provider to end its session. */
  idToken?: string;
  /** To ask the provider about the person again. */
  refreshToken?: string;
  /** To try mappings on, as long as no sign-in applies them. */
  claims?: Claims;
}

/** Maximum length in characters of an ID token that is kept: it is sent in a URL. */
const longestIdToken = 4096;

/** Maximum length in characters of claims that are kept, as JSON. */
const longestClaims = 32_768;

const tokensOf = ({ idToken, refreshToken }: SessionThere, claims: Claims | undefined): Tokens => ({
  ...(idToken.length <= longestIdToken && { idToken }),
  ...(refreshToken !== undefined && { refreshToken }),
  ...(claims !== undefined && JSON.stringify(claims).length <= longestClaims && { claims }),
});

/**
 * Remembers the session at a provider with which a session began. Throws FORBIDDEN if it has ended there while the sign-in
 * was on its way.
 */
export async function keepProviderSession(
  ctx: Context,
  sessionToken: string,
  { provider, issuer, session, claims }: Identity,
  { checkInterval, claimMappings, appliesClaims }: PublicSettings,
): Promise<void> {
  if (!session) return;
  const { subject, id: sid } = session;
  if (sid !== undefined) {
    const ended = endOf({ provider, issuer, sid });
    await takeTurn(ctx, "provider_sessions", ended.toString("hex"));
    const isEnded = ctx.db.selectFrom("spentSignIns").select("stateHash").where("stateHash", "=", ended);
    if (await isEnded.executeTakeFirst())
      throw forbidden("You have signed out at the provider meanwhile.", { detail: "Sign in again." });
  }
  const id = newId();
  const isTried = claimMappings.length > 0 && !appliesClaims;
  const isChecked = checkInterval > 0 && session.refreshToken !== undefined;
  await ctx.db
    .insertInto("providerSessions")
    .values({
      id,
      apiKeyId: parseToken(sessionToken)!.id,
      provider,
      issuer,
      subject,
      sid: sid ?? null,
      ...sealTokens(ctx, id, tokensOf(session, isTried ? claims : undefined)),
      checkAt: isChecked ? after(checkInterval * 1000) : null,
      createdAt: now,
    })
    .execute()
    .catch(refuseForgottenKey);
}

/** Names the end of a session at a provider, as long as a sign-in with it may be on its way. */
export const endOf = ({ provider, issuer, sid }: { provider: string; issuer: string; sid: string }): Buffer =>
  hashSecret(JSON.stringify(["session", provider, issuer, sid]));

/** Remembers a name for as long as it matters. Returns false if it is known already. */
export async function spend({ db }: Context, stateHash: Buffer): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("spentSignIns")
    .values({ stateHash, expiresAt: after(Math.max(logoutTokenLifetime, longestSignIn) * 1000) })
    .onConflict((known) => known.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** How long a sign-in may be on its way, in seconds. */
const longestSignIn = 600;

/** A session to end, with its user. */
export interface SessionOfProvider {
  /** Public part of the session. */
  id: string;
  userId: string;
  username: string;
}

/** Ends sessions of a provider, and records it for each of their users with the reason. Returns their number. */
export async function endProviderSessions(
  ctx: Context,
  provider: string,
  found: readonly SessionOfProvider[],
  reason: string,
): Promise<number> {
  const ids = found.map(({ id }) => id);
  const ended = await ctx.db.deleteFrom("apiKeys").where("id", "=", anyOf(ids, "text")).returning("id").execute();
  const isEnded = new Set(ended.map(({ id }) => id));
  const byUser = Map.groupBy(
    found.filter(({ id }) => isEnded.has(id)),
    ({ userId }) => userId,
  );
  for (const [userId, own] of byUser) {
    const diff = { sessions: { old: own.length, new: 0 }, provider: { new: provider }, reason: { new: reason } };
    ctx.audit({ action: "revoke", ...auditedAs("user", userId, own[0]!.username), diff });
  }
  ctx.publish(...[...isEnded].map(keyHint));
  return isEnded.size;
}

/** The columns of the tokens of a session. */
export function sealTokens({ services: { vault } }: Pick<Context, "services">, id: string, tokens: Tokens) {
  const place = providerSessionTokens.place({ id, ownerId: id });
  const { keyId, nonce, ciphertext } = vault.seal(place, JSON.stringify(tokens));
  return { keyId, tokensNonce: nonce, tokensCiphertext: ciphertext };
}

interface SealedTokens {
  id: string;
  keyId: string | null;
  nonce: Buffer | null;
  ciphertext: Buffer | null;
}

/** Opens the tokens of a session. There are none if their encryption key was lost. */
export function openTokens(ctx: Context, { id, keyId, nonce, ciphertext }: SealedTokens): Tokens {
  if (keyId === null || nonce === null || ciphertext === null) return {};
  try {
    const text = ctx.services.vault.open(providerSessionTokens.place({ id, ownerId: id }), {
      keyId,
      nonce,
      ciphertext,
    });
    return JSON.parse(text) as Tokens;
  } catch (error) {
    ctx.log.warn({ err: error }, "The tokens of a session at a provider cannot be decrypted.");
    return {};
  }
}
