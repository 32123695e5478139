import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { networkOf } from "../rate-limits/rate-limits.js";

/** Days for which an address is remembered after a sign-in. */
const remembered = 90;

const isKnownAddress = statement<{ known: boolean }>(
  `select exists (select from login_addresses where user_id = $1 and address = $2) as known`,
);

/**
 * Tries a password, unless too many were wrong within an hour: those for the e-mail from everywhere together, known or
 * not. Somebody who guesses at an account must not keep its owner out: addresses from which the owner has signed in
 * count apart, each for itself.
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
    // Of tries that were under way together, no more come through than one after the other would.
    await failures.check(key);
    return result;
  } catch (error) {
    if (error instanceof DomainError && error.code === "UNAUTHENTICATED") await failures.take(key);
    throw error;
  }
}

/** What the failures of a try count under. The work is the same whether the account exists or not. */
async function failuresOf({ request, services }: Context, email: string, userId: string | undefined): Promise<string> {
  const network = networkOf(request.ip);
  const [found] = await services.database.query(isKnownAddress, [userId ?? null, network]);
  const account = userId ?? folded(email);
  return found?.known ? `${account} ${network}` : account;
}

// Written once a day at most: whoever signs in often must not make rows of garbage.
const noteAddress = statement(`
  insert into login_addresses as known (user_id, address, last_used_at) values ($1, $2, now())
  on conflict (user_id, address) do update set last_used_at = now()
  where known.last_used_at < now() - interval '1 day'`);

/** Notes that somebody has proven from this address to be the user. */
export async function rememberAddress(ctx: Context, userId: string): Promise<void> {
  await ctx.rows(noteAddress, userId, networkOf(ctx.request.ip));
}

const deleteOld = statement<{ userId: string }>(`
  delete from login_addresses where (user_id, address) in (
    select user_id, address from login_addresses
    where last_used_at < now() - interval '${remembered} days' limit 1000
    for update skip locked
  )
  returning user_id as "userId"`);

/** Forgets addresses that were not used for long, in small steps. */
export async function deleteOldAddresses({ database }: Pick<Services, "database">): Promise<void> {
  await database.exhaust(deleteOld);
}
