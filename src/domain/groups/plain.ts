import type { Context } from "../../context.js";
import { sees } from "../authorization.js";
import { statement } from "../database.js";
import type { OrganizationRow } from "../organizations.js";
import type { GroupRow } from "./groups.js";
import { isEveryone, memberCount, membersAtOnce } from "./members.js";

type Own = Omit<GroupRow, "organization" | "aiBudget" | "membersAtOnce">;
type OfOrganization = { [Key in keyof OrganizationRow as `organization${Capitalize<Key>}`]: OrganizationRow[Key] };

interface PlainRow extends Own, OfOrganization {
  budgetMicros: number | null;
  budgetCreatedAt: string;
  budgetUpdatedAt: string;
}

const select = `
  select g.id, g.created_at as "createdAt", g.updated_at as "updatedAt", g.organization_id as "organizationId", g.name,
    g.display_name as "displayName", g.avatar_url as "avatarUrl", g.quota_allowance as "quotaAllowance", g.source,
    exists (select from group_members m where m.group_id = g.id and m.user_id = $1) as "isMember",
    ${memberCount} as "totalMemberCount",
    o.name as "organizationName", o.display_name as "organizationDisplayName",
    o.description as "organizationDescription", o.icon as "organizationIcon",
    o.is_default as "organizationIsDefault", o.created_at as "organizationCreatedAt",
    o.updated_at as "organizationUpdatedAt",
    b.spend_limit_micros as "budgetMicros", b.created_at as "budgetCreatedAt", b.updated_at as "budgetUpdatedAt"
  from groups g
  join organizations o on o.id = g.organization_id and o.deleted_at is null
  left join group_ai_budgets b on b.group_id = g.id
  where g.id = $2`;

/**
 * Reads one group by its id, without members: the read that is asked for most. It is kept as small as a statement can
 * be: who may see the group is decided from the row, and what hangs on it comes in columns instead of JSON.
 */
export function plainById(lock: string): (ctx: Context, id: unknown) => Promise<GroupRow[]> {
  const plain = statement<PlainRow>(`${select} ${lock}`);
  return async (ctx, id) => {
    const row = await ctx.row(plain, ctx.actor.userId ?? null, id);
    const group = row && assembled(ctx, row);
    return group && sees(ctx.actor, "group:read", group) ? [group] : [];
  };
}

/** Turns the row into a group in its place: copying its columns would cost as much as reading them. */
const assembled = ({ actor }: Context, row: PlainRow): GroupRow =>
  Object.assign(row, {
    isMember: isEveryone(row) ? actor.organizations.has(row.organizationId) : row.isMember,
    membersAtOnce: membersAtOnce.alone,
    organization: {
      id: row.organizationId,
      name: row.organizationName,
      displayName: row.organizationDisplayName,
      description: row.organizationDescription,
      icon: row.organizationIcon,
      isDefault: row.organizationIsDefault,
      createdAt: row.organizationCreatedAt,
      updatedAt: row.organizationUpdatedAt,
    },
    aiBudget:
      row.budgetMicros === null
        ? null
        : { spendLimitMicros: row.budgetMicros, createdAt: row.budgetCreatedAt, updatedAt: row.budgetUpdatedAt },
  });
