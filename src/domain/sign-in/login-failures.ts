import { sql } from "kysely";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { foldCase } from "../../runtime/text.js";
import { networkOf } from "../rate-limits/rate-limits.js";

/** Retention of addresses after the last sign-in, in days. */
const remembered = 90;

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
  const key = await failuresOf(ctx, userId ?? foldCase(email), userId);
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

/**
 * Returns the key under which failures of an account are counted: apart from others where the user has signed in from this
 * address before. The work does not depend on whether the account exists.
 */
export async function failuresOf(
  { request, services }: Context,
  account: string,
  userId: string | undefined,
): Promise<string> {
  const network = networkOf(request.ip);
  const known = await services.database.db
    .selectFrom("loginAddresses")
    .where("userId", "=", userId ?? null)
    .where("address", "=", network)
    .select("address")
    .executeTakeFirst();
  return known ? `${account} ${network}` : account;
}

/** Records the address of a successful sign-in, at most once a day, to limit dead rows. */
export async function rememberAddress({ db, request }: Context, userId: string): Promise<void> {
  await db
    .insertInto("loginAddresses")
    .values({ userId, address: networkOf(request.ip), lastUsedAt: now })
    .onConflict((known) =>
      known
        .columns(["userId", "address"])
        .doUpdateSet({ lastUsedAt: now })
        .where("loginAddresses.lastUsedAt", "<", sql<string>`now() - interval '1 day'`),
    )
    .execute();
}

/** Deletes addresses after their retention. */
export const loginAddressPurge = purge("login_addresses", { by: "last_used_at", keptFor: remembered * day });
