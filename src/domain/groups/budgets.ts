import type { Context } from "../kernel/context.js";
import { auditedAs } from "../audit/audit.js";
import { GroupAiBudget as StoredBudget } from "../../entities/groups.js";
import { may } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { lookup, statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { notFound, Problems } from "../kernel/errors.js";
import { wholeNumber } from "../kernel/text.js";
import { findGroup, type GroupRow, lockGroup } from "./groups.js";

const columns = columnsOf(StoredBudget, "b", ["groupId", "spendLimitMicros", "createdAt", "updatedAt"]);
type BudgetRow = RowOf<typeof columns>;

/** The AI budget of every member of a group per calendar month, in millionths of the deployment's currency. */
export interface GroupAiBudget extends BudgetRow {
  group: GroupRow;
}

const budgets = lookup<BudgetRow>(`select ${columns} from group_ai_budgets b where b.group_id = any($1::uuid[])`);

async function budgetsByGroup(ctx: Context, ids: readonly string[]): Promise<Array<BudgetRow | undefined>> {
  const found = new Map((await ctx.rows(budgets, ids)).map((budget) => [budget.groupId, budget]));
  return ids.map((id) => found.get(id));
}

/** Reads the budget of a group; null if there is none or if the caller may not read it. */
export async function aiBudgetOf(ctx: Context, group: GroupRow): Promise<GroupAiBudget | null> {
  const budget = may(ctx.actor, "group_ai_budget:read", group) && (await ctx.load(budgetsByGroup, group.id));
  return budget ? { ...budget, group } : null;
}

/** Reads the budget of a group. Throws NOT_FOUND if there is none or if the caller may not read it. */
export async function readGroupAiBudget(ctx: Context, ref: string): Promise<GroupAiBudget> {
  const budget = await aiBudgetOf(ctx, await findGroup(ctx, ref));
  if (!budget) throw notFound();
  return budget;
}

export interface SetGroupAiBudget {
  group: string;
  spendLimitMicros?: number | null;
}

const putBudget = statement<BudgetRow & { former: number | null }>(`
  with former as (select spend_limit_micros as micros from group_ai_budgets where group_id = $1),
  b as (
    insert into group_ai_budgets (group_id, spend_limit_micros, created_at, updated_at) values ($1, $2, now(), now())
    on conflict (group_id) do update set
      spend_limit_micros = excluded.spend_limit_micros,
      updated_at = case when group_ai_budgets.spend_limit_micros = excluded.spend_limit_micros
        then group_ai_budgets.updated_at else now() end
    returning *
  )
  select ${columns}, (select micros from former) as former from b`);

export const spendLimitRule = wholeNumber(1, Number.MAX_SAFE_INTEGER);

/** Sets or replaces the budget of a group. */
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

const dropBudget = statement<BudgetRow>(`delete from group_ai_budgets b where b.group_id = $1 returning ${columns}`);

/** Deletes the budget of a group. Returns the budget before the deletion. */
export async function deleteGroupAiBudget(ctx: Context, ref: string): Promise<GroupAiBudget> {
  const group = await lockGroup(ctx, ref, "group_ai_budget:delete");
  const budget = await ctx.row(dropBudget, group.id);
  if (!budget) throw notFound();
  const diff = { spendLimitMicros: { old: budget.spendLimitMicros } };
  ctx.audit({ action: "delete", ...ofBudget(group), diff });
  return { ...budget, group };
}

const ofBudget = ({ id, name, organizationId }: GroupRow) => auditedAs("group_ai_budget", id, name, organizationId);
