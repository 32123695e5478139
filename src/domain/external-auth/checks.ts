import { setTimeout as sleep } from "node:timers/promises";
import { databaseTime } from "../../runtime/clock.js";
import { boundedPool } from "../../runtime/concurrency.js";
import type { Context, Services } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { ProviderUnavailable } from "./provider-failures.js";
import { objectIn, type Received, secondsToWait } from "./provider-responses.js";
import { type Account, accountIn } from "./provider-accounts.js";
import { type LinkRow, readLinkWithTokens } from "./links.js";
import { type ExternalAuthProvider, isLicensed } from "./providers.js";
import { isDue, type Refreshed, refreshOnce } from "./refresh.js";
import { typeTraits } from "./types.js";

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
export const leaveUnchecked = (
  link: LinkRow,
  validateError: string | null = link.refreshError || null,
): CheckedLink => ({
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

/** Checks links in parallel. Returns links unchecked if the time is over or their provider was removed. */
export async function checkLinks({ services, config }: Context, links: readonly LinkRow[]): Promise<CheckedLink[]> {
  const pool = boundedPool(config.externalAuthParallel);
  const ending = new AbortController();
  const deadline = sleep(budget, undefined, { signal: ending.signal, ref: false }).catch(() => {});
  const checks = links.map(async (link) => {
    const provider = services.externalAuth.find(link.providerId);
    if (!provider) return { ...leaveUnchecked(link), authenticated: false };
    const late = deadline.then(() => leaveUnchecked(link, tooSlow));
    return Promise.race([pool(() => checkLink(services, provider, link)), late]);
  });
  try {
    return (await Promise.all(checks)).filter((link) => link !== undefined);
  } finally {
    ending.abort();
  }
}

/** The result of a validation. */
interface Validity {
  isValid: boolean;
  account: Account | null;
  /** Why the provider could not be asked; the other fields are then of the previous result. */
  problem?: string;
}

/** The last known result. A token that was never validated counts as valid: the provider has just issued it. */
const lastKnown = ({ validation, account }: LinkRow): Validity => ({ isValid: validation !== "invalid", account });

/**
 * Validates the access token of a link, with a cache that all replicas share. `isNew` says that the token was refreshed
 * just now.
 */
async function validate(
  services: Services,
  provider: ExternalAuthProvider,
  link: LinkRow,
  isNew: boolean,
): Promise<Validity> {
  const { id, version, isExpired } = link;
  if (isExpired) return { ...lastKnown(link), isValid: false };
  if (provider.validateUrl === "" || isKnown(services, link)) return lastKnown(link);
  return services.externalAuth.singleFlight.share(`validate ${id} ${version}`, () =>
    call(services, provider, link, isNew),
  );
}

/** Whether the stored result is recent enough, or the provider must not be called. */
const isKnown = ({ config }: Services, { isPaused, validatedAgo }: LinkRow): boolean =>
  isPaused || (validatedAgo !== null && validatedAgo < config.externalAuthValidateCache);

/** Milliseconds after which a new token that the provider does not know yet is tried again. */
const replicaLag = 500;

async function call(
  services: Services,
  provider: ExternalAuthProvider,
  stored: LinkRow,
  isNew: boolean,
): Promise<Validity> {
  const read = await readLinkWithTokens(services, stored.id);
  if (!read) return lastKnown(stored);
  const { link } = read;
  // Another request may have validated the token after this one read the link.
  if (isKnown(services, link)) return lastKnown(link);
  const { accessToken, version } = read.tokens;
  const { calls } = services.externalAuth;
  try {
    let received = await calls.read(provider, provider.validateUrl, accessToken);
    if (received.status === 401 && isNew) {
      await sleep(replicaLag);
      received = await calls.read(provider, provider.validateUrl, accessToken);
    }
    const result = resultOf(received);
    if (result === "limited") return await pause(services, link, version, received.headers);
    if (result === "unclear") throw new ProviderUnavailable(`The provider returned status ${received.status}.`);
    const account = result === "valid" ? await readAccount(services, provider, accessToken, received) : null;
    return await store(services, link, version, result, account);
  } catch (error) {
    if (error instanceof ProviderUnavailable) return { ...lastKnown(link), problem: error.message };
    throw error;
  }
}

function resultOf({ status, headers }: Received): "valid" | "invalid" | "limited" | "unclear" {
  if (status === 200) return "valid";
  if (status === 401) return "invalid";
  if (status === 429) return "limited";
  if (status !== 403) return "unclear";
  return headers.get("x-ratelimit-remaining") === "0" || headers.has("retry-after") ? "limited" : "invalid";
}

/** Reads the account where the type of the provider has it. Its absence makes no token invalid. */
async function readAccount(
  { externalAuth }: Services,
  provider: ExternalAuthProvider,
  accessToken: string,
  validated: Received,
): Promise<Account | null> {
  const source = typeTraits[provider.type].account;
  if (source === null) return null;
  if (source === "validation") return accountIn(objectIn(validated));
  try {
    return accountIn(objectIn(await externalAuth.calls.read(provider, provider.apiBaseUrl + source, accessToken)));
  } catch (error) {
    if (error instanceof ProviderUnavailable) return null;
    throw error;
  }
}

async function store(
  { database }: Services,
  link: LinkRow,
  version: number,
  validation: "valid" | "invalid",
  account: Account | null,
): Promise<Validity> {
  await database.db
    .updateTable("externalAuthLinks")
    .set({ validation, validatedAt: now, validationPausedUntil: null, ...(account && { account }) })
    .where("id", "=", link.id)
    .where("version", "=", version)
    .execute();
  return { isValid: validation === "valid", account: account ?? link.account };
}

/** Seconds without calls after a rate limit: by default, and at most. */
const usualPause = 60;
const longestPause = 3600;

/** Stops validating until the rate limit of the provider is reset. The token keeps its state. */
async function pause(services: Services, link: LinkRow, version: number, headers: Headers): Promise<Validity> {
  const reset = Number(headers.get("x-ratelimit-reset") ?? NaN) - databaseTime() / 1000;
  const seconds = secondsToWait(headers) ?? (reset > 0 ? Math.min(reset, longestPause) : usualPause);
  await services.database.db
    .updateTable("externalAuthLinks")
    .set({ validationPausedUntil: after(seconds * 1000) })
    .where("id", "=", link.id)
    .where("version", "=", version)
    .execute();
  return lastKnown(link);
}
