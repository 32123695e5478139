// The AI spending of an organization this month, against the budgets of those who spent it.
import { sql } from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { type Input, inputOf, otherwise, reference } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import { nextMonth, thisMonth } from "./ai-spending.js";

const spending = columnsOf("aiMonthSpending", "a");
const budget = columnsOf("groupAiBudgets", "b");
const member = columnsOf("groupMembers", "m");
const organizationMember = columnsOf("organizationMembers", "o");
const group = columnsOf("groups", "g");

/** The largest number of users who are named. */
export const mostSpenders = 5;

export const SpendingOrganization = inputOf({
  organization: otherwise(reference, "default", "The organization: ID, name, or `default`."),
});
export type SpendingOrganization = Input<typeof SpendingOrganization>;

/** The AI spending of a user this month, and the highest budget among the user's groups; null for no limit. */
export interface AiSpender {
  userId: string;
  spentMicros: number;
  limitMicros: number | null;
}

/** The AI spending of all users of an organization in the current calendar month (UTC). */
export interface OrganizationAiSpend {
  spentMicros: number;
  spenderCount: number;
  /** How many of them have spent their budget, and can start nothing before the next month. */
  exhaustedCount: number;
  periodStart: string;
  periodEnd: string;
  /** Those who spent the most, in this order. */
  spenders: AiSpender[];
}

/** The sum of amounts, as far as JSON has such numbers. */
const amountOf = (amounts: unknown) =>
  sql<number>`least(coalesce(sum(${amounts}), 0), ${sql.lit(Number.MAX_SAFE_INTEGER)})::bigint`;

/** Reads the AI spending of an organization, for readers of its AI budgets. Takes one statement. */
export async function readOrganizationAiSpend(
  ctx: Context,
  { organization: ref }: SpendingOrganization,
): Promise<OrganizationAiSpend> {
  const { id } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "group_ai_budget:read", { organizationId: id });
  // Budgets are joined as a set: at most one row for each member of a group that has one. Everyone has no rows of its own.
  const reading = sql<Omit<OrganizationAiSpend, "spenders"> & { spenders: AiSpender[] | null }>`
    with spent as (
      select ${spending.userId} as spender, ${spending.amountMicros} as amount
      from ai_month_spending a
      where ${spending.organizationId} = ${id} and ${spending.month} = ${thisMonth}
    ), budgets as (
      select ${group.id} as id, ${budget.spendLimitMicros} as amount
      from groups g join group_ai_budgets b on ${budget.groupId} = ${group.id}
      where ${group.organizationId} = ${id}
    ), limits as (
      select spender, max(amount) as amount from (
        select ${member.userId} as spender, budgets.amount from budgets join group_members m on ${member.groupId} = budgets.id
        union all
        select ${organizationMember.userId}, budgets.amount
        from budgets join organization_members o on ${organizationMember.organizationId} = budgets.id
      ) each group by 1
    ), against as (
      select spender, spent.amount as spent, limits.amount as most from spent left join limits using (spender)
    )
    select ${amountOf(sql.ref("spent"))} as "spentMicros", count(*)::int as "spenderCount",
      (count(*) filter (where spent >= most))::int as "exhaustedCount",
      ${thisMonth} as "periodStart", ${nextMonth} as "periodEnd",
      (select json_agg(json_build_object('userId', spender, 'spentMicros', spent, 'limitMicros', most) order by spent desc, spender)
       from (select spender, spent, most from against order by spent desc, spender limit ${sql.lit(mostSpenders)}) first) as spenders
    from against ${sql.raw(plannedForValues)}`;
  const { rows } = await ctx.readOnStandby(({ db }) => reading.execute(db));
  const { spenders, ...sums } = rows[0]!;
  return { ...sums, spenders: spenders ?? [] };
}
