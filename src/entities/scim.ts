import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { Group } from "./groups.js";
import { Organization } from "./organizations.js";
import { User } from "./users.js";
import { longestLabel } from "./lengths.js";

/** Maximum lengths in characters, which the columns and the attributes of resources have. */
export const scimLengths = { userName: 256, displayName: 256, externalId: 512 } as const;

/** Keys with which identity providers manage users and groups. A token is `stwi_<id>_<secret>`. */
export const ScimKeySchema = defineEntity({
  name: "ScimKey",
  tableName: "scim_keys",
  uniques: [{ name: "scim_keys_token_unique", properties: ["tokenHash"] }],
  properties: {
    id: p.string().length(10).primary(),
    name: p.string().length(longestLabel),
    /** Label of the identity provider: keys of one source see the same links. */
    source: p.string().length(64),
    /** The organizations whose groups the key manages. New users join all of them, new groups are in the first. */
    organizationIds: p.array().columnType("uuid[]"),
    /** SHA-256 of the token after its `stwi_` prefix. */
    tokenHash: p.type("bytea").$type<Buffer>(),
    createdBy: p.uuid().nullable(),
    createdAt: moment().index("scim_keys_created_index"),
    expiresAt: moment().nullable().index("scim_keys_expiry_index"),
    /** When its creator was last told that it ends soon. */
    endNoticedAt: moment().nullable(),
    /** Accurate to 5 minutes, like the address. */
    lastUsedAt: moment().nullable(),
    lastUsedIp: p.string().length(45).nullable(),
  },
});
export class ScimKey extends ScimKeySchema.class {}
ScimKeySchema.setClass(ScimKey);

/** Requests of keys that failed: the newest 1,000 of each key, for 30 days. With at most 100 keys, purges need no index. */
export const ScimRequestSchema = defineEntity({
  name: "ScimRequest",
  tableName: "scim_requests",
  indexes: [{ name: "scim_requests_key_index", properties: ["scimKey", "time", "id"] }],
  properties: {
    id: p.uuid().primary(),
    scimKey: () => p.manyToOne(ScimKey).ref().deleteRule("cascade").index(false),
    time: moment(),
    method: p.string().length(16),
    /** With the query, without secrets; cut. */
    path: p.string().length(512),
    /** 400 or more. */
    status: p.integer(),
    scimType: p.string().length(32).nullable(),
    /** The reason in the response; cut. */
    detail: p.string().length(512).nullable(),
    requestId: p.string().length(128),
  },
});
export class ScimRequest extends ScimRequestSchema.class {}
ScimRequestSchema.setClass(ScimRequest);

/** The attributes of a user at a source. Triggers copy changes of the account to `attributes`. */
export const ScimUserLinkSchema = defineEntity({
  name: "ScimUserLink",
  tableName: "scim_user_links",
  uniques: [
    {
      name: "scim_user_links_external_id_unique",
      expression: `create unique index scim_user_links_external_id_unique on scim_user_links (source, external_id collate "C")
        where external_id is not null`,
    },
    {
      name: "scim_user_links_user_name_unique",
      expression: `create unique index scim_user_links_user_name_unique on scim_user_links (lower(user_name collate "C"))
        where user_name is not null and deprovisioned_at is null`,
    },
    {
      name: "scim_user_links_named_unique",
      expression: `create unique index scim_user_links_named_unique on scim_user_links (user_id)
        where user_name is not null and deprovisioned_at is null`,
    },
  ],
  indexes: [
    {
      name: "scim_user_links_user_name_search_index",
      expression: `create index scim_user_links_user_name_search_index on scim_user_links
        using gin (lower(user_name collate "C") gin_trgm_ops) with (gin_pending_list_limit = 64)`,
    },
    {
      name: "scim_user_links_attributes_index",
      expression: `create index scim_user_links_attributes_index on scim_user_links
        using gin (lower(attributes::text collate "C") gin_trgm_ops) with (gin_pending_list_limit = 64)`,
    },
    {
      name: "scim_user_links_emails_index",
      expression: `create index scim_user_links_emails_index on scim_user_links using gin (
        (lower(jsonb_path_query_array(attributes, '$.emails[*].value')::text collate "C")::jsonb) jsonb_path_ops
      ) with (gin_pending_list_limit = 64)`,
    },
    {
      name: "scim_user_links_deprovisioned_index",
      expression: `create index scim_user_links_deprovisioned_index on scim_user_links (source, lower(user_name collate "C"))
        where deprovisioned_at is not null`,
    },
  ],
  properties: {
    source: p.string().length(64).primary(),
    user: () => p.manyToOne(User).ref().primary().deleteRule("cascade").index("scim_user_links_user_index"),
    /** ID of the user at the identity provider. */
    externalId: p.string().length(scimLengths.externalId).nullable(),
    /** The userName as the provider wrote it. At most one link of a user has one that is in use. */
    userName: p.string().length(scimLengths.userName).nullable(),
    /** The SCIM attributes that no other column holds, in their canonical spelling. */
    attributes: p.json<Record<string, unknown>>(),
    /** When the source suspended the user. A trigger clears it with each change of the status. */
    suspendedAt: moment().nullable(),
    /** When the source deleted the user, who is then hidden from it. */
    deprovisionedAt: moment().nullable(),
  },
});
export class ScimUserLink extends ScimUserLinkSchema.class {}
ScimUserLinkSchema.setClass(ScimUserLink);

/** The attributes of a group at a source. */
export const ScimGroupLinkSchema = defineEntity({
  name: "ScimGroupLink",
  tableName: "scim_group_links",
  uniques: [
    {
      name: "scim_group_links_external_id_unique",
      expression: `create unique index scim_group_links_external_id_unique on scim_group_links (source, external_id collate "C")
        where external_id is not null`,
    },
    {
      name: "scim_group_links_display_name_unique",
      expression: `create unique index scim_group_links_display_name_unique
        on scim_group_links (lower(display_name collate "C"), organization_id) where display_name is not null`,
    },
    {
      name: "scim_group_links_named_unique",
      expression: `create unique index scim_group_links_named_unique on scim_group_links (group_id)
        where display_name is not null`,
    },
  ],
  properties: {
    source: p.string().length(64).primary(),
    group: () => p.manyToOne(Group).ref().primary().deleteRule("cascade").index("scim_group_links_group_index"),
    organization: () =>
      p.manyToOne(Organization).ref().deleteRule("cascade").index("scim_group_links_organization_index"),
    /** ID of the group at the identity provider. */
    externalId: p.string().length(scimLengths.externalId).nullable(),
    /** The displayName as the provider wrote it, until the group gets another one. */
    displayName: p.string().length(scimLengths.displayName).nullable(),
  },
});
export class ScimGroupLink extends ScimGroupLinkSchema.class {}
ScimGroupLinkSchema.setClass(ScimGroupLink);
