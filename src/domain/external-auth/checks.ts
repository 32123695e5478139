import { setTimeout as sleep } from "node:timers/promises";
import { boundedPool } from "../kernel/bounded-pool.js";
import type { Context, Services } from "../kernel/context.js";
import { type ExternalAuthProvider, isLicensed } from "./providers.js";
import type { LinkRow } from "./links.js";
import { isDue, type Refreshed, refreshOnce } from "./refresh.js";
import { validate } from "./validation.js";

/** A link with the state of its token. */
export interface CheckedLink extends LinkRow {
  authenticated: boolean;
  /** Why the state may be out of date, or what is wrong with the token; null if nothing is. */
  validateError: string | null;
  /** Whether the provider failed, so that this is the last known state. */
  isUnknown: boolean;
}

/** Milliseconds for all checks of a request. */
const budget = 10_000;

/** The state of a link as stored. */
export const unchecked = (link: LinkRow, validateError: string | null = link.refreshError || null): CheckedLink => ({
  ...link,
  authenticated: !link.isExpired && link.validation !== "invalid",
  validateError,
  isUnknown: true,
});

/** Refreshes the token of a link if it is due, and validates it. Returns undefined if the link was deleted meanwhile. */
export async function checkLink(
  services: Services,
  provider: ExternalAuthProvider,
  stored: LinkRow,
): Promise<CheckedLink | undefined> {
  const { link, isNew, problem, isUnknown = false } = await refreshIfDue(services, provider, stored);
  if (!link) return undefined;
  const { isValid, account, problem: doubt } = await validate(services, provider, link, isNew);
  return {
    ...link,
    account,
    authenticated: isValid,
    validateError: problem ?? doubt ?? (link.refreshError || null),
    isUnknown: isUnknown || doubt !== undefined,
  };
}

async function refreshIfDue(services: Services, provider: ExternalAuthProvider, link: LinkRow): Promise<Refreshed> {
  if (!isDue(provider, link)) return { link, isNew: false };
  if (isLicensed({ services }, provider)) return refreshOnce(services, provider, link);
  return { link, isNew: false, problem: "multiple_external_auth is not licensed on this deployment." };
}

const tooSlow = "The provider did not respond in time.";

/** Checks links in parallel. One that is not checked in time is returned as stored, and so that of a removed provider. */
export async function checkLinks({ services, config }: Context, links: readonly LinkRow[]): Promise<CheckedLink[]> {
  const pool = boundedPool(config.externalAuthParallel);
  const ending = new AbortController();
  const deadline = sleep(budget, undefined, { signal: ending.signal, ref: false }).catch(() => {});
  const checks = links.map(async (link) => {
    const provider = services.externalAuth.find(link.providerId);
    if (!provider) return { ...unchecked(link), authenticated: false };
    const late = deadline.then(() => unchecked(link, tooSlow));
    return Promise.race([pool(() => checkLink(services, provider, link)), late]);
  });
  try {
    return (await Promise.all(checks)).filter((link) => link !== undefined);
  } finally {
    ending.abort();
  }
}
