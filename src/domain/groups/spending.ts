import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { badInput, Problems } from "../kernel/errors.js";
import { findOrganization } from "../organizations/organizations.js";
import { wholeNumber } from "../kernel/text.js";
import { memberships } from "./memberships.js";
import { findMembership } from "./quota.js";

/** The AI spending of a user in an organization in the current calendar month (UTC). */
export interface AiSpend {
  /** The highest budget among the user's groups, in millionths of the deployment's currency; null for no limit. */
  limitMicros: number | null;
  spentMicros: number;
  periodStart: string;
  /** When the next month begins. */
  periodEnd: string;
}

/** The AI spending of a user `$1` in an organization `$2`. */
export const spendOf = statement<AiSpend>(`
  select
    (select max(b.spend_limit_micros)
      from ${memberships} m join groups g on g.id = m.group_id join group_ai_budgets b on b.group_id = g.id
      where m.user_id = $1 and g.organization_id = $2) as "limitMicros",
    (select least(coalesce(sum(amount_micros), 0), 9007199254740991)
      from ai_usage where user_id = $1 and organization_id = $2 and at >= month.first and at < month.next) as "spentMicros",
    month.first as "periodStart", month.next as "periodEnd"
  from (select date_trunc('month', now()) as first, date_trunc('month', now()) + interval '1 month' as next) month`);

/** Reads the AI spending of a user, for the user and for readers of AI budgets. */
export async function readAiSpend(ctx: Context, userRef: string, organizationRef: string): Promise<AiSpend> {
  const { user, organization } = await findMembership(ctx, userRef, organizationRef);
  if (user.id !== userIdOf(ctx.actor))
    authorize(ctx.actor, "group_ai_budget:read", { organizationId: organization.id });
  return (await ctx.row(spendOf, user.id, organization.id))!;
}

/** An amount spent by a task of a user. */
export interface AiUsageEntry {
  /** Chosen by the reporter. Makes reports idempotent. */
  id: string;
  userId: string;
  taskId?: string | null;
  amountMicros: number;
}

export interface RecordAiUsage {
  /** Id, name or `default`. */
  organization: string;
  entries?: AiUsageEntry[] | null;
}

const mostEntries = 1000;

const insertUsage = statement<{ known: string[]; recorded: number }>(`
  with reported as (
    select * from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[]) as r (id, user_id, task_id, amount_micros)
  ), known as (
    select user_id as id from organization_members where organization_id = $1 and user_id = any($3)
  ), recorded as (
    insert into ai_usage (id, user_id, organization_id, task_id, amount_micros, at)
    select distinct on (r.id) r.id, r.user_id, $1, r.task_id, r.amount_micros, now()
    from reported r join known on known.id = r.user_id
    on conflict do nothing
    returning id
  )
  select array(select id from known) as known, (select count(*) from recorded) as recorded`);

export const amountRule = wholeNumber(1, Number.MAX_SAFE_INTEGER);

/**
 * Records spending of members of an organization, reported by an AI gateway. Returns the number of new entries. Ignores
 * entries with known ids. Throws BAD_USER_INPUT for users that are not members.
 */
export async function recordAiUsage(ctx: Context, { organization: ref, entries }: RecordAiUsage): Promise<number> {
  const organization = await findOrganization(ctx, ref);
  authorize(ctx.actor, "group_ai_budget:update", { organizationId: organization.id });
  if (entries == null) throw badInput([{ field: "entries", detail: "Is required." }]);
  if (entries.length > mostEntries)
    throw badInput([{ field: "entries", detail: `Must be at most ${mostEntries} entries.` }]);

  const column = <Name extends keyof AiUsageEntry>(name: Name) => entries.map((entry) => entry[name] ?? null);
  const values = [column("id"), column("userId"), column("taskId"), column("amountMicros")];
  const { known, recorded } = (await ctx.row(insertUsage, organization.id, ...values))!;
  const users = new Set(known);
  const problems = new Problems();
  for (const [index, { userId, amountMicros }] of entries.entries()) {
    problems.add(
      `entries[${index}].userId`,
      users.has(userId) ? undefined : "Must be the id of a member of the organization.",
    );
    problems.add(`entries[${index}].amountMicros`, amountMicros > 0 ? undefined : amountRule);
  }
  // A fault rolls back the insert.
  problems.throwIfAny();
  return recorded;
}
