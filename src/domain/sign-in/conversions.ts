import type { Context } from "../kernel/context.js";
import { mayOn } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, forbidden, Problems } from "../kernel/errors.js";
import { accountById, givenPasswordProblem, identified, readAccount, verify } from "./accounts.js";
import type { ProviderName } from "../outside/identity-providers.js";
import { hashSecret, randomText } from "../tokens/text.js";
import { folded } from "../kernel/folding.js";
import { findUser, type FoundUser } from "../users/users.js";

export interface ConvertLogin {
  /** Whose login, as a caller names users. */
  user: string;
  toType?: ProviderName | null;
  /** The one until now. */
  password?: string | null;
}

/** What leads to the provider, within a few minutes. The state is shown this once. */
export interface ConversionStarted {
  userId: string;
  toType: ProviderName;
  stateString: string;
  expiresAt: string;
}

const stateLength = 32;
const minutes = 5;

// What was verified must still be true. A new state voids the one before.
const insertConversion = statement<{ expiresAt: string }>(`
  insert into login_conversions (user_id, state_hash, to_type, expires_at)
  select id, $3, $4, now() + interval '${minutes} minutes' from users
  where id = $1 and password_hash = $2 and status = 'active' and login_type = 'password' and deleted_at is null
  on conflict (user_id) do update
  set state_hash = excluded.state_hash, to_type = excluded.to_type, expires_at = excluded.expires_at, used_at = null
  returning expires_at as "expiresAt"`);

/**
 * Lets the caller sign in through a provider from now on, once the provider knows who it is: until the sign-in there
 * ends well, nothing changes.
 */
export async function convertLogin(
  ctx: Context,
  { user: ref, toType, password }: ConvertLogin,
): Promise<ConversionStarted> {
  const user = await findSelf(ctx, ref);
  const problems = new Problems();
  problems.add("toType", toType ? undefined : "Is required.");
  if (user.loginType !== "password") problems.add("toType", "Only accounts that sign in with a password change.");
  problems.add("password", givenPasswordProblem(password));
  problems.throwIfAny();

  const account = await verify(ctx, await readAccount(ctx, accountById, user.id), password ?? "");
  const stateString = randomText(stateLength);
  const values = [user.id, account.passwordHash, hashSecret(stateString), toType];
  const made = await ctx.row(insertConversion, ...values);
  if (!made) throw conflict("The account was changed by somebody else meanwhile.");
  const diff = { toType: { new: toType }, stateString: { new: "***" } };
  ctx.audit({ ...identified(user), action: "create", resourceType: "login_conversion", diff });
  return { userId: user.id, toType: toType!, stateString, expiresAt: made.expiresAt };
}

/**
 * The caller, if `ref` means the caller. Others are refused, and whether they exist is told only to those who may look
 * people up. Reads without a transaction: no connection is held while passwords wait for their turn.
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

/** Uses a conversion up, if this is its state and its user presents it. */
export async function useConversion(
  ctx: Context,
  stateHash: Buffer,
  userId: string,
  toType: ProviderName,
): Promise<boolean> {
  return (await ctx.row(spendConversion, stateHash, userId, toType)) !== undefined;
}
