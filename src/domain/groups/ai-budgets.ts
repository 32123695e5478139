import type { InferResult } from "kysely";
import type { Context } from "../kernel/context.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { anyOf } from "../kernel/queries.js";
import { databaseTime } from "../../runtime/clock.js";
import { Group, GroupAiBudget as Budget } from "../../entities/groups.js";
import type { Db } from "../../infrastructure/database/database.js";
import { may } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { notFound, Problems } from "../kernel/errors.js";
import { check, type Input, inputOf, int, reference, required } from "../kernel/values.js";
import { findGroup, groupReference, type GroupRow, lockGroup } from "./groups.js";

/** The AI budget of every member of a group per calendar month, in millionths of the deployment's currency. */
export interface GroupAiBudget extends BudgetRow {
  group: GroupRow;
}

const budgets = (db: Db) =>
  db.selectFrom("groupAiBudgets").select(["groupId", "spendLimitMicros", "createdAt", "updatedAt"]);

type BudgetRow = InferResult<ReturnType<typeof budgets>>[number];

async function budgetsByGroup(ctx: Context, ids: readonly string[]): Promise<Array<BudgetRow | undefined>> {
  const rows = await budgets(ctx.db).where("groupId", "=", anyOf(ids)).execute();
  const found = new Map(rows.map((budget) => [budget.groupId, budget]));
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

export const SetGroupAiBudget = inputOf({
  group: required(reference, groupReference),
  spendLimitMicros: required(
    int(1, Number.MAX_SAFE_INTEGER),
    "Monthly limit per member, in millionths of the deployment's currency, {limits}.",
  ),
});
export type SetGroupAiBudget = Input<typeof SetGroupAiBudget>;

/** Sets or replaces the budget of a group. */
export async function setGroupAiBudget(
  ctx: Context,
  { group: ref, spendLimitMicros: limit }: SetGroupAiBudget,
): Promise<GroupAiBudget> {
  const group = await lockGroup(ctx, ref, "group_ai_budget:update");
  requireFeature(ctx, "aibridge");
  const problems = new Problems();
  check(SetGroupAiBudget, { spendLimitMicros: limit }, problems);
  problems.throwIfAny();

  const stored = await ctx.em.findOneOrFail(Group, group.id);
  const former = await ctx.em.findOne(Budget, { group: stored });
  const now = new Date(databaseTime());
  if (!former) ctx.em.create(Budget, { group: stored, spendLimitMicros: limit, createdAt: now, updatedAt: now });
  else if (former.spendLimitMicros !== limit) ctx.em.assign(former, { spendLimitMicros: limit, updatedAt: now });
  await ctx.em.flush();
  const [budget] = await budgetsByGroup(ctx, [group.id]);
  return { ...budget!, group };
}

export const DeleteGroupAiBudget = inputOf({ group: required(reference, groupReference) });

/** Deletes the budget of a group. Returns the budget before the deletion. */
export async function deleteGroupAiBudget(ctx: Context, ref: string): Promise<GroupAiBudget> {
  const group = await lockGroup(ctx, ref, "group_ai_budget:delete");
  const [budget] = await budgetsByGroup(ctx, [group.id]);
  if (!budget) throw notFound();
  ctx.em.remove(await ctx.em.findOneOrFail(Budget, { group: group.id }, { populate: ["group"] }));
  await ctx.em.flush();
  return { ...budget, group };
}

auditChangesOf(Budget, {
  resource: (budget) => {
    const { id, name, organization } = budget.group.unwrap();
    return auditedAs("group_ai_budget", id, name, organization.id);
  },
  fields: ["spendLimitMicros"],
});
