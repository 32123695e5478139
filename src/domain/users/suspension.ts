import { User } from "../../entities/users.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { lookAtSuspensions } from "./mass-suspension.js";
import { userHint } from "../tokens/hints.js";
import { announce } from "./account-events.js";
import { isKnownAs } from "./accounts.js";
import { requireAnotherOwner } from "./user-roles.js";
import { authorizeOn, type FoundUser, lockUser, type UserStatus } from "./users.js";

/**
 * Suspends a user and ends all of its sessions and tokens. Running workspaces are stopped by a job, after a time in which an
 * activation keeps them running. Returns the id.
 */
export const suspendUser = (ctx: Context, ref: string): Promise<string> => changeStatus(ctx, ref, "suspended");

/** Ends the suspension of a user, who has to sign in again. Returns the id. */
export const activateUser = (ctx: Context, ref: string): Promise<string> => changeStatus(ctx, ref, "active");

async function changeStatus(ctx: Context, ref: string, status: UserStatus): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  // A leaver is known by its username again.
  const returns = status === "active" && user.status !== status && user.deprovisionedAt !== null;
  if (returns && (await isKnownAs(ctx, user.username, user.id)))
    throw conflict("Identity providers know another user by this username. Change it first.");
  await setStatus(ctx, user, status);
  return user.id;
}

/** Gives a locked user a status, and ends all of its access. Returns whether the user had another one before. */
export async function setStatus(ctx: Context, user: FoundUser, status: UserStatus): Promise<boolean> {
  authorizeOn(ctx, "user:update", user);
  const isSuspended = status === "suspended";
  if (isSuspended && user.id === userIdOf(ctx.actor)) throw conflict("You cannot suspend yourself.");
  if (user.status === status) return false;
  if (isSuspended) await requireAnotherOwner(ctx, user);

  ctx.em.assign(await ctx.em.findOneOrFail(User, user.id), { status });
  await ctx.em.flush();
  // On activation, too: what a concurrent consent created during the suspension must not become valid again.
  await ctx.db.deleteFrom("apiKeys").where("userId", "=", user.id).execute();
  await revokeGrantsOfUser(ctx, user.id, "user_suspended");
  ctx.publish(userHint(user.id));
  if (isSuspended) {
    // The job that stops workspaces looks again.
    const warn = (err: unknown) =>
      ctx.services.log.warn({ err }, "It was not checked whether many users were suspended.");
    ctx.afterCommit(() => lookAtSuspensions(ctx.services).catch(warn));
  }
  await announce(ctx, status === "active" ? "activated" : "suspended", user);
  return true;
}
