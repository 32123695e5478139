import { type Expression, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { anyOf } from "../kernel/queries.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const groupMembers = columnsOf("groupMembers");
const organizationMembers = columnsOf("organizationMembers");

/** Selects the ids of the groups of a user, Everyone included. Everyone has no rows of its own. */
export const groupIdsOf = (user: string | null | Expression<string>) => sql<string>`
  select ${groupMembers.groupId} from group_members where ${groupMembers.userId} = ${user}
  union all select ${organizationMembers.organizationId} from organization_members where ${organizationMembers.userId} = ${user}`;

/** The hint that a user left a group, and with it what is shared with the group. */
export const groupsHint = (userId: string) => ({ topic: "groups", id: userId }) as const;

/**
 * Locks the memberships of users in an organization until the transaction ends, so that they can join groups of it.
 * Returns those of the users who are members.
 */
export async function lockMembers(ctx: Context, organizationId: string, users: readonly string[]): Promise<string[]> {
  if (users.length === 0) return [];
  const members = await ctx.db
    .selectFrom("organizationMembers")
    .select("userId")
    .where("organizationId", "=", organizationId)
    .where("userId", "=", anyOf(users))
    .orderBy("userId")
    .forKeyShare()
    .execute();
  return members.map(({ userId }) => userId);
}

/**
 * Locks memberships before their deletion, by organization, user or both, then the groups that count them: not Everyone,
 * for which changes are summed up. All transactions that change memberships lock in this order, and rows by id, which
 * prevents deadlocks. No locked member can be added to a group.
 */
export async function lockMemberships(
  ctx: Context,
  { organizationId, userId }: { organizationId?: string; userId?: string },
): Promise<void> {
  const ofOrganizations = ctx.db
    .selectFrom("organizationMembers")
    .$if(organizationId !== undefined, (from) => from.where("organizationId", "=", organizationId!))
    .$if(userId !== undefined, (from) => from.where("userId", "=", userId!));
  const ofGroups = ctx.db
    .selectFrom("groupMembers")
    .$if(organizationId !== undefined, (from) => from.where("organizationId", "=", organizationId!))
    .$if(userId !== undefined, (from) => from.where("userId", "=", userId!));
  await ofOrganizations.select("userId").orderBy("organizationId").orderBy("userId").forUpdate().execute();
  // A statement of its own: it sees what was committed while the first one waited for its locks.
  await ctx.db
    .selectFrom("groups")
    .select("id")
    .where("id", "in", ofGroups.select("groupId"))
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
}

/** Removes a user from those of its groups `g` that meet a condition, and records it with each of them. */
export async function leaveGroups(ctx: Context, userId: string, condition: Expression<SqlBool>): Promise<void> {
  const groups = await ctx.db
    .selectFrom("groups as g")
    .select(["g.id", "g.name", "g.organizationId"])
    .where("g.id", "in", (eb) => eb.selectFrom("groupMembers").select("groupId").where("userId", "=", userId))
    .where(condition)
    .orderBy("g.id")
    .forNoKeyUpdate()
    .execute();
  if (groups.length === 0) return;
  const left = await ctx.db
    .deleteFrom("groupMembers")
    .where("userId", "=", userId)
    .where("groupId", "=", anyOf(groups.map(({ id }) => id)))
    .returning("groupId")
    .execute();
  const ids = left.map(({ groupId }) => groupId);
  const updatedAt = new Date(databaseTime());
  await ctx.db.updateTable("groups").set({ updatedAt }).where("id", "=", anyOf(ids)).execute();
  const diff = { members: { old: [userId], new: [] } };
  for (const { id, name, organizationId } of groups.filter((group) => ids.includes(group.id)))
    ctx.audit({ action: "update", ...auditedAs("group", id, name, organizationId), diff });
  ctx.publish(groupsHint(userId));
}
