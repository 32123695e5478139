import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { visible } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";

/**
 * Throws CONFLICT if a user owns workspaces, in an organization if one is given. Callers who may not see all of them learn
 * how many there are, and who can delete or take them over.
 */
export async function requireNoWorkspaces(ctx: Context, ownerId: string, organizationId?: string): Promise<void> {
  const { everywhere, own, organizations } = visible(ctx.actor, "workspace:read");
  const seesAllOfOwner = everywhere || (own && ownerId === userIdOf(ctx.actor));
  const owned = await ctx.db
    .selectFrom("workspaces")
    .select(["organizationId", ({ fn }) => fn.countAll<number>().as("count")])
    .where("ownerId", "=", ownerId)
    .where("deletedAt", "is", null)
    .$if(organizationId !== undefined, (some) => some.where("organizationId", "=", organizationId!))
    .groupBy("organizationId")
    .execute();
  if (owned.length === 0) return;
  const unseen = owned.filter((each) => !seesAllOfOwner && !organizations.includes(each.organizationId));
  const message = "The user owns workspaces. Delete them first.";
  if (unseen.length === 0) throw new DomainError("CONFLICT", message);
  const all = owned.reduce((sum, { count }) => sum + count, 0);
  const hidden = unseen.reduce((sum, { count }) => sum + count, 0);
  throw new DomainError("CONFLICT", message, {
    detail: `The user owns ${all} ${all === 1 ? "workspace" : "workspaces"}, of which you may not see ${hidden}. Owners of the deployment and administrators of the organization can delete them, or take them over.`,
  });
}
