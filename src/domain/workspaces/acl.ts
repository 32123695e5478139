import { sql } from "kysely";
import { authorize } from "../authorization/authorization.js";
import { type AccessList, accessLists, EndingAclChange, groupRoleNotice } from "../groups/access-lists.js";
import { requireFeature } from "../entitlements/requirements.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import {
  lockWorkspace,
  namedWorkspace,
  ofWorkspace,
  workspaceHint,
  type WorkspaceRow,
  workspacesById,
} from "./workspaces.js";
import { inputOf, type Input, listOf, optional } from "../kernel/values.js";

export const UpdateWorkspaceAcl = inputOf({
  workspace: namedWorkspace,
  groupPerms: optional(listOf(EndingAclChange), `Entries of groups of the organization. ${groupRoleNotice}`),
  userPerms: optional(listOf(EndingAclChange), "Entries of members of the organization."),
});
export type UpdateWorkspaceAcl = Input<typeof UpdateWorkspaceAcl>;

const entries = accessLists("workspaceAclEntries", "workspaceId");

/** Sets and removes entries of the access list of a workspace; others stay. Returns the id of the workspace. */
export async function updateWorkspaceAcl(ctx: Context, input: UpdateWorkspaceAcl): Promise<string> {
  const workspace = await lockWorkspace(ctx, input.workspace, "share");
  requireFeature(ctx, "template_rbac");
  const diff = await entries.change(ctx, workspace, input);
  if (Object.keys(diff).length > 0) {
    ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
    ctx.publish(workspaceHint(workspace.id));
  }
  return workspace.id;
}

/** Reads the access list of a workspace, for those who may share it. Throws FORBIDDEN for others. */
export async function readWorkspaceAcl(ctx: Context, workspace: WorkspaceRow): Promise<AccessList> {
  authorize(ctx.actor, "workspace:share", workspace);
  return entries.read(ctx, workspace.id);
}

/** Maximum number of entries that are deleted in a transaction. */
const batchSize = 100;

/** Deletes entries that have ended, and wakes the streams that depended on them. Returns their number. */
async function endShares(ctx: Context): Promise<number> {
  const ended = await ctx.db
    .deleteFrom("workspaceAclEntries")
    .where(
      "id",
      "=",
      sql<string>`any(array(${ctx.db
        .selectFrom("workspaceAclEntries")
        .select("id")
        .where("expiresAt", "<=", now)
        .orderBy("expiresAt")
        .limit(batchSize)
        .forUpdate()
        .skipLocked()}))`,
    )
    .returning(["workspaceId", "userId", "groupId", "role", "expiresAt"])
    .execute();
  const byWorkspace = Map.groupBy(ended, ({ workspaceId }) => workspaceId);
  for (const workspace of await workspacesById(ctx, [...byWorkspace.keys()])) {
    if (!workspace) continue;
    const diff = Object.fromEntries(
      byWorkspace
        .get(workspace.id)!
        .map(({ userId, groupId, role, expiresAt }) => [
          userId === null ? `group:${groupId}` : `user:${userId}`,
          { old: `${role} until ${expiresAt}`, new: null },
        ]),
    );
    ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
    ctx.publish(workspaceHint(workspace.id));
  }
  return ended.length;
}

/** Ends the shares whose time is over. They grant nothing from that time on, whether this has run or not. */
async function endExpiredShares(services: Services): Promise<void> {
  for (;;) {
    const ctx = systemContext(services);
    const ended = await ctx.transactional(() => endShares(ctx));
    if (ended < batchSize) return;
  }
}

export const shareExpiry = { name: "end shares of workspaces", every: minute / 12, run: endExpiredShares };
