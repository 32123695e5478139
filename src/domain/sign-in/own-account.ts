import type { Context } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { authorizeOn, type FoundUser, lockUser } from "../users/users.js";

/** The error for an account whose second factors are elsewhere. */
export const hasNoPassword = () => conflict("Only accounts that sign in with a password have a second factor here.");

/** Locks the account of the caller, who signs in with a password. */
export async function lockOwnAccount(ctx: Context): Promise<FoundUser> {
  const user = await lockUser(ctx, "me", "user:update_personal");
  authorizeOn(ctx, "user:update_personal", user);
  if (user.loginType !== "password") throw hasNoPassword();
  return user;
}
