import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { ProviderUnavailable } from "./provider-failures.js";
import { type Account, type Installation, installationsIn } from "./provider-accounts.js";
import { type CheckedLink, checkLink, checkLinks, leaveUnchecked } from "./checks.js";
import { linksOfUsers, readLink, readTokens } from "./links.js";
import { callerWho, type ExternalAuthProvider, findProvider } from "./providers.js";

/** The account of the caller at a provider, and its installations. */
export interface ExternalAuth {
  provider: ExternalAuthProvider;
  /** Null if the caller has linked no account. */
  link: CheckedLink | null;
  authenticated: boolean;
  user: Account | null;
}

/** Lists the links of the caller in the order of the configuration, those of removed providers last. */
export async function listLinks(ctx: Context, isChecked: boolean): Promise<CheckedLink[]> {
  const userId = callerWho(ctx, "external_auth_link:read");
  const links = await ctx.load(isChecked ? checkedLinksOfUsers : storedLinksOfUsers, userId);
  const positionOf = ({ providerId }: CheckedLink) => providerOf(ctx, providerId)?.position ?? Infinity;
  return links.toSorted(
    (one, other) => positionOf(one) - positionOf(other) || (one.providerId < other.providerId ? -1 : 1),
  );
}

const storedLinksOfUsers = async (ctx: Context, userIds: readonly string[]): Promise<CheckedLink[][]> =>
  (await linksOfUsers(ctx, userIds)).map((links) => links.map((link) => leaveUnchecked(link)));

const checkedLinksOfUsers = async (ctx: Context, userIds: readonly string[]): Promise<CheckedLink[][]> =>
  Promise.all((await linksOfUsers(ctx, userIds)).map((links) => checkLinks(ctx, links)));

/** The configured provider of a link; undefined if it was removed. */
export const providerOf = ({ services }: Context, providerId: string): ExternalAuthProvider | undefined =>
  services.externalAuth.find(providerId);

/** The link of the caller at a provider; null if there is none. */
export async function linkAt(
  ctx: Context,
  { id }: ExternalAuthProvider,
  isChecked: boolean,
): Promise<CheckedLink | null> {
  const links = await listLinks(ctx, isChecked);
  return links.find((link) => providerOf(ctx, link.providerId)?.id === id) ?? null;
}

/** The links of the caller, and the most recent one. */
export interface ExternalAuthOverview {
  links: CheckedLink[];
  /** The most recently updated link; null if there is none. */
  latest: CheckedLink | null;
  authenticated: boolean;
  hasRefreshToken: boolean;
}

/** Reads and checks all links of the caller. */
export async function readOverview(ctx: Context): Promise<ExternalAuthOverview> {
  const links = await listLinks(ctx, true);
  const [latest = null] = links.toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
  const { authenticated = false, hasRefreshToken = false } = latest ?? {};
  return { links, latest, authenticated, hasRefreshToken };
}

/**
 * Reads and checks the link of the caller at a provider. Throws NOT_FOUND for unknown providers, UNAVAILABLE if the
 * provider fails and there is no recent result.
 */
export async function readExternalAuth(ctx: Context, id: string): Promise<ExternalAuth> {
  const userId = callerWho(ctx, "external_auth_link:read");
  const provider = findProvider(ctx, id);
  const stored = await readLink(ctx.services, provider.id, userId);
  const link = (stored && (await checkLink(ctx.services, provider, stored))) ?? null;
  if (link?.isUnknown) throw upstreamFailed(link.validateError);
  const isAuthenticated = link?.authenticated ?? false;
  return { provider, link, authenticated: isAuthenticated, user: isAuthenticated ? link!.account : null };
}

/** The error for a provider that failed. */
export const upstreamFailed = (detail: string | null, cause?: unknown): DomainError =>
  new DomainError("UNAVAILABLE", "The external authentication provider failed.", {
    upstream: true,
    detail: detail ?? undefined,
    cause,
  });

/** Reads where the provider's application is installed for the caller, the first 100. Empty if that fails. */
export async function installationsOf(
  { services }: Context,
  { provider, link, authenticated }: ExternalAuth,
): Promise<Installation[]> {
  const { singleFlight, calls } = services.externalAuth;
  const url = provider.appInstallationsUrl;
  if (!link || !authenticated || url === "") return [];
  return singleFlight.share(`installations ${link.id} ${link.version}`, async () => {
    const tokens = await readTokens(services, link.id);
    if (!tokens) return [];
    try {
      return installationsIn(await calls.read(provider, url, tokens.accessToken)) ?? [];
    } catch (error) {
      if (error instanceof ProviderUnavailable) return [];
      throw error;
    }
  });
}
