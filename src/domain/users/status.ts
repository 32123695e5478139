import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { diffOf } from "../audit/audit.js";
import { statement } from "../kernel/database.js";
import { conflict } from "../kernel/errors.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { userHint } from "../tokens/credentials.js";
import { announce } from "./account-events.js";
import { requireAnotherOwner } from "./owners.js";
import { authorizeOn, type FoundUser, identified, lockUser, type UserRow } from "./users.js";

const suspend = statement(`
  with ended as (delete from api_keys where user_id = $1)
  update users set status = 'suspended', updated_at = now() where id = $1`);

/** Suspends a user and ends all of its sessions and tokens. What the user owns stays unchanged. Returns the id. */
export const suspendUser = async (ctx: Context, ref: string): Promise<string> =>
  suspendAccount(ctx, await lockUser(ctx, ref, "user:update"));

/** `suspendUser` for a user that the caller has locked. */
export async function suspendAccount(ctx: Context, user: FoundUser): Promise<string> {
  authorizeOn(ctx, "user:update", user);
  if (user.id === userIdOf(ctx.actor)) throw conflict("You cannot suspend yourself.");
  if (user.status === "suspended") return user.id;
  await requireAnotherOwner(ctx, user);

  await ctx.row(suspend, user.id);
  await revokeGrantsOfUser(ctx, user.id, "user_suspended");
  ctx.audit({ action: "update", ...identified(user), diff: diffOf<UserRow>(user, { status: "suspended" }) });
  ctx.publish(userHint(user.id));
  await announce(ctx, "suspended", user);
  return user.id;
}

// Deletes keys, too: what a concurrent sign-in or consent created during the suspension must not become valid again.
const activate = statement(`
  with ended as (delete from api_keys where user_id = $1)
  update users set status = 'active', updated_at = now() where id = $1`);

/** Ends the suspension of a user, who has to sign in again. Returns the id. */
export const activateUser = async (ctx: Context, ref: string): Promise<string> =>
  activateAccount(ctx, await lockUser(ctx, ref, "user:update"));

/** `activateUser` for a user that the caller has locked. */
export async function activateAccount(ctx: Context, user: FoundUser): Promise<string> {
  authorizeOn(ctx, "user:update", user);
  if (user.status === "active") return user.id;

  await ctx.row(activate, user.id);
  await revokeGrantsOfUser(ctx, user.id, "user_suspended");
  ctx.audit({ action: "update", ...identified(user), diff: diffOf<UserRow>(user, { status: "active" }) });
  ctx.publish(userHint(user.id));
  await announce(ctx, "activated", user);
  return user.id;
}
