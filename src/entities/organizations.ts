import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { User } from "./users.js";

const OrganizationSchema = defineEntity({
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
    name: p.string().length(32),
    displayName: p.string().length(64).default(""),
    description: p.string().length(1000).default(""),
    icon: p.string().length(2048).default(""),
    isDefault: p.boolean().default(false),
    deletedAt: moment().nullable(),
  },
});
export class Organization extends OrganizationSchema.class {}
OrganizationSchema.setClass(Organization);

/** That a user belongs to an organization, with the roles held there (the implied member role is not stored). */
const OrganizationMemberSchema = defineEntity({
  name: "OrganizationMember",
  tableName: "organization_members",
  properties: {
    organization: () => p.manyToOne(Organization).ref().primary().deleteRule("cascade"),
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade").index("organization_members_user_index"),
    roles: p.array().default([]),
    createdAt: moment().onCreate(() => new Date()),
  },
});
export class OrganizationMember extends OrganizationMemberSchema.class {}
OrganizationMemberSchema.setClass(OrganizationMember);
