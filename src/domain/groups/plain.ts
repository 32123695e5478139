import type { Context } from "../kernel/context.js";
import { sees } from "../authorization/authorization.js";
import { lookup, statement } from "../kernel/database.js";
import type { OrganizationRow } from "../organizations/organizations.js";
import type { GroupRow } from "./row.js";
import { isEveryone, memberCount, membersAtOnce } from "./members.js";

/** What of a group costs more columns than most readers ask for. */
type Details = "createdAt" | "updatedAt" | "aiBudget";
type Essentials = Omit<GroupRow, "organization" | "membersAtOnce" | Details>;

interface EssentialRow extends Essentials {
  organizationName: string;
  organizationDisplayName: string;
}

type OfOrganization = { [Key in keyof OrganizationRow as `organization${Capitalize<Key>}`]: OrganizationRow[Key] };

interface DetailedRow extends EssentialRow, OfOrganization, Omit<Pick<GroupRow, Details>, "aiBudget"> {
  budgetMicros: number | null;
  budgetCreatedAt: string;
  budgetUpdatedAt: string;
}

const essentials = `
  g.id, g.organization_id as "organizationId", g.name, g.display_name as "displayName", g.avatar_url as "avatarUrl",
  g.quota_allowance as "quotaAllowance", g.source,
  exists (select from group_members m where m.group_id = g.id and m.user_id = $1) as "isMember",
  ${memberCount} as "totalMemberCount",
  o.name as "organizationName", o.display_name as "organizationDisplayName"`;

const details = `
  g.created_at as "createdAt", g.updated_at as "updatedAt",
  o.description as "organizationDescription", o.icon as "organizationIcon",
  o.is_default as "organizationIsDefault", o.created_at as "organizationCreatedAt",
  o.updated_at as "organizationUpdatedAt",
  b.spend_limit_micros as "budgetMicros", b.created_at as "budgetCreatedAt", b.updated_at as "budgetUpdatedAt"`;

const source = `
  from groups g
  join organizations o on o.id = g.organization_id and o.deleted_at is null`;

const wanted = "where g.id = $2";

/**
 * Reads one group by its id, without members: the read that is asked for most. It is kept as small as a statement can
 * be: who may see the group is decided from the row, what hangs on it comes in columns instead of JSON, and without
 * `detailed` it lacks the details, and all of its organization but the names. `lock` ends the statement; it may have
 * parameters from `$3` on.
 */
export function plainById(
  lock: string,
): (ctx: Context, detailed: boolean, id: unknown, ...values: unknown[]) => Promise<GroupRow[]> {
  const declare = lock ? statement : lookup;
  const plain = declare<EssentialRow>(`select ${essentials} ${source} ${wanted} ${lock}`);
  const withDetails = declare<DetailedRow>(
    `select ${essentials}, ${details} ${source} left join group_ai_budgets b on b.group_id = g.id ${wanted} ${lock}`,
  );
  return async (ctx, detailed, ...values) => {
    const reader = ctx.actor.userId ?? null;
    const group = detailed
      ? detailedGroup(ctx, await ctx.row(withDetails, reader, ...values))
      : plainGroup(ctx, await ctx.row(plain, reader, ...values));
    return group && sees(ctx.actor, "group:read", group) ? [group] : [];
  };
}

/** Whoever reads it so asks for nothing that is missing. */
const plainGroup = (ctx: Context, row: EssentialRow | undefined) =>
  row && (assembled(ctx, row, { organization: namesIn(row) }) as unknown as GroupRow);

const detailedGroup = (ctx: Context, row: DetailedRow | undefined): GroupRow | undefined =>
  row && assembled(ctx, row, { organization: organizationIn(row), aiBudget: budgetIn(row) });

/** Turns the row into a group in its place: copying its columns would cost as much as reading them. */
const assembled = <Row extends EssentialRow, Parts>({ actor }: Context, row: Row, parts: Parts) =>
  Object.assign(row, parts, {
    isMember: isEveryone(row) ? actor.organizations.has(row.organizationId) : row.isMember,
    membersAtOnce: membersAtOnce.alone,
  });

const namesIn = (row: EssentialRow) => ({
  id: row.organizationId,
  name: row.organizationName,
  displayName: row.organizationDisplayName,
});

const organizationIn = (row: DetailedRow): OrganizationRow => ({
  ...namesIn(row),
  description: row.organizationDescription,
  icon: row.organizationIcon,
  isDefault: row.organizationIsDefault,
  createdAt: row.organizationCreatedAt,
  updatedAt: row.organizationUpdatedAt,
});

const budgetIn = (row: DetailedRow): GroupRow["aiBudget"] =>
  row.budgetMicros === null
    ? null
    : { spendLimitMicros: row.budgetMicros, createdAt: row.budgetCreatedAt, updatedAt: row.budgetUpdatedAt };
