// How far the setting and the rules ask a user for a second factor.
import { sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Context } from "../kernel/context.js";

const r = columnsOf("secondFactorRules", "r");
const u = columnsOf("users", "u");
const m = columnsOf("organizationMembers", "m");

/** How far people may, or must, have a second factor. Of several levels, the last one counts. */
export const FactorLevel = { OFF: "off", OPTIONAL: "optional", REQUIRED: "required" } as const;
export type FactorLevel = (typeof FactorLevel)[keyof typeof FactorLevel];

/** The rules `r` that apply to the user `u`. */
const ruling = sql`second_factor_rules r
  left join organization_members m on ${m.organizationId} = ${r.organizationId} and ${m.userId} = u.id
  where (${r.siteRole} = 'member' or ${r.siteRole} = any(${u.siteRoles}) or ${m.userId} is not null)`;

/** Since when a rule `r` applies to the user `u`: not before the user came under it, if that is known. */
const applicableSince = sql`greatest(r.since, case
  when ${m.userId} is not null then ${m.createdAt}
  when ${r.siteRole} = 'member' then ${u.createdAt}
  else (${u.siteRoleTimes} ->> ${r.siteRole})::timestamptz end)`;

/** Until when the user `u` has to add a second factor by the first rule that requires one; null without such a rule. */
export const dueByRules = sql<string | null>`(
  select min(${applicableSince} + ${r.daysToEnrol} * interval '1 day') from ${ruling} and r.level = 'required')`;

/** Whether a rule lets the user `u` have a second factor. */
export const isOfferedByRules = sql<boolean>`exists (select from ${ruling})`;

/** How far the setting and the rules ask a user for a second factor. */
export interface FactorDemand {
  level: FactorLevel;
  /** Until when a second factor has to be added, RFC 3339; null unless one is required. */
  dueAt: string | null;
}

/** Finds out what the setting and the rules say about a user. Only people who sign in with a password have a second factor here. */
export async function demandOn({ db, config }: Pick<Context, "db" | "config">, userId: string): Promise<FactorDemand> {
  const found = await db
    .selectFrom("users as u")
    .select([
      "u.createdAt",
      "u.loginType",
      "u.isServiceAccount",
      dueByRules.as("dueAt"),
      isOfferedByRules.as("isOffered"),
    ])
    .where("u.id", "=", userId)
    .executeTakeFirst();
  if (found?.loginType !== "password" || found.isServiceAccount) return { level: "off", dueAt: null };
  const { createdAt, dueAt, isOffered } = found;
  if (config.secondFactors === "required") return { level: "required", dueAt: createdAt };
  if (dueAt !== null) return { level: "required", dueAt };
  return { level: isOffered ? "optional" : config.secondFactors, dueAt: null };
}

/** Whether a user who signs in with a password may have a second factor. No statement is needed where the setting says so. */
export const isOffered = async (ctx: Pick<Context, "db" | "config">, userId: string): Promise<boolean> =>
  ctx.config.secondFactors !== "off" || (await demandOn(ctx, userId)).level !== "off";

/** Whether the setting, or any rule, lets people have a second factor. */
export async function areOffered({ db, config }: Pick<Context, "db" | "config">): Promise<boolean> {
  if (config.secondFactors !== "off") return true;
  return (await db.selectFrom("secondFactorRules").select("level").limit(1).executeTakeFirst()) !== undefined;
}
