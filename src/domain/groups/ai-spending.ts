import { type Expression, sql } from "kysely";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { forbidden, Problems } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";
import { findOrganization } from "../organizations/organizations.js";
import {
  check,
  type Input,
  inputOf,
  int,
  list,
  optional,
  otherwise,
  reference,
  required,
  uuid,
} from "../kernel/values.js";
import { hasMember } from "./groups.js";
import { findMembership } from "../workspaces/quotas.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const aiUsage = columnsOf("aiUsage");

/** The AI spending of a user in an organization in the current calendar month (UTC). */
export interface AiSpend {
  /** The highest budget among the user's groups, in millionths of the deployment's currency; null for no limit. */
  limitMicros: number | null;
  spentMicros: number;
  periodStart: string;
  /** When the next month begins. */
  periodEnd: string;
}

/** The beginning of the current calendar month (UTC). */
export const thisMonth = sql<string>`date_trunc('month', now())`;
export const nextMonth = sql<string>`date_trunc('month', now()) + interval '1 month'`;

/** The budgets `b` of the groups `g` of an organization. */
export const budgetsIn = ({ db }: Context, organizationId: string) =>
  db
    .selectFrom("groups as g")
    .innerJoin("groupAiBudgets as b", "b.groupId", "g.id")
    .where("g.organizationId", "=", organizationId);

/** Selects the highest budget among the groups of a user in an organization; null for no limit. */
export const limitOf = (ctx: Context, userId: string | Expression<string>, organizationId: string) =>
  budgetsIn(ctx, organizationId)
    .select(({ fn }) => fn.max<number | null>("b.spendLimitMicros").as("limit"))
    .where(hasMember(userId));

/** The AI spending of a user in an organization. */
function aiSpendOf(ctx: Context, userId: string, organizationId: string): Promise<AiSpend> {
  const spent = ctx.db
    .selectFrom("aiMonthSpending")
    .select("amountMicros")
    .where("organizationId", "=", organizationId)
    .where("month", "=", thisMonth)
    .where("userId", "=", userId);
  return ctx.db
    .selectNoFrom((eb) => [
      limitOf(ctx, userId, organizationId).$asScalar().as("limitMicros"),
      eb.fn.coalesce(spent.$asScalar(), eb.lit(0)).as("spentMicros"),
      thisMonth.as("periodStart"),
      nextMonth.as("periodEnd"),
    ])
    .executeTakeFirstOrThrow();
}

/** Reads the AI spending of a user, for the user and for readers of AI budgets. */
export async function readAiSpend(ctx: Context, userRef: string, organizationRef: string): Promise<AiSpend> {
  const { user, organization } = await findMembership(ctx, userRef, organizationRef);
  if (user.id !== userIdOf(ctx.actor))
    authorize(ctx.actor, "group_ai_budget:read", { organizationId: organization.id });
  return aiSpendOf(ctx, user.id, organization.id);
}

/** An amount spent by a task of a user. */
export const AiUsageEntry = inputOf({
  id: required(uuid, "ID chosen by the reporter. Entries with a known ID are skipped, so reports can be retried."),
  userId: required(uuid, "ID of the task's owner."),
  taskId: optional(uuid, "ID of the task."),
  amountMicros: required(
    int(1, Number.MAX_SAFE_INTEGER),
    "Amount spent, in millionths of the deployment's currency, {limits}.",
  ),
});
export type AiUsageEntry = Input<typeof AiUsageEntry>;

const mostEntries = 1000;

export const RecordAiUsage = inputOf({
  organization: otherwise(reference, "default", "Organization of the tasks: ID, name, or `default`."),
  entries: required(list(mostEntries, AiUsageEntry, "entries"), "The entries, {limits}."),
});
export type RecordAiUsage = Input<typeof RecordAiUsage>;

/**
 * Records spending of members of an organization, reported by an AI gateway. Returns the number of new entries. Ignores
 * entries with known ids. Throws BAD_USER_INPUT for users that are not members.
 */
export async function recordAiUsage(ctx: Context, { organization: ref, entries }: RecordAiUsage): Promise<number> {
  const organization = await findOrganization(ctx, ref);
  authorize(ctx.actor, "group_ai_budget:update", { organizationId: organization.id });
  const problems = new Problems();
  if (entries.length > mostEntries) {
    check(RecordAiUsage, { entries }, problems);
    problems.throwIfAny();
  }

  const known = await ctx.db
    .selectFrom("organizationMembers")
    .select("userId")
    .where("organizationId", "=", organization.id)
    .where("userId", "=", anyOf(entries.map(({ userId }) => userId)))
    .execute();
  const members = new Set(known.map(({ userId }) => userId));
  for (const [index, { userId }] of entries.entries()) {
    const isMember = members.has(userId);
    problems.add(`entries[${index}].userId`, isMember ? undefined : "Must be the id of a member of the organization.");
  }
  check(RecordAiUsage, { entries }, problems);
  problems.throwIfAny();
  const recorded = await ctx.db
    .insertInto("aiUsage")
    .columns(["id", "userId", "organizationId", "taskId", "amountMicros", "at"])
    .expression((eb) =>
      eb
        .selectFrom(rowsOf(entries))
        .select([
          "entry.id",
          "entry.userId",
          eb.val(organization.id).as("organizationId"),
          "entry.taskId",
          "entry.amountMicros",
          now.as("at"),
        ]),
    )
    .onConflict((on) => on.doNothing())
    .returning("id")
    .execute();
  return recorded.length;
}

/** Entries as a table: the statement is the same for any number of them. */
function rowsOf(entries: readonly AiUsageEntry[]) {
  const all = <Name extends keyof AiUsageEntry>(name: Name) => entries.map((entry) => entry[name] ?? null);
  return sql<Required<AiUsageEntry>>`
    unnest(${all("id")}::uuid[], ${all("userId")}::uuid[], ${all("taskId")}::uuid[], ${all("amountMicros")}::bigint[])`.as<"entry">(
    sql`entry (id, user_id, task_id, ${aiUsage.amountMicros})`,
  );
}

/**
 * Throws FORBIDDEN if the owner of a task has spent the AI budget of the month in the organization. It holds for every
 * caller, and for creating, resuming, and sending to a task.
 */
export async function requireBudget(ctx: Context, ownerId: string, organizationId: string): Promise<void> {
  const { limitMicros, spentMicros, periodEnd } = await aiSpendOf(ctx, ownerId, organizationId);
  if (limitMicros === null || spentMicros < limitMicros) return;
  throw forbidden("The AI budget is exhausted.", { detail: `The next period begins at ${periodEnd}.` });
}
