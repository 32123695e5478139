import type { Context } from "../kernel/context.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { allOf, containing, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { type Candidates, type Columns, few } from "./conditions.js";
import type { Values } from "./evaluate.js";
import type { Comparison } from "./filter.js";
import { numberOfUsers } from "../users/counts.js";
import { isVisibleGroup, type Provisioner } from "./provisioner.js";
import { enterpriseUrn, type ResourceType, userType, userUrn } from "./schema.js";
import { type Versioned, versionColumn, versionTag } from "./versions.js";

/** A user as SCIM clients of a source see it. */
export interface ScimUserRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  version: number;
  username: string;
  email: string;
  name: string;
  status: "active" | "suspended";
  externalId: string | null;
  userName: string;
  /** The source whose link has the userName; null if it is the username. */
  nameSource: string | null;
  attributes: Values;
  groups: Array<{ value: string; display: string }>;
}

/** The URL of a resource. */
export const locationOf = ({ config }: Pick<Context, "config">, endpoint: string, id: string): string =>
  `${config.accessUrl}/scim/v2${endpoint}/${id}`;

/**
 * The users `u` that a source sees, with its own link `l` and the link `n` that has the userName. `from … where …`.
 */
export const visibleUsers = ({ source }: Provisioner, condition: Sql): Sql => sql`
  from users u
  left join scim_user_links l on l.user_id = u.id and l.source = ${source}
  left join scim_user_links n on n.user_id = u.id and n.user_name is not null and n.deprovisioned_at is null
  where u.deleted_at is null and not u.is_system and l.deprovisioned_at is null and ${condition}`;

/** Reads a user that a source sees. */
export async function readUserRow(
  ctx: Context,
  provisioner: Provisioner,
  id: string,
): Promise<ScimUserRow | undefined> {
  if (!isUuid(id)) return undefined;
  const isIt = sql`u.id = ${id}`;
  const [row] = await ctx.select<ScimUserRow>(sql`select ${userColumns(ctx)} ${visibleUsers(provisioner, isIt)}`);
  return row;
}

/** The users `u` that a source sees, by the index on their ids. `from … where …`. */
export const visibleIds = ({ source }: Provisioner, condition?: Sql): Sql => sql`
  from users u
  where ${allOf(
    sql`u.deleted_at is null and not u.is_system`,
    sql`not exists(
      select from scim_user_links l
      where l.user_id = u.id and l.source = ${source} and l.deprovisioned_at is not null)`,
    condition,
  )}`;

/** Counts the users that a source sees. Deleted users have no links. */
export const countVisibleUsers = ({ source }: Provisioner): Sql => sql`
  select ${numberOfUsers}
    - (select count(*) from scim_user_links where source = ${source} and deprovisioned_at is not null) as count`;

const attributes = sql`coalesce(l.attributes, scim_attributes(u.email, u.name, u.username, u.avatar_url))`;

/** The name that SCIM clients see of a group `g`: that of a link, else its own. */
export const groupDisplay = sql`coalesce(
  (select gl.display_name from scim_group_links gl where gl.group_id = g.id and gl.display_name is not null),
  nullif(g.display_name, ''), g.name)`;

const mostGroups = 1000;

/** The columns of a `ScimUserRow`. */
export const userColumns = (ctx: Context): Sql => sql`
  u.id, u.created_at as "createdAt", u.updated_at as "updatedAt", u.scim_version as version, u.username, u.email, u.name,
  u.status, l.external_id as "externalId", coalesce(n.user_name, u.username) as "userName", n.source as "nameSource",
  ${attributes} as attributes, ${groupsOf(ctx, raw("u.id"))} as groups`;

/** The groups of a user that the caller sees, as JSON. */
export const groupsOf = (ctx: Context, id: Sql): Sql => sql`(
  select coalesce(json_agg(d), '[]') from (
    select g.id as value, ${groupDisplay} as display from group_members m join groups g on g.id = m.group_id
    where m.user_id = ${id} and ${isVisibleGroup(ctx)} order by g.id limit ${raw(String(mostGroups))}) d)`;

/** Renders a user as a resource. */
export function userResource(ctx: Context, row: ScimUserRow): Values {
  const { [enterpriseUrn]: enterprise, ...kept } = row.attributes;
  const groups = row.groups.map(({ value, display }) => ({
    value,
    $ref: locationOf(ctx, "/Groups", value),
    display,
    type: "direct",
  }));
  return {
    schemas: enterprise ? [userUrn, enterpriseUrn] : [userUrn],
    id: row.id,
    ...(row.externalId !== null && { externalId: row.externalId }),
    userName: row.userName,
    ...kept,
    active: row.status === "active",
    ...(groups.length > 0 && { groups }),
    ...(enterprise !== undefined && { [enterpriseUrn]: enterprise }),
    meta: metaOf(ctx, "User", "/Users", row),
  };
}

export const metaOf = (
  ctx: Context,
  resourceType: string,
  endpoint: string,
  row: Pick<ScimUserRow, "id" | "createdAt" | "updatedAt"> & Versioned,
) => ({
  resourceType,
  created: row.createdAt,
  lastModified: row.updatedAt,
  location: locationOf(ctx, endpoint, row.id),
  version: versionTag(row),
});

/** The columns of the common attributes of the resources of a table. */
export const metaColumns = (
  ctx: Context,
  table: string,
  { name, endpoint }: ResourceType,
  groups: Sql = sql`'[]'::json`,
): Record<string, Sql> => ({
  id: raw(`${table}.id::text`),
  meta: sql`true`,
  "meta.resourceType": raw(`'${name}'`),
  "meta.created": raw(`${table}.created_at`),
  "meta.lastModified": raw(`${table}.updated_at`),
  "meta.location": sql`${locationOf(ctx, endpoint, "")}::text || ${raw(table)}.id`,
  "meta.version": versionColumn(raw(`${table}.scim_version`), groups),
});

/** The attribute `schemas`, from an array of URNs. */
export const urnColumns = (urns: Sql): Columns["lists"][string] => ({
  values: { self: raw("urn") },
  exists: (condition) => sql`exists(select from unnest(${urns}) urn where ${condition})`,
});

/** Where statements on `visibleUsers` find attributes. */
export const userFilterColumns = (ctx: Context, provisioner: Provisioner): Columns => ({
  values: {
    ...metaColumns(ctx, "u", userType, groupsOf(ctx, raw("u.id"))),
    externalId: sql`l.external_id`,
    userName: sql`coalesce(n.user_name, u.username)`,
    active: sql`u.status = 'active'`,
  },
  lists: {
    schemas: urnColumns(sql`case when ${attributes} ? ${enterpriseUrn}
      then array[${userUrn}, ${enterpriseUrn}] else array[${userUrn}] end`),
    groups: {
      values: {
        value: sql`g.id::text`,
        $ref: sql`${locationOf(ctx, "/Groups", "")}::text || g.id`,
        display: groupDisplay,
        type: sql`'direct'`,
      },
      exists: (condition) => sql`exists(
        select from group_members m join groups g on g.id = m.group_id
        where m.user_id = u.id and ${isVisibleGroup(ctx)} and ${condition})`,
    },
  },
  json: attributes,
  also: alsoByEmail,
  candidates: (comparison) => candidatesOf(provisioner, comparison),
});

/** A userName also finds the user without a link who has it as email: identity providers adopt accounts by it. */
const alsoByEmail = ({ target, operator, value }: Comparison): Sql | undefined =>
  target.attribute.name === "userName" && operator === "eq"
    ? sql`(l.user_id is null and ${isText("u.email", String(value))})`
    : undefined;

/** The condition that a column is a text, in any letter case. */
export const isText = (column: string, value: string): Sql => sql`${raw(foldedSql(column))} = ${folded(value)}`;

const isLike = (column: string, pattern: string): Sql => sql`${raw(foldedSql(column))} like ${folded(pattern)}`;

const isListed = raw("deleted_at is null and not is_system");

/** The ids of all users whose attribute can match a comparison. */
function candidatesOf({ source }: Provisioner, { target, operator, value }: Comparison): Candidates | undefined {
  const { attribute, sub, extension } = target;
  if (typeof value !== "string" || !["eq", "co", "sw", "ew"].includes(operator)) return undefined;
  const name = extension ? "" : [attribute.name, ...(sub ? [sub.name] : [])].join(".");
  const isEqual = operator === "eq";
  if (name === "id") return isEqual ? few(sql`select ${isUuid(value) ? value : null}::uuid`) : undefined;
  if (name === "externalId")
    return isEqual
      ? few(sql`select user_id from scim_user_links where source = ${source} and external_id collate "C" = ${value}`)
      : undefined;
  if (name === "userName") return isEqual ? few(named(value)) : { ids: namedLike(value), areFew: false };
  if (name === "emails.value" && isEqual) return few(addressed(value));
  if (name.startsWith("meta.") || name.startsWith("groups.") || name.startsWith("photos.")) return undefined;
  return { ids: keeping(value, isAccount(name)), areFew: false };
}

const named = (value: string): Sql => sql`
  select user_id from scim_user_links where ${isText("user_name", value)} and deprovisioned_at is null
  union all select id from users where deleted_at is null and ${isText("username", value)}
  union all select id from users where deleted_at is null and ${isText("email", value)}`;

const namedLike = (value: string): Sql => sql`
  select user_id from scim_user_links where ${isLike("user_name", containing(value))}
  union all select id from users where ${isListed} and ${isLike("username", containing(value))}`;

/** A text in kept attributes, as Postgres writes JSON. */
const keptText = (value: string): string => containing(JSON.stringify(value).slice(1, -1));

/** The email addresses in kept attributes, as an array of JSON. */
const keptEmails = "jsonb_path_query_array(attributes, '$.emails[*].value')::text";

const addressed = (value: string): Sql => sql`
  select id from users where deleted_at is null and ${isText("email", value)}
  union all select user_id from scim_user_links
    where ${raw(foldedSql(keptEmails))}::jsonb @> ${JSON.stringify([folded(value)])}::jsonb`;

/** Whether accounts without a link have the attribute. */
const isAccount = (name: string): boolean => /^(name\.|displayName$|emails\.)/.test(name);

function keeping(value: string, inAccounts: boolean): Sql {
  const linked = sql`select user_id from scim_user_links where ${isLike("attributes::text", keptText(value))}`;
  if (!inAccounts) return linked;
  const pattern = containing(value);
  return sql`${linked}
    union all select id from users where ${isListed} and (${isLike("username", pattern)} or ${isLike("email", pattern)}
      or lower(name) collate "C" like lower(${pattern}::text))`;
}
