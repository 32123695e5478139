// The AI spending of an organization this month, against the budgets of those who spent it.
import { sql } from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { type Input, inputOf, otherwise, reference } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import { budgetsIn, limitOf, nextMonth, thisMonth } from "./ai-spending.js";

const spending = columnsOf("aiMonthSpending", "a");
const member = columnsOf("groupMembers", "m");
const organizationMember = columnsOf("organizationMembers", "o");
const total = columnsOf("aiMonthTotals");

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

/** Reads the AI spending of an organization, for readers of its AI budgets. */
export async function readOrganizationAiSpend(
  ctx: Context,
  { organization: ref }: SpendingOrganization,
): Promise<OrganizationAiSpend> {
  const { id } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "group_ai_budget:read", { organizationId: id });
  return ctx.readOnStandby(async (on) => {
    const { leastBudget, ...sums } = await sumsOf(on, id);
    const spenders = await mostOf(on, id);
    const isAnyExhausted = leastBudget !== null && (spenders[0]?.spentMicros ?? 0) >= leastBudget;
    return { ...sums, exhaustedCount: isAnyExhausted ? await countExhausted(on, id, leastBudget) : 0, spenders };
  });
}

/** The sums of the month, and the least budget of a group; null for none. */
function sumsOf(ctx: Context, organizationId: string) {
  const totals = ctx.db
    .selectFrom("aiMonthTotals")
    .where("organizationId", "=", organizationId)
    .where("month", "=", thisMonth);
  const amount = sql<number>`least(${total.amountMicros}, ${sql.lit(Number.MAX_SAFE_INTEGER)})::bigint`;
  return ctx.db
    .selectNoFrom((eb) => [
      eb.fn.coalesce(totals.select(amount.as("amount")).$asScalar(), eb.lit(0)).as("spentMicros"),
      eb.fn.coalesce(totals.select("spenderCount").$asScalar(), eb.lit(0)).as("spenderCount"),
      budgetsIn(ctx, organizationId)
        .select(({ fn }) => fn.min<number | null>("b.spendLimitMicros").as("least"))
        .$asScalar()
        .as("leastBudget"),
      thisMonth.as("periodStart"),
      nextMonth.as("periodEnd"),
    ])
    .executeTakeFirstOrThrow();
}

/** The users who spent the most. */
function mostOf(ctx: Context, organizationId: string): Promise<AiSpender[]> {
  const first = ctx.db
    .selectFrom("aiMonthSpending")
    .select(["userId", "amountMicros as spentMicros"])
    .where("organizationId", "=", organizationId)
    .where("month", "=", thisMonth)
    .orderBy("amountMicros", "desc")
    .orderBy("userId")
    .limit(mostSpenders);
  return ctx.db
    .selectFrom(first.as("s"))
    .select(["s.userId", "s.spentMicros"])
    .select(limitOf(ctx, sql.ref<string>("s.userId"), organizationId).$asScalar().as("limitMicros"))
    .orderBy("spentMicros", "desc")
    .orderBy("userId")
    .execute();
}

/** Counts the users who have spent their budget, among those who spent as much as the least one. */
async function countExhausted(ctx: Context, organizationId: string, leastBudget: number): Promise<number> {
  // Budgets are joined as a set: at most one row for each member of a group that has one. Everyone has no rows of its own.
  const counting = sql<{ count: number }>`
    with budgets as (
      ${budgetsIn(ctx, organizationId).select(["g.id", "b.spendLimitMicros as amount"])}
    ), limits as (
      select spender, max(amount) as amount from (
        select ${member.userId} as spender, budgets.amount from budgets join group_members m on ${member.groupId} = budgets.id
        union all
        select ${organizationMember.userId}, budgets.amount
        from budgets join organization_members o on ${organizationMember.organizationId} = budgets.id
      ) each group by 1
    )
    select count(*)::int as count from ai_month_spending a join limits on spender = ${spending.userId}
    where ${spending.organizationId} = ${organizationId} and ${spending.month} = ${thisMonth}
      and ${spending.amountMicros} >= ${leastBudget} and ${spending.amountMicros} >= limits.amount
    ${sql.raw(plannedForValues)}`;
  const { rows } = await counting.execute(ctx.db);
  return rows[0]!.count;
}
