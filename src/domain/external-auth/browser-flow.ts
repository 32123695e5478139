import { randomBytes } from "node:crypto";
import { linkVerifiers } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { cleanLabel } from "../../runtime/text.js";
import { after, now } from "../kernel/queries.js";
import { ProviderRefusal, ProviderUnavailable } from "./provider-failures.js";
import type { TokenSet } from "./provider-responses.js";
import { hashSecret } from "../tokens/token-text.js";
import { upstreamFailed } from "./external-auth.js";
import { makeRoom, storeLink } from "./linking.js";
import { storedId } from "./links.js";
import {
  callerWho,
  connectUrlOf,
  type ExternalAuthProvider,
  findProvider,
  redirects,
  requireLicensed,
} from "./providers.js";

/** Seconds in which the browser has to return. */
const lifetime = 600;

/** A pending link: where to redirect the browser, and the cookie value that binds the link to the browser. */
export interface LinkBegun {
  providerId: string;
  location: string;
  browserSecret: string;
  /** Seconds. */
  maxAge: number;
}

/** The parameters with which a provider redirects the browser back (RFC 6749 §4.1.2, RFC 9207 §2). */
export interface Callback {
  code: string | null;
  error: string | null;
  errorDescription: string | null;
  state: string | null;
  issuer: string | null;
}

/**
 * Links accounts by the authorization code flow. Not a part of the schema, because only the browser that began a link can
 * finish it, at the redirect URL that is registered with the provider.
 */
export class BrowserLinks {
  /** Begins a link of the caller. `returnPath` is the path to redirect to at the end; empty for the default. */
  async begin(ctx: Context, providerId: string, returnPath: string): Promise<LinkBegun> {
    const { userId, provider } = await admit(ctx, providerId);
    const state = newSecret();
    const browserSecret = newSecret();
    const verifier = provider.usesPkce ? newSecret() : null;
    const id = newId();
    const sealed =
      verifier === null ? null : ctx.services.vault.seal(linkVerifiers.place({ id, ownerId: userId }), verifier);
    await ctx.transactional(async () => {
      await makeRoom(ctx, "states", userId, provider.id);
      await ctx.db
        .insertInto("externalAuthStates")
        .values({
          id,
          userId,
          providerId: storedId(provider.id),
          stateHash: hashSecret(state),
          browserHash: hashSecret(browserSecret),
          keyId: sealed?.keyId ?? null,
          verifierNonce: sealed?.nonce ?? null,
          verifierCiphertext: sealed?.ciphertext ?? null,
          returnPath,
          expiresAt: after(lifetime * 1000),
        })
        .execute()
        .catch(refuseForgottenKey);
    });
    const request = { redirectUri: redirectUriOf(ctx, provider), state, verifier };
    const location = ctx.services.externalAuth.calls.authorizationUrl(provider, request);
    return { providerId: provider.id, location, browserSecret, maxAge: lifetime };
  }

  /** Finishes a link of the caller. Returns the path to redirect to. Each state is used once. */
  async finish(
    ctx: Context,
    providerId: string,
    callback: Callback,
    browserSecret: string | undefined,
  ): Promise<{ providerId: string; returnPath: string }> {
    const { userId, provider } = await admit(ctx, providerId);
    const pending = await consume(ctx, userId, provider, callback.state, browserSecret);
    const { code, error, errorDescription, issuer } = callback;
    if (provider.issuer !== "" && issuer !== provider.issuer) throw linkFailure("The response is of another issuer.");
    if (error !== null || code === null) throw linkFailure(describeError(error ?? "", errorDescription));
    const tokens = await exchange(ctx, provider, code, verifierOf(ctx, pending));
    await storeLink(ctx, provider, userId, tokens);
    return { providerId: provider.id, returnPath: pending.returnPath };
  }
}

/** Checks the caller, the provider, its license, and the rate of attempts. */
async function admit(ctx: Context, providerId: string): Promise<{ userId: string; provider: ExternalAuthProvider }> {
  const userId = callerWho(ctx, "external_auth_link:update");
  const provider = findProvider(ctx, providerId);
  requireLicensed(ctx, provider);
  if (!redirects(provider)) throw linkFailure("Accounts at this provider are linked with a device code.");
  await ctx.services.limits.links.take(userId, ctx.request);
  return { userId, provider };
}

/** 256 random bits, of the alphabet of code verifiers (RFC 7636 §4.1). */
const newSecret = () => randomBytes(32).toString("base64url");

const redirectUriOf = (ctx: Context, provider: ExternalAuthProvider): string =>
  provider.redirectUrl || `${connectUrlOf(ctx, provider)}/callback`;

/** Uses up a state, before anything is exchanged. Throws UNAUTHENTICATED for one that this browser cannot use. */
async function consume(
  ctx: Context,
  userId: string,
  provider: ExternalAuthProvider,
  state: string | null,
  browserSecret: string | undefined,
) {
  if (state === null) throw linkFailure("The response has no state.");
  const pending = await ctx.services.database.db
    .updateTable("externalAuthStates")
    .set({ consumedAt: now })
    .where((eb) => eb.and({ stateHash: hashSecret(state), userId, providerId: storedId(provider.id) }))
    .where("browserHash", "=", hashSecret(browserSecret ?? ""))
    .where("consumedAt", "is", null)
    .where("expiresAt", ">", now)
    .returning(["id", "userId as ownerId", "keyId", "verifierNonce", "verifierCiphertext", "returnPath"])
    .executeTakeFirst();
  if (pending) return pending;
  throw new DomainError("UNAUTHENTICATED", "The account was not linked.", {
    detail: "This link was not started in this browser, was used already, or has expired. Start again.",
  });
}

function verifierOf({ services }: Context, pending: Awaited<ReturnType<typeof consume>>): string | null {
  const { keyId, verifierNonce: nonce, verifierCiphertext: ciphertext } = pending;
  if (keyId === null) return null;
  return services.vault.open(linkVerifiers.place(pending), { keyId, nonce: nonce!, ciphertext: ciphertext! });
}

async function exchange(
  ctx: Context,
  provider: ExternalAuthProvider,
  code: string,
  verifier: string | null,
): Promise<TokenSet> {
  try {
    return await ctx.services.externalAuth.calls.exchange(provider, code, redirectUriOf(ctx, provider), verifier);
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw upstreamFailed(error.message, error);
    if (error instanceof ProviderRefusal && error.status === 429) throw upstreamFailed(error.message, error);
    if (error instanceof ProviderRefusal) throw linkFailure(`The provider rejected the code: ${error.code}.`);
    throw error;
  }
}

const linkFailure = (detail: string) => new DomainError("BAD_USER_INPUT", "The account was not linked.", { detail });

/** The error that a provider returned in the query string, as text. */
function describeError(code: string, description: string | null): string {
  const said = cleanLabel([code, description].filter(Boolean).join(": "), 400);
  return said === "" ? "The response has no code." : `The provider returned: ${said}`;
}
