import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { Organization, OrganizationMember } from "./organizations.js";
import { User } from "./users.js";
import { longestLabel, longestName, longestUrl } from "./lengths.js";

/** Maximum length of a name in characters, which the column and the inputs have. */
export const longestGroupName = 36;

/** Groups of organizations. `Everyone` has the ID of its organization and no member rows. */
export const GroupSchema = defineEntity({
  name: "Group",
  tableName: "groups",
  extends: BaseSchema,
  uniques: [{ name: "groups_name_unique", properties: ["organization", "name"] }],
  indexes: [
    { name: "groups_name_index", properties: ["name"] },
    { name: "groups_list_index", properties: ["organizationName", "name", "id"] },
    { name: "groups_organization_list_index", properties: ["organization", "organizationName", "name", "id"] },
    {
      name: "groups_display_index",
      expression: `create index groups_display_index
        on groups (lower(coalesce(nullif(display_name, ''), name) collate "C"), organization_id)`,
    },
    {
      name: "groups_folded_name_index",
      expression: `create index groups_folded_name_index on groups (organization_id, (lower(name collate "C")))`,
    },
    {
      name: "groups_search_index",
      expression: `create index groups_search_index on groups using gin (
        (lower(name) collate "C") gin_trgm_ops, (lower(display_name) collate "C") gin_trgm_ops
      ) with (fastupdate = off)`,
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().deleteRule("cascade"),
    /** The name of the organization, by which groups are listed. Kept by triggers. */
    organizationName: p.string().length(longestName).default(""),
    name: p.string().length(longestGroupName),
    displayName: p.string().length(longestLabel).default(""),
    avatarUrl: p.string().length(longestUrl).default(""),
    quotaAllowance: p.integer().default(0),
    source: p.enum(["user", "oidc"]).default("user"),
    /** Kept by triggers on the memberships. That of Everyone lacks the rows of `MemberChange`. */
    memberCount: p.integer().default(0),
    /** Name of the group at the identity provider. */
    externalId: p.text().nullable(),
    /** Raised by triggers with each change that SCIM clients see. */
    scimVersion: p.integer().default(1),
  },
});
export class Group extends GroupSchema.class {}
GroupSchema.setClass(Group);

/** Members of groups. References the organization membership, so that no race can leave a member without one. */
export const GroupMemberSchema = defineEntity({
  name: "GroupMember",
  tableName: "group_members",
  properties: {
    group: () => p.manyToOne(Group).ref().primary().deleteRule("cascade"),
    membership: () =>
      p.manyToOne(OrganizationMember).ref().primary().joinColumns("organization_id", "user_id").deleteRule("cascade"),
    /** The folded username of the user, by which members are listed. Kept by triggers. */
    username: p.string().length(longestName).default(""),
    createdAt: moment().defaultRaw("now()"),
  },
  indexes: [
    {
      name: "group_members_list_index",
      expression: `create index group_members_list_index
        on group_members (group_id, username collate "C", user_id)`,
    },
    {
      name: "group_members_user_index",
      expression: "create index group_members_user_index on group_members (user_id, organization_id)",
    },
  ],
});
export class GroupMember extends GroupMemberSchema.class {}
GroupMemberSchema.setClass(GroupMember);

/** Changes of the number of members of an organization. A trigger adds them, and a job adds their sum to Everyone. */
export const MemberChangeSchema = defineEntity({
  name: "MemberChange",
  tableName: "member_changes",
  indexes: [{ name: "member_changes_organization_index", properties: ["organizationId"] }],
  properties: {
    id: p.uuid().primary().defaultRaw("gen_random_uuid()"),
    /** No reference: a foreign key would lock the organization. */
    organizationId: p.uuid(),
    change: p.integer(),
  },
});
export class MemberChange extends MemberChangeSchema.class {}
MemberChangeSchema.setClass(MemberChange);

/** Amount that each member of the group may spend on AI per calendar month. */
export const GroupAiBudgetSchema = defineEntity({
  name: "GroupAiBudget",
  tableName: "group_ai_budgets",
  properties: {
    group: () => p.oneToOne(Group).ref().primary().owner().deleteRule("cascade"),
    /** Millionths of the deployment's currency. */
    spendLimitMicros: p.bigint("number"),
    createdAt: moment(),
    updatedAt: moment(),
  },
});
export class GroupAiBudget extends GroupAiBudgetSchema.class {}
GroupAiBudgetSchema.setClass(GroupAiBudget);

/** AI spending reported by the gateway. The reporter chooses the ID, so that reports can be retried. */
export const AiUsageSchema = defineEntity({
  name: "AiUsage",
  tableName: "ai_usage",
  indexes: [{ name: "ai_usage_user_index", properties: ["user", "organization", "at"] }],
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).ref().deleteRule("cascade"),
    organization: () => p.manyToOne(Organization).ref().deleteRule("cascade"),
    taskId: p.uuid().nullable(),
    amountMicros: p.bigint("number"),
    at: moment(),
    /** Whether it is part of the sum of its month: all but what was reported before there were sums. */
    isSummed: p.boolean().default(true),
  },
});
export class AiUsage extends AiUsageSchema.class {}
AiUsageSchema.setClass(AiUsage);

/** The sum of what a user spent on AI in an organization in a month. A trigger adds each amount that is reported. */
export const AiMonthSpendingSchema = defineEntity({
  name: "AiMonthSpending",
  tableName: "ai_month_spending",
  indexes: [
    { name: "ai_month_spending_user_index", properties: ["user"] },
    {
      name: "ai_month_spending_amount_index",
      expression:
        "create index ai_month_spending_amount_index on ai_month_spending (organization_id, month, amount_micros desc, user_id)",
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().primary().deleteRule("cascade"),
    /** When the month (UTC) begins. */
    month: moment().primary(),
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade"),
    /** At most what JSON numbers hold. */
    amountMicros: p.bigint("number"),
  },
});
export class AiMonthSpending extends AiMonthSpendingSchema.class {}
AiMonthSpendingSchema.setClass(AiMonthSpending);

/** The total of the users of an organization in a month. Triggers keep it, with the sums of the users. */
export const AiMonthTotalSchema = defineEntity({
  name: "AiMonthTotal",
  tableName: "ai_month_totals",
  properties: {
    organization: () => p.manyToOne(Organization).ref().primary().deleteRule("cascade"),
    /** When the month (UTC) begins. */
    month: moment().primary(),
    amountMicros: p.decimal("number").columnType("numeric"),
    /** The number of users who spent something. */
    spenderCount: p.integer(),
  },
});
export class AiMonthTotal extends AiMonthTotalSchema.class {}
AiMonthTotalSchema.setClass(AiMonthTotal);
