import { User } from "../../entities/users.js";
import type { Context } from "../kernel/context.js";
import { endRoles } from "../organizations/organization-members.js";
import { endShares, forgetPerson } from "../users/accounts.js";
import { announceRevival } from "../users/account-events.js";
import { type FoundUser } from "../users/users.js";
import { stopForOwner } from "../workspaces/owner-stops.js";

/**
 * Makes a locked user, who was suspended and deleted by its source, a plain member without shares, as if it were new. If it
 * may be another person, nothing of the former person is left that is not work: how it signed in, its secrets, and its
 * linked accounts are gone, its workspaces are stopped and shared with no other user, and administrators are told whose they were.
 */
export async function startAnew(
  ctx: Context,
  user: FoundUser,
  { isSomebodyElse }: { isSomebodyElse: boolean },
): Promise<void> {
  if (user.siteRoles.length > 0) {
    ctx.em.assign(await ctx.em.findOneOrFail(User, user.id), { siteRoles: [] });
    await ctx.em.flush();
  }
  await endRoles(ctx, user);
  await endShares(ctx, user.id);
  if (!isSomebodyElse) return;
  await forgetPerson(ctx, user);
  announceRevival(ctx, user, await stopForOwner(ctx, user.id));
}
