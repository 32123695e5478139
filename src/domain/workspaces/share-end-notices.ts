// Notices that workspaces are not shared much longer.
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Context } from "../kernel/context.js";
import { anyOf, now } from "../kernel/queries.js";
import { claimIds } from "../kernel/queue.js";
import { batchSize, endNoticeJob, isEndDue } from "../notifications/end-notices.js";
import { notify } from "../notifications/notify.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";

const e = columnsOf("workspaceAclEntries", "e");

const endingShares = ({ db }: Context) =>
  db
    .selectFrom("workspaceAclEntries as e")
    .innerJoin("workspaces as w", "w.id", "e.workspaceId")
    .select("e.id")
    .where(isEndDue(e))
    .where("w.deletedAt", "is", null)
    .orderBy("e.expiresAt");

/** Tells owners, and the user with whom a workspace is shared. Members of groups, who may be many, are not told. */
async function tellOfShares(ctx: Context): Promise<number> {
  const marked = await ctx.db
    .updateTable("workspaceAclEntries")
    .set({ endNoticedAt: now })
    .where("id", "=", claimIds(endingShares(ctx), batchSize, "e"))
    .returning("id")
    .execute();
  if (marked.length === 0) return 0;
  const shares = await ctx.db
    .selectFrom("workspaceAclEntries as e")
    .innerJoin("workspaces as w", "w.id", "e.workspaceId")
    .innerJoin("users as o", "o.id", "w.ownerId")
    .leftJoin("users as u", "u.id", "e.userId")
    .leftJoin("groups as g", "g.id", "e.groupId")
    .select([
      "w.id",
      "w.name",
      "w.organizationId",
      "w.ownerId",
      "o.username as owner",
      "e.userId",
      "u.username",
      "g.name as group",
    ])
    .select("e.expiresAt")
    .where("e.id", "=", anyOf(marked.map(({ id }) => id)))
    .orderBy("e.id")
    .execute();
  await notify(
    ctx,
    ...shares.map(({ id, name, organizationId, ownerId, owner, userId, username, group, expiresAt }) => ({
      template: workspaceNotifications.shareEnds,
      object: { name, organizationId },
      recipients: userId === null ? [ownerId] : [ownerId, userId],
      targets: [id, ownerId],
      labels: { workspace: name, owner, sharee: username ?? group ?? "", ends_at: expiresAt! },
      data: {},
    })),
  );
  return marked.length;
}

export const shareEndNotices = endNoticeJob("tell users that shares of workspaces end soon", tellOfShares);
