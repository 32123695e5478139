import type { Context } from "../kernel/context.js";
import { mayOn } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, forbidden, Problems } from "../kernel/errors.js";
import { accountById, givenPasswordProblem, identified, readAccount, verify } from "./accounts.js";
import type { ProviderName } from "../outside/identity-providers.js";
import { hashSecret, randomText } from "../tokens/text.js";
import { folded } from "../kernel/folding.js";
import { purge } from "../kernel/purge.js";
import { findUser, type FoundUser } from "../users/users.js";

export interface ConvertLogin {
  /** The user to convert: id, username or `me`. */
  user: string;
  toType?: ProviderName | null;
  /** The current password. */
  password?: string | null;
}

/** A pending conversion. The state is not readable later. */
export interface ConversionStarted {
  userId: string;
  toType: ProviderName;
  stateString: string;
  expiresAt: string;
}

const stateLength = 32;
const minutes = 5;

// Checks the account again, which may have changed since its verification, and locks it: later changes void the state. A
// new state replaces the former one.
const insertConversion = statement<{ expiresAt: string }>(`
  insert into login_conversions (user_id, state_hash, to_type, expires_at)
  select id, $3, $4, now() + interval '${minutes} minutes' from users
  where id = $1 and password_hash = $2 and status = 'active' and login_type = 'password' and deleted_at is null
  for no key update
  on conflict (user_id) do update
  set state_hash = excluded.state_hash, to_type = excluded.to_type, expires_at = excluded.expires_at, used_at = null
  returning expires_at as "expiresAt"`);

/**
 * Begins the conversion of the caller's login from a password to a provider. It takes effect when the caller has signed
 * in at the provider.
 */
export async function convertLogin(
  ctx: Context,
  { user: ref, toType, password }: ConvertLogin,
): Promise<ConversionStarted> {
  const user = await findSelf(ctx, ref);
  const problems = new Problems();
  problems.add("toType", toType ? undefined : "Is required.");
  if (user.loginType !== "password")
    problems.add("toType", "Only accounts that sign in with a password can be converted.");
  problems.add("password", givenPasswordProblem(password));
  problems.throwIfAny();

  const account = await verify(ctx, await readAccount(ctx, accountById, user.id), password ?? "");
  const stateString = randomText(stateLength);
  const values = [user.id, account.passwordHash, hashSecret(stateString), toType];
  const made = await ctx.row(insertConversion, ...values);
  if (!made) throw conflict("Another request has changed the account.");
  const diff = { toType: { new: toType }, stateString: { new: "***" } };
  ctx.audit({ ...identified(user), action: "create", resourceType: "login_conversion", diff });
  return { userId: user.id, toType: toType!, stateString, expiresAt: made.expiresAt };
}

/**
 * Finds the caller by `ref`. Throws FORBIDDEN for other users, NOT_FOUND for unknown ones if the caller may read all
 * users. Reads without a transaction, so that no connection is held while passwords are queued for hashing.
 */
async function findSelf(ctx: Context, ref: string): Promise<FoundUser> {
  const reading = ctx.afresh();
  const self = await findUser(reading, "me");
  const names = ["me", self.id, folded(self.username)];
  if (names.includes(ref === "me" ? ref : folded(ref))) return self;
  if (mayOn(ctx.actor, "user:read", {})) await findUser(reading, ref);
  throw forbidden();
}

const spendConversion = statement<{ userId: string }>(`
  update login_conversions set used_at = now()
  where state_hash = $1 and user_id = $2 and to_type = $3 and used_at is null and expires_at > now()
  returning user_id as "userId"`);

/** Marks the conversion of a user as used. Returns whether its state was valid. */
export async function useConversion(
  ctx: Context,
  stateHash: Buffer,
  userId: string,
  toType: ProviderName,
): Promise<boolean> {
  return (await ctx.row(spendConversion, stateHash, userId, toType)) !== undefined;
}

/** Deletes expired conversions. */
export const conversionPurge = purge("login_conversions", { by: "expires_at" });
