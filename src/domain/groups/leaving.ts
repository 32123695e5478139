import { auditedAs } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { type Sql, sql } from "../kernel/sql.js";
import type { GroupRow } from "./groups.js";

/** Removes a user from the groups `g` that meet a condition, and records it with each of them. */
export async function leaveGroups(ctx: Context, userId: string, condition: Sql): Promise<void> {
  const groups = await ctx.select<Pick<GroupRow, "id" | "name" | "organizationId">>(sql`
    select g.id, g.name, g.organization_id as "organizationId" from groups g
    where g.id in (select group_id from group_members where user_id = ${userId}) and ${condition}
    order by g.id for no key update`);
  if (groups.length === 0) return;
  const ids = groups.map(({ id }) => id);
  const left = await ctx.select<{ id: string }>(sql`
    with removed as (
      delete from group_members where user_id = ${userId} and group_id = any(${ids}::uuid[]) returning group_id
    )
    update groups set updated_at = now() from removed where id = group_id returning id`);
  const diff = { members: { old: [userId], new: [] } };
  for (const { id, name, organizationId } of groups)
    if (left.some((each) => each.id === id))
      ctx.audit({ action: "update", ...auditedAs("group", id, name, organizationId), diff });
}
