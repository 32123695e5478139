import { setTimeout as sleep } from "node:timers/promises";
import { databaseTime } from "../../clock.js";
import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { ProviderUnavailable } from "../outside/external-providers/failures.js";
import { objectIn, type Received, secondsToWait } from "../outside/external-providers/responses.js";
import { type Account, accountIn } from "./accounts.js";
import type { ExternalAuthProvider } from "./configuration.js";
import { type LinkRow, readLinkWithTokens } from "./links.js";
import { typeTraits } from "./types.js";

/** The result of a validation. */
export interface Validity {
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
export async function validate(
  services: Services,
  provider: ExternalAuthProvider,
  link: LinkRow,
  isNew: boolean,
): Promise<Validity> {
  const { id, version, isExpired } = link;
  if (isExpired) return { ...lastKnown(link), isValid: false };
  if (provider.validateUrl === "" || isKnown(services, link)) return lastKnown(link);
  return services.externalAuth.flights.share(`validate ${id} ${version}`, () => call(services, provider, link, isNew));
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
  const place = typeTraits[provider.type].account;
  if (place === null) return null;
  if (place === "validation") return accountIn(objectIn(validated));
  try {
    return accountIn(objectIn(await externalAuth.calls.read(provider, provider.apiBaseUrl + place, accessToken)));
  } catch (error) {
    if (error instanceof ProviderUnavailable) return null;
    throw error;
  }
}

const storeResult = statement(`
  update external_auth_links set validation = $3, account = coalesce($4::jsonb, account), validated_at = now(),
    validation_paused_until = null
  where id = $1 and version = $2`);

async function store(
  { database }: Services,
  link: LinkRow,
  version: number,
  validation: "valid" | "invalid",
  account: Account | null,
): Promise<Validity> {
  await database.query(storeResult, [link.id, version, validation, account && JSON.stringify(account)]);
  return { isValid: validation === "valid", account: account ?? link.account };
}

const storePause = statement(`
  update external_auth_links set validation_paused_until = now() + make_interval(secs => $3)
  where id = $1 and version = $2`);

/** Seconds without calls after a rate limit: by default, and at most. */
const [usualPause, longestPause] = [60, 3600];

/** Stops validating until the rate limit of the provider is reset. The token keeps its state. */
async function pause(services: Services, link: LinkRow, version: number, headers: Headers): Promise<Validity> {
  const reset = Number(headers.get("x-ratelimit-reset") ?? NaN) - databaseTime() / 1000;
  const seconds = secondsToWait(headers) ?? (reset > 0 ? Math.min(reset, longestPause) : usualPause);
  await services.database.query(storePause, [link.id, version, seconds]);
  return lastKnown(link);
}
