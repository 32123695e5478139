import { defineEntity, p } from "@mikro-orm/core";
import { databaseTime } from "../runtime/clock.js";
import { BaseSchema, moment } from "./base.js";
import { User } from "./users.js";
import { longestDescription, longestLabel, longestName, longestUrl } from "./lengths.js";

export const OrganizationSchema = defineEntity({
  name: "Organization",
  tableName: "organizations",
  extends: BaseSchema,
  uniques: [
    {
      name: "organizations_name_unique",
      expression:
        "create unique index organizations_name_unique on organizations (lower(name)) where deleted_at is null",
    },
    {
      name: "organizations_default_unique",
      expression: "create unique index organizations_default_unique on organizations (is_default) where is_default",
    },
  ],
  properties: {
    name: p.string().length(longestName),
    displayName: p.string().length(longestLabel).default(""),
    description: p.string().length(longestDescription).default(""),
    icon: p.string().length(longestUrl).default(""),
    isDefault: p.boolean().default(false),
    deletedAt: moment().nullable(),
  },
});
export class Organization extends OrganizationSchema.class {}
OrganizationSchema.setClass(Organization);

/** Members of organizations, with their roles except the implicit member role. */
export const OrganizationMemberSchema = defineEntity({
  name: "OrganizationMember",
  tableName: "organization_members",
  indexes: [
    {
      name: "organization_members_list_index",
      expression: `create index organization_members_list_index
        on organization_members (organization_id, username collate "C", user_id)`,
    },
    {
      name: "organization_members_user_created_index",
      expression: `create index organization_members_user_created_index
        on organization_members (organization_id, user_created_at, user_id)`,
    },
    {
      name: "organization_members_joined_index",
      expression: `create index organization_members_joined_index
        on organization_members (organization_id, created_at, user_id)`,
    },
    {
      name: "organization_members_roles_index",
      expression: `create index organization_members_roles_index on organization_members (organization_id, user_id)
        where roles <> '{}'`,
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().primary().deleteRule("cascade"),
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade").index("organization_members_user_index"),
    /** The folded username of the user, by which members are listed. Kept by triggers. */
    username: p.string().length(longestName).default(""),
    /** When the user was created. Kept by a trigger. */
    userCreatedAt: moment().defaultRaw("now()"),
    roles: p.array().default([]),
    createdAt: moment().onCreate(() => new Date(databaseTime())),
  },
});
export class OrganizationMember extends OrganizationMemberSchema.class {}
OrganizationMemberSchema.setClass(OrganizationMember);
