import { auditAtOnce, auditedAs } from "../kernel/audit.js";
import { authorizeMachine } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { DomainError, forbidden, notFound } from "../kernel/errors.js";
import { onChange, type Watch, watching } from "../kernel/watching.js";
import { userHint } from "../tokens/hints.js";
import { checkLink } from "./checks.js";
import { upstreamFailed } from "./external-auth.js";
import { linkHint, type OpenedTokens, readLink, readTokens } from "./links.js";
import {
  callerWho,
  connectUrlOf,
  type ExternalAuthProvider,
  type ExternalAuthProviderType,
  findProvider,
  requireLicensed,
} from "./providers.js";
import { typeTraits } from "./types.js";

/** The access token of an account, for Git; without one, the page on which the user can link an account. */
export interface AccessToken {
  providerId: string;
  type: ExternalAuthProviderType;
  accessToken: string | null;
  /** The user name to send with the token. */
  username: string | null;
  /** Null if the token does not expire. */
  expiresAt: string | null;
  /** The further fields of the token response that the operator passes on. */
  extra: Record<string, unknown> | null;
  /** Null if there is a token. */
  connectUrl: string | null;
}

/** Selects a provider: by its id, or by the Git URL that it serves. */
export interface AccessTokenQuery {
  providerId?: string | null;
  url?: string | null;
}

/** The user whose accounts the caller may use: itself, or for agents the owner of the workspace. Throws FORBIDDEN. */
async function holderOf(ctx: Context): Promise<string> {
  if (ctx.actor.kind === "user") return callerWho(ctx, "external_auth_link:read");
  const agent = authorizeMachine(ctx.actor, "external_auth_token:read");
  const owner = await ctx.db
    .selectFrom("workspaceAgents as a")
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .innerJoin("users as u", "u.id", "w.ownerId")
    .where("a.id", "=", agent.id)
    .where("a.tokenEndedAt", "is", null)
    .where("w.deletedAt", "is", null)
    .where("u.status", "=", "active")
    .where("u.deletedAt", "is", null)
    .select("u.id")
    .executeTakeFirst();
  if (!owner) throw forbidden();
  return owner.id;
}

/** Reads the access token of the caller, or for agents of the owner of the workspace. Refreshes and validates it. */
export async function readAccessToken(ctx: Context, wanted: AccessTokenQuery): Promise<AccessToken> {
  const userId = await holderOf(ctx);
  const provider = chooseProvider(ctx, wanted);
  requireLicensed(ctx, provider);
  const stored = await readLink(ctx.services, provider.id, userId);
  const link = stored && (await checkLink(ctx.services, provider, stored));
  if (link?.isUnknown && !link.authenticated) throw upstreamFailed(link.validateError);
  const tokens = link?.authenticated ? await readTokens(ctx.services, link.id) : undefined;
  if (!link || !tokens) return { ...withoutToken(provider), connectUrl: connectUrlOf(ctx, provider) };
  const audited = auditedAs("external_auth_link", link.id, provider.id);
  const diff = { userId: { old: userId, new: userId } };
  await auditAtOnce(ctx, { action: "deliver", ...audited, diff });
  return { ...withoutToken(provider), ...deliver(provider, tokens), expiresAt: link.expiresAt };
}

function chooseProvider(ctx: Context, { providerId, url }: AccessTokenQuery): ExternalAuthProvider {
  if (providerId) return findProvider(ctx, providerId);
  if (!url) throw new DomainError("BAD_USER_INPUT", "Either providerId or url is required.");
  const isShort = Buffer.byteLength(url) <= longestUrl;
  const provider = isShort && ctx.services.externalAuth.providers.find(({ regex }) => regex?.test(url));
  if (!provider) throw notFound();
  return provider;
}

/** Bytes. */
const longestUrl = 2048;

const withoutToken = ({ id, type }: ExternalAuthProvider): AccessToken => ({
  providerId: id,
  type,
  accessToken: null,
  username: null,
  expiresAt: null,
  extra: null,
  connectUrl: null,
});

const deliver = ({ type, extraTokenKeys }: ExternalAuthProvider, { accessToken, extra }: OpenedTokens) => ({
  accessToken,
  username: typeTraits[type].gitUsername,
  extra: extra === undefined ? null : pickAllowed(extra, extraTokenKeys),
});

/** The fields that the operator passes on now. */
const pickAllowed = (extra: string, keys: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(JSON.parse(extra) as object).filter(([key]) => keys.includes(key)));

/** The state of a link after a change. */
export interface LinkChange {
  providerId: string;
  isLinked: boolean;
}

/**
 * Streams the state of the link of the caller at a provider, or for agents that of the owner of the workspace: first as
 * it is, then after every change. A rejected watch throws before this resolves.
 */
export const watchLink = (ctx: Context, { providerId }: { providerId: string }): Promise<Watch<LinkChange>> =>
  watching(ctx, {
    async while(fresh) {
      const userId = await holderOf(fresh);
      return { userId, provider: findProvider(fresh, providerId) };
    },
    hints: ({ userId }) => [linkHint(userId), userHint(userId)],
    read: onChange(
      async ({ services }: Context, { userId, provider: { id } }: { userId: string; provider: { id: string } }) => {
        const link = await readLink(services, id, userId);
        return { providerId: id, isLinked: link !== undefined, link };
      },
      // The token itself may be refreshed without a change of the link.
      ({ link }) => (link ? `${link.id} ${link.refreshError}` : ""),
    ),
  });
