import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { diffOf } from "../audit/audit.js";
import { conflict } from "../kernel/errors.js";
import { userHint } from "../tokens/credentials.js";
import { requireAnotherOwner } from "./roles.js";
import { authorizeOn, type FoundUser, identified, lockUser, type UserRow, type UserStatus } from "./users.js";
import { writeUser } from "./writes.js";

/** Suspends a user and ends all of its sessions and tokens. What the user owns stays unchanged. Returns the id. */
export const suspendUser = (ctx: Context, ref: string): Promise<string> => changeStatus(ctx, ref, "suspended");

/** Ends the suspension of a user, who has to sign in again. Returns the id. */
export const activateUser = (ctx: Context, ref: string): Promise<string> => changeStatus(ctx, ref, "active");

async function changeStatus(ctx: Context, ref: string, status: UserStatus): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  const isChanged = await checkStatus(ctx, user, status);
  // Deletes keys on activation, too: what a concurrent sign-in or consent created during the suspension must not become
  // valid again.
  if (isChanged) await writeUser(ctx, user, { status });
  if (isChanged) recordStatus(ctx, user, status);
  return user.id;
}

/** Whether a locked user needs a change to have a status. Throws if the caller may not make it. */
export async function checkStatus(ctx: Context, user: FoundUser, status: UserStatus): Promise<boolean> {
  authorizeOn(ctx, "user:update", user);
  const isSuspended = status === "suspended";
  if (isSuspended && user.id === userIdOf(ctx.actor)) throw conflict("You cannot suspend yourself.");
  if (user.status === status) return false;
  if (isSuspended) await requireAnotherOwner(ctx, user);
  return true;
}

/** Records a change of the status. */
export function recordStatus(ctx: Context, user: FoundUser, status: UserStatus): void {
  ctx.audit({ action: "update", ...identified(user), diff: diffOf<UserRow>(user, { status }) });
  ctx.publish(userHint(user.id));
}
