import { type RawBuilder, sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { authorize, isSiteRole, requireProof, type SiteRole, siteRoles } from "../authorization/authorization.js";
import { auditedAs, type AuditEntry, diffOf } from "../kernel/audit.js";
import { isEmpty } from "../kernel/changed-fields.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { check, choice, type Input, inputOf, int, optional, reference, required } from "../kernel/values.js";
import { findOrganization, lockOrganization } from "../organizations/organizations.js";
import { RoleName } from "../users/user-roles.js";
import { FactorLevel } from "./factor-demands.js";

const r = columnsOf("secondFactorRules");
const u = columnsOf("users", "u");

/** The roles that rules of the deployment name. All people are a `member`. */
const ruledRoles = ["member", ...siteRoles] as const;

/** Those who come under a rule: the members of an organization, or the holders of a role in the deployment. */
type Subject = { organizationId: string } | { siteRole: SiteRole | "member" };

/** A rule of second factors. */
export interface SecondFactorRuleRow {
  /** The role whose holders come under it; null for a rule of an organization. */
  role: SiteRole | "member" | null;
  organizationId: string | null;
  level: FactorLevel;
  daysToEnrol: number;
  /** Since when it has this level, RFC 3339; null if it says nothing. */
  since: string | null;
}

/** How many people with a password come under a rule, and how many of them have no second factor. */
export interface RuleReach {
  peopleCount: number;
  withoutFactorCount: number;
}

const level = required(
  choice(FactorLevel),
  "How far they may, or must, have a second factor. The strictest of the setting of the server and of all rules for a person counts.",
);
const daysToEnrol = optional(
  int(0, 365),
  "Days that they have to add one if it is required, {limits}, from the later of this rule and of when they came under it. Default: 14.",
);

export const SetSecondFactorRule = inputOf({
  role: required(choice(RoleName), "The role in the deployment whose holders come under it; `MEMBER` for all people."),
  level,
  daysToEnrol,
});
export type SetSecondFactorRule = Input<typeof SetSecondFactorRule>;

export const SetOrganizationSecondFactorRule = inputOf({
  organization: required(reference, "The organization whose members come under it: ID, name, or `default`."),
  level,
  daysToEnrol,
});
export type SetOrganizationSecondFactorRule = Input<typeof SetOrganizationSecondFactorRule>;

const usualDays = 14;

const stored = ({ db }: Context) =>
  db.selectFrom("secondFactorRules").select(["siteRole", "organizationId", "level", "daysToEnrol", "since"]);

const isFor = (subject: Subject) =>
  "organizationId" in subject
    ? sql<SqlBool>`${r.organizationId} = ${subject.organizationId}`
    : sql<SqlBool>`${r.siteRole} = ${subject.siteRole}`;

type Stored = Pick<SecondFactorRuleRow, "level" | "daysToEnrol" | "since">;

/** The rule of those for whom none is stored. */
const silent: Stored = { level: "off", daysToEnrol: usualDays, since: null };

const ruleOf = (subject: Subject, { level: held, daysToEnrol: days, since }: Stored = silent): SecondFactorRuleRow => ({
  role: "siteRole" in subject ? subject.siteRole : null,
  organizationId: "organizationId" in subject ? subject.organizationId : null,
  level: held,
  daysToEnrol: days,
  since,
});

/** Lists the rules of the deployment: one for all people, and one for each role. */
export async function listSecondFactorRules(ctx: Context): Promise<SecondFactorRuleRow[]> {
  authorize(ctx.actor, "deployment_config:read");
  const rows = await stored(ctx).where("siteRole", "is not", null).execute();
  return ruledRoles.map((siteRole) =>
    ruleOf(
      { siteRole },
      rows.find((row) => row.siteRole === siteRole),
    ),
  );
}

/** Reads the rule of an organization. */
export async function readOrganizationRule(ctx: Context, ref: string): Promise<SecondFactorRuleRow> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "organization:update", { organizationId });
  return ruleOf({ organizationId }, await stored(ctx).where(isFor({ organizationId })).executeTakeFirst());
}

/** Sets the rule for the holders of a role in the deployment. */
export async function setSecondFactorRule(ctx: Context, input: SetSecondFactorRule): Promise<SecondFactorRuleRow> {
  authorize(ctx.actor, "deployment_config:update");
  requireProof(ctx.actor);
  const problems = new Problems();
  check(SetSecondFactorRule, input, problems);
  const { role } = input;
  const siteRole = role === "member" || isSiteRole(role) ? role : undefined;
  problems.add("role", siteRole === undefined ? "Must be a role in the deployment." : undefined);
  problems.throwIfAny();
  const audited = auditedAs("deployment", "second_factors", `second factors of ${siteRole!}`);
  return replace(ctx, { siteRole: siteRole! }, input, audited);
}

/** Sets the rule for the members of an organization. */
export async function setOrganizationSecondFactorRule(
  ctx: Context,
  input: SetOrganizationSecondFactorRule,
): Promise<SecondFactorRuleRow> {
  const { id, name } = await lockOrganization(ctx, input.organization, "organization:update");
  requireProof(ctx.actor);
  const problems = new Problems();
  check(SetOrganizationSecondFactorRule, input, problems);
  problems.throwIfAny();
  return replace(ctx, { organizationId: id }, input, auditedAs("organization", id, name, id));
}

/** Replaces a rule. It begins when its level changes: with other days, the people have those from then. */
async function replace(
  ctx: Context,
  subject: Subject,
  { level: wanted, daysToEnrol: days }: Pick<SetSecondFactorRule, "level" | "daysToEnrol">,
  audited: Pick<AuditEntry, "resourceType" | "resourceId" | "resourceLabel" | "organizationId">,
): Promise<SecondFactorRuleRow> {
  await takeTurn(ctx, "second_factor_rules");
  const former = (await stored(ctx).where(isFor(subject)).executeTakeFirst()) ?? silent;
  const next: Pick<Stored, "level" | "daysToEnrol"> =
    wanted === "off" ? silent : { level: wanted, daysToEnrol: days ?? usualDays };
  const named = (rule: Pick<Stored, "level" | "daysToEnrol">) => ({
    secondFactors: rule.level,
    daysToEnrol: rule.daysToEnrol,
  });
  const diff = diffOf(named(former), named(next));
  if (isEmpty(diff)) return ruleOf(subject, former);
  await ctx.db.deleteFrom("secondFactorRules").where(isFor(subject)).execute();
  if (next.level !== "off") {
    const since = former.level === next.level ? former.since! : now;
    await ctx.db
      .insertInto("secondFactorRules")
      .values({ ...subject, id: newId(), level: next.level, daysToEnrol: next.daysToEnrol, since })
      .execute();
  }
  ctx.audit({ action: "update", ...audited, diff });
  return ruleOf(subject, await stored(ctx).where(isFor(subject)).executeTakeFirst());
}

/** Maximum number of people who are counted. */
const mostCounted = 10_000;

/** Batch read, for `ctx.load`, of how many people come under rules. Checks no permission: the rules do. */
export async function reachesOf(ctx: Context, rules: readonly SecondFactorRuleRow[]): Promise<RuleReach[]> {
  const countOf = (selected: People, subject: RawBuilder<string>) =>
    ctx.db
      .selectFrom(selected.as("u"))
      .leftJoin("authenticators as a", (join) =>
        join.onRef("a.userId", "=", "u.id").on("a.confirmedAt", "is not", null),
      )
      .leftJoin(
        (eb) => eb.selectFrom("passkeys").select("userId").distinct().as("p"),
        (join) => join.onRef("p.userId", "=", "u.id"),
      )
      .select(({ fn }) => [
        sql<string>`${subject}::text`.as("subject"),
        fn.countAll<number>().as("peopleCount"),
        fn
          .countAll<number>()
          .filterWhere("a.userId", "is", null)
          .filterWhere("p.userId", "is", null)
          .as("withoutFactorCount"),
      ]);
  const counts = rules.flatMap(({ role, organizationId }) => {
    if (organizationId !== null) return countOf(membersOf(ctx, organizationId), sql.val(organizationId));
    return role === "member" ? countOf(people(ctx), sql.val(role)) : [];
  });
  // The holders of roles are few, and are counted together.
  if (rules.some(({ role }) => role !== null && role !== "member"))
    counts.push(countOf(holdersOfRoles(ctx), sql.ref("u.role")).groupBy("u.role"));
  const all = counts.reduce((some, each) => some.unionAll(each));
  // The best plan depends on the size of the organization.
  const rows = await all.modifyEnd(sql.raw(plannedForValues)).execute();
  const none = { peopleCount: 0, withoutFactorCount: 0 };
  return rules.map(
    ({ role, organizationId }) => rows.find(({ subject }) => subject === (organizationId ?? role)) ?? none,
  );
}

/** The people with a password, as many as are counted, by users_with_password_index. Only `holdersOfRoles` names a role. */
const people = ({ db }: Context) =>
  db
    .selectFrom("users as u")
    .select(["u.id", sql<string>`null`.as("role")])
    .where("u.loginType", "=", "password")
    .where("u.status", "=", "active")
    .where("u.isServiceAccount", "=", false)
    .where("u.isSystem", "=", false)
    .where("u.deletedAt", "is", null)
    .limit(mostCounted);
type People = ReturnType<typeof people>;

const membersOf = (ctx: Context, organizationId: string): People =>
  people(ctx).where("u.id", "in", (eb) =>
    eb.selectFrom("organizationMembers").select("userId").where("organizationId", "=", organizationId),
  );

/** People with roles, with a row for each role. The condition is that of users_site_roles_index. */
const holdersOfRoles = (ctx: Context): People =>
  people(ctx)
    .clearSelect()
    .select(["u.id", sql<string>`unnest(${u.siteRoles})`.as("role")])
    .where(sql<SqlBool>`${u.siteRoles} <> '{}'`);
