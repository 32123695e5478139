import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { day, purge } from "../kernel/purge.js";
import { networkOf } from "../rate-limits/rate-limits.js";

/** Retention of addresses after the last sign-in, in days. */
const remembered = 90;

const isKnownAddress = statement<{ known: boolean }>(
  `select exists (select from login_addresses where user_id = $1 and address = $2) as known`,
);

/**
 * Runs an attempt with a password. Throws RATE_LIMITED after too many failures within an hour. Failures are counted by
 * email, with or without an account, and separately for each address from which the user has signed in before, so that
 * attackers elsewhere cannot lock the user out.
 */
export async function limitFailures<Result>(
  ctx: Context,
  email: string,
  userId: string | undefined,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const { failures } = ctx.services.limits;
  const key = await failuresOf(ctx, email, userId);
  failures.checkKnown(key);
  try {
    const result = await attempt();
    // Checks again, because concurrent attempts may have reached the limit.
    await failures.check(key);
    return result;
  } catch (error) {
    if (error instanceof DomainError && error.code === "UNAUTHENTICATED") await failures.take(key);
    throw error;
  }
}

/** Returns the key under which failures are counted. The work does not depend on whether the account exists. */
async function failuresOf({ request, services }: Context, email: string, userId: string | undefined): Promise<string> {
  const network = networkOf(request.ip);
  const [found] = await services.database.query(isKnownAddress, [userId ?? null, network]);
  const account = userId ?? folded(email);
  return found?.known ? `${account} ${network}` : account;
}

// At most one write per address and day, to limit dead rows.
const noteAddress = statement(`
  insert into login_addresses as known (user_id, address, last_used_at) values ($1, $2, now())
  on conflict (user_id, address) do update set last_used_at = now()
  where known.last_used_at < now() - interval '1 day'`);

/** Records the address of a successful sign-in. */
export async function rememberAddress(ctx: Context, userId: string): Promise<void> {
  await ctx.rows(noteAddress, userId, networkOf(ctx.request.ip));
}

/** Deletes addresses after their retention. */
export const loginAddressPurge = purge("login_addresses", { by: "last_used_at", keptFor: remembered * day });
