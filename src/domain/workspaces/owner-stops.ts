import type { Context } from "../kernel/context.js";
import { unavailable } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { systemIdentity } from "../users/system-identities.js";
import { isOpen } from "./build-status.js";
import { createBuild } from "./builds.js";
import { workspaces } from "./workspaces.js";

/** Seconds after which a request that had to wait for a build is to be repeated. */
const retryAfter = 60;

/**
 * Stops the workspaces of a locked user that are not stopped, in the name of the server, and ends their schedules, their
 * shares, and the injection of secrets. Checks no permission. Throws UNAVAILABLE while a build of one of them has not ended. Returns the names of all workspaces of the user.
 */
export async function stopForOwner(ctx: Context, ownerId: string): Promise<string[]> {
  const owned = await workspaces(ctx.db)
    .where("w.ownerId", "=", ownerId)
    .where("w.deletedAt", "is", null)
    .orderBy("w.id")
    .forNoKeyUpdate("w")
    .execute();
  if (owned.some(({ latestStatus }) => isOpen(latestStatus)))
    throw unavailable("A workspace of the account is being built. Try again when the build has ended.", retryAfter);
  const initiatorId = await systemIdentity(ctx, "system");
  for (const workspace of owned)
    if (workspace.latestStatus !== "stopped")
      await createBuild(ctx, workspace, { transition: "stop", reason: "owner_suspended", initiatorId });
  await ctx.db
    .updateTable("workspaces")
    .set({ autostartSchedule: null, autostartAt: null, injectUserSecrets: false })
    .where("ownerId", "=", ownerId)
    .where("deletedAt", "is", null)
    .execute();
  const ids = owned.map(({ id }) => id);
  await ctx.db.deleteFrom("workspaceAclEntries").where("workspaceId", "=", anyOf(ids)).execute();
  return owned.map(({ name }) => name);
}
