import { type Expression, sql as fragment } from "kysely";
import type { Context } from "../kernel/context.js";
import { allOf, given, sql } from "../kernel/sql.js";

/**
 * The relation of all group members. Everyone has no rows of its own: its id is that of its organization, and its
 * members are those of the organization, with `added_at` null.
 */
export const memberships = `(
  select group_id, organization_id, user_id, created_at as added_at from group_members
  union all select organization_id, organization_id, user_id, null from organization_members)`;

/** Selects the ids of the groups of a user, Everyone included. */
export const groupIdsOf = (user: string | null | Expression<string>) => fragment<string>`
  select group_id from group_members where user_id = ${user}
  union all select organization_id from organization_members where user_id = ${user}`;

/** The ids of the members of the group `g`, as an array. Postgres might scan a small table that has none of them. */
export const memberIds = `case when g.id = g.organization_id
  then array(select user_id from organization_members where organization_id = g.id)
  else array(select user_id from group_members where group_id = g.id) end`;

/** The hint that a user left a group, and with it what is shared with the group. */
export const groupsHint = (userId: string) => ({ topic: "groups", id: userId }) as const;

/**
 * Locks memberships before their deletion, by organization, user or both, then the groups that count them. All
 * transactions that change memberships lock in this order, and rows by id, which prevents deadlocks. No locked member
 * can be added to a group.
 */
export async function lockMemberships(
  ctx: Context,
  { organizationId, userId }: { organizationId?: string; userId?: string },
): Promise<void> {
  const isTheirs = allOf(
    given(organizationId, (id) => sql`organization_id = ${id}`),
    given(userId, (id) => sql`user_id = ${id}`),
  );
  // One round trip. The second statement sees what was committed while the first waited for its locks.
  await Promise.all([
    ctx.select(sql`select from organization_members where ${isTheirs} order by organization_id, user_id for update`),
    ctx.select(sql`
      select from groups where id in (
        select group_id from group_members where ${isTheirs}
        union all select organization_id from organization_members where ${isTheirs}
      ) order by id for no key update`),
  ]);
}
