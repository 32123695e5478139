import type { Context } from "../kernel/context.js";
import { may } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { notFound, Problems } from "../kernel/errors.js";
import { wholeNumber } from "../kernel/text.js";
import { budgetColumns, findGroup, lockGroup } from "./groups.js";
import type { GroupAiBudgetRow, GroupRow } from "./row.js";

/** A budget and whose it is. */
export type GroupAiBudget = GroupAiBudgetRow & { group: GroupRow };

/** The budget of a group, for those who may read it; others see none. */
export const aiBudgetOf = (ctx: Context, group: GroupRow): GroupAiBudget | null =>
  group.aiBudget && may(ctx.actor, "group_ai_budget:read", group) ? { ...group.aiBudget, group } : null;

/** The budget of a group. Throws where there is none, or none for the caller. */
export async function readGroupAiBudget(ctx: Context, ref: string): Promise<GroupAiBudget> {
  const budget = aiBudgetOf(ctx, await findGroup(ctx, ref));
  if (!budget) throw notFound();
  return budget;
}

export interface SetGroupAiBudget {
  group: string;
  spendLimitMicros?: number | null;
}

const putBudget = statement<GroupAiBudgetRow & { former: number | null }>(`
  with former as (select spend_limit_micros as micros from group_ai_budgets where group_id = $1),
  b as (
    insert into group_ai_budgets (group_id, spend_limit_micros, created_at, updated_at) values ($1, $2, now(), now())
    on conflict (group_id) do update set
      spend_limit_micros = excluded.spend_limit_micros,
      updated_at = case when group_ai_budgets.spend_limit_micros = excluded.spend_limit_micros
        then group_ai_budgets.updated_at else now() end
    returning *
  )
  select ${budgetColumns}, (select micros from former) as former from b`);

/** Gives a group a budget, or another one. */
export const spendLimitRule = wholeNumber(1, Number.MAX_SAFE_INTEGER);

export async function setGroupAiBudget(ctx: Context, input: SetGroupAiBudget): Promise<GroupAiBudget> {
  const group = await lockGroup(ctx, input.group, "group_ai_budget:update");
  requireFeature(ctx, "aibridge");
  const limit = input.spendLimitMicros ?? 0;
  const problems = new Problems();
  const isLimit = Number.isSafeInteger(limit) && limit > 0;
  problems.add("spendLimitMicros", isLimit ? undefined : spendLimitRule);
  problems.throwIfAny();

  const { former, ...budget } = (await ctx.row(putBudget, group.id, limit))!;
  if (former !== limit) {
    const diff = { spendLimitMicros: former === null ? { new: limit } : { old: former, new: limit } };
    ctx.audit({ action: former === null ? "create" : "update", ...ofBudget(group), diff });
  }
  return { ...budget, group };
}

const dropBudget = statement<GroupAiBudgetRow>(
  `delete from group_ai_budgets b where b.group_id = $1 returning ${budgetColumns}`,
);

/** Takes the budget from a group, and gives it as it was. */
export async function deleteGroupAiBudget(ctx: Context, ref: string): Promise<GroupAiBudget> {
  const group = await lockGroup(ctx, ref, "group_ai_budget:delete");
  const budget = await ctx.row(dropBudget, group.id);
  if (!budget) throw notFound();
  const diff = { spendLimitMicros: { old: budget.spendLimitMicros } };
  ctx.audit({ action: "delete", ...ofBudget(group), diff });
  return { ...budget, group };
}

const ofBudget = ({ id, name, organizationId }: GroupRow) => ({
  resourceType: "group_ai_budget",
  resourceId: id,
  resourceLabel: name,
  organizationId,
});
