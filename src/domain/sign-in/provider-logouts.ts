// Sign-outs that concern a provider: it ends sessions here, or the browser of a session ends the one there.
import { takeTurn } from "../../infrastructure/database/locks.js";
import type { LogoutToken } from "../../infrastructure/logout-tokens.js";
import type { Context } from "../kernel/context.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { hashSecret } from "../tokens/token-text.js";
import type { KnownProvider } from "./provider-registry.js";
import { endOf, endProviderSessions, openTokens, spend } from "./provider-sessions.js";

/** Where the browser of a session signs out at its provider as well. */
export interface SignOutThere {
  /** The URL, or `undefined` if the provider has no endpoint for it or cannot be reached. */
  url: () => Promise<string | undefined>;
}

/** The parameter with which a provider sends browsers back after a sign-out. */
const signedOutState = "signed_out";

/**
 * Sign-outs between this server and providers. They are not part of the schema, because only a provider has logout tokens,
 * and only the browser of a session can go on to the provider.
 */
export class ProviderLogouts {
  /**
   * Ends the sessions that began with a session at a provider, or with all of a person, which its logout token names. Their
   * sockets close, too. A token counts once. Returns how many have ended.
   */
  async end(ctx: Context, provider: KnownProvider, token: string): Promise<number> {
    const logout = await provider.readLogoutToken?.(token);
    if (!logout) throw notFound();
    const { settings } = provider;
    return ctx.transactional(async () => {
      if (!(await spend(ctx, hashSecret(JSON.stringify(["token", settings.name, logout.issuer, logout.id])))))
        throw new DomainError("BAD_USER_INPUT", "The logout token is not valid.", { detail: "It was used before." });
      return endSessionsOf(ctx, settings.name, logout);
    });
  }

  /**
   * Finds out where the session of the caller signs out at its provider, if the provider is meant to be asked. To be called
   * before the session ends, and `url` after it, so that a provider which is away delays no sign-out.
   */
  async there(ctx: Context): Promise<SignOutThere | undefined> {
    if (ctx.actor.kind !== "user") return undefined;
    const session = await ctx.db
      .selectFrom("providerSessions")
      .select(["id", "provider", "keyId", "tokensNonce as nonce", "tokensCiphertext as ciphertext"])
      .where("apiKeyId", "=", ctx.actor.credential.id)
      .executeTakeFirst();
    if (!session) return undefined;
    const provider = ctx.services.identityProviders.find(session.provider);
    if (!provider?.signOutUrl || !provider.settings.signsOut) return undefined;
    const { idToken } = openTokens(ctx, session);
    const { log, config } = ctx;
    return {
      url: async () => {
        try {
          return (await provider.signOutUrl?.(`${config.accessUrl}/login`, idToken, signedOutState))?.href;
        } catch (error) {
          log.warn({ err: error, provider: session.provider }, "A person could not be signed out at the provider.");
          return undefined;
        }
      },
    };
  }
}

async function endSessionsOf(
  ctx: Context,
  provider: string,
  { issuer, subject, session: sid }: LogoutToken,
): Promise<number> {
  if (sid !== undefined) {
    const ended = endOf({ provider, issuer, sid });
    await takeTurn(ctx, "provider_sessions", ended.toString("hex"));
    await spend(ctx, ended);
  }
  const found = await ctx.db
    .selectFrom("providerSessions as s")
    .innerJoin("apiKeys as k", "k.id", "s.apiKeyId")
    .innerJoin("users as u", "u.id", "k.userId")
    .select(["k.id", "u.id as userId", "u.username"])
    .where("s.provider", "=", provider)
    .where("s.issuer", "=", issuer)
    .$if(sid !== undefined, (some) => some.where("s.sid", "=", sid!))
    .$if(subject !== undefined, (some) => some.where("s.subject", "=", subject!))
    .execute();
  return endProviderSessions(ctx, provider, found, "The provider ended its session.");
}
