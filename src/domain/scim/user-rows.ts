import { type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { containing, foldedSql } from "../kernel/queries.js";
import { foldCase, isUuid } from "../../runtime/text.js";
import { numberOfUsers } from "../users/user-count.js";
import { type Candidates, type Columns, few, pathOf } from "./conditions.js";
import type { Values } from "./evaluate.js";
import type { Comparison } from "./filter.js";
import { isVisibleGroup, type Provisioner } from "./provisioner.js";
import { enterpriseUrn, type ResourceType, userType, userUrn } from "./schema.js";
import { type Versioned, versionColumn, versionTag } from "./etags.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const userColumns = columnsOf("users");
const links = columnsOf("scimUserLinks");

const leaver = columnsOf("users", "leaver");
const goneLink = columnsOf("scimUserLinks", "gone");
const n = columnsOf("scimUserLinks", "n");
const l = columnsOf("scimUserLinks", "l");
const u = columnsOf("users", "u");
const gl = columnsOf("scimGroupLinks", "gl");
const g = columnsOf("groups", "g");
const m = columnsOf("groupMembers", "m");

/** Users `u`, with the link `l` of a source and the link `n` that has the userName. */
export const linkedUsers = (db: Db, { source }: Pick<Provisioner, "source">) =>
  db
    .selectFrom("users as u")
    .leftJoin("scimUserLinks as l", (join) => join.onRef("l.userId", "=", "u.id").on("l.source", "=", source))
    .leftJoin("scimUserLinks as n", (join) =>
      join.onRef("n.userId", "=", "u.id").on("n.userName", "is not", null).on("n.deprovisionedAt", "is", null),
    );

/** As in the partial indexes of users. */
const isListed = sql<SqlBool>`${userColumns.deletedAt} is null and not ${userColumns.isSystem}`;

/** The condition that the user whose id is in a column has not left: no source sees leavers. */
const hasNotLeft = (column: string) => sql<SqlBool>`not exists(
  select from users leaver
  where leaver.id = ${sql.ref(column)} and ${leaver.deprovisionedAt} is not null and ${leaver.deletedAt} is null)`;

/** The condition that a source sees the user whose id is in a column: it has not deleted it, and the user has not left. */
export const isSeen = ({ source }: Pick<Provisioner, "source">, column: string) => sql<SqlBool>`(not exists(
  select from scim_user_links gone
  where gone.source = ${source} and ${goneLink.deprovisionedAt} is not null and ${goneLink.userId} = ${sql.ref(column)})
  and ${hasNotLeft(column)})`;

/** The users `u` that a source sees, with its own link `l` and the link `n` that has the userName. */
export const visibleUsers = (db: Db, provisioner: Provisioner) =>
  linkedUsers(db, provisioner)
    .where(isListed)
    .where("l.deprovisionedAt", "is", null)
    .where("u.deprovisionedAt", "is", null);

export const userName = sql<string>`coalesce(${n.userName}, ${l.userName}, u.username)`;

const attributes = sql<Values>`coalesce(l.attributes, scim_attributes(u.email, u.name, u.username, ${u.avatarUrl}))`;

/** The name that SCIM clients see of a group `g`: that of a link, else its own. */
export const groupDisplay = sql<string>`coalesce(
  (select ${gl.displayName} from scim_group_links gl where ${gl.groupId} = g.id and ${gl.displayName} is not null),
  nullif(${g.displayName}, ''), g.name)`;

const mostGroups = 1000;

/** The groups of the user `u` that the caller sees. */
const groupsOf = (ctx: Context) => sql<Array<{ value: string; display: string }>>`(
  select coalesce(json_agg(d), '[]') from (
    select g.id as value, ${groupDisplay} as display from group_members m join groups g on g.id = ${m.groupId}
    where ${m.userId} = u.id and ${isVisibleGroup(ctx)} order by g.id limit ${sql.lit(mostGroups)}) d)`;

type Users = ReturnType<typeof linkedUsers>;

/** Selects what SCIM clients of a source see of users. */
export const selectUsers = (ctx: Context, users: Users) =>
  users.select([
    "u.id",
    "u.createdAt",
    "u.updatedAt",
    "u.scimVersion as version",
    "u.username",
    "u.email",
    "u.name",
    "u.status",
    "l.externalId",
    userName.as("userName"),
    // The source whose link has the userName; null if it is the username.
    sql<string | null>`coalesce(n.source, case when ${l.userName} is not null then l.source end)`.as("nameSource"),
    attributes.as("attributes"),
    groupsOf(ctx).as("groups"),
  ]);

/** A user as SCIM clients of a source see it. */
export type ScimUserRow = InferResult<ReturnType<typeof selectUsers>>[number];

/** Reads a user that a source sees, or with `isGone` one that it has deleted. Throws NOT_FOUND for others. */
export async function readUserRow(
  ctx: Context,
  provisioner: Provisioner,
  id: string,
  { isGone = false } = {},
): Promise<ScimUserRow> {
  const users = linkedUsers(ctx.db, provisioner).where(isListed).where("u.id", "=", id);
  const seen = isGone
    ? users.where("l.deprovisionedAt", "is not", null)
    : users.where("l.deprovisionedAt", "is", null).where("u.deprovisionedAt", "is", null);
  const row = isUuid(id) ? await selectUsers(ctx, seen).executeTakeFirst() : undefined;
  if (!row) throw notFound();
  return row;
}

/** The ids of the users that a source sees, by indexes on them alone. */
export const visibleIds = (db: Db, provisioner: Provisioner) =>
  db.selectFrom("users as u").select("u.id").where(isListed).where(isSeen(provisioner, "u.id"));

/** Counts the users that a source sees. Deleted users have no links. */
export async function countVisibleUsers(db: Db, { source }: Provisioner): Promise<number> {
  const gone = sql<number>`(
    select count(*) from scim_user_links l
    where l.source = ${source} and ${l.deprovisionedAt} is not null and ${hasNotLeft("l.user_id")})`;
  const left = sql<number>`(select count(*) from users where ${userColumns.deprovisionedAt} is not null and ${userColumns.deletedAt} is null)`;
  const { count } = await db
    .selectNoFrom(sql<number>`(select ${numberOfUsers}) - ${gone} - ${left}`.as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

/** The URL of a resource. */
export const locationOf = ({ config }: Pick<Context, "config">, endpoint: string, id: string): string =>
  `${config.accessUrl}/scim/v2${endpoint}/${id}`;

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
  groups: RawBuilder<unknown> = sql`'[]'::json`,
): Record<string, RawBuilder<unknown>> => ({
  id: sql.raw(`${table}.id::text`),
  meta: sql`true`,
  "meta.resourceType": sql.raw(`'${name}'`),
  "meta.created": sql.raw(`${table}.created_at`),
  "meta.lastModified": sql.raw(`${table}.updated_at`),
  "meta.location": sql`${locationOf(ctx, endpoint, "")}::text || ${sql.raw(table)}.id`,
  "meta.version": versionColumn(sql.raw(`${table}.scim_version`), groups),
});

/** The attribute `schemas`, from an array of URNs. */
export const urnColumns = (urns: RawBuilder<unknown>): Columns["lists"][string] => ({
  values: { self: sql.raw("urn") },
  exists: (condition) => sql<SqlBool>`exists(select from unnest(${urns}) urn where ${condition})`,
});

/** Where statements on `visibleUsers` find attributes. */
export const userFilterColumns = (ctx: Context, provisioner: Provisioner): Columns => ({
  values: {
    ...metaColumns(ctx, "u", userType, groupsOf(ctx)),
    externalId: sql`${l.externalId}`,
    userName,
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
      exists: (condition) => sql<SqlBool>`exists(
        select from group_members m join groups g on g.id = ${m.groupId}
        where ${m.userId} = u.id and ${isVisibleGroup(ctx)} and ${condition})`,
    },
  },
  json: attributes,
  also: alsoByEmail,
  candidates: (comparison) => candidatesOf(provisioner, comparison),
});

/** A userName also finds the user without a link who has it as email: identity providers adopt accounts by it. */
const alsoByEmail = ({ target, operator, value }: Comparison) =>
  target.attribute.name === "userName" && operator === "eq"
    ? sql<SqlBool>`(${l.userId} is null and ${isText("u.email", String(value))})`
    : undefined;

/** The condition that a column is a text, in any letter case. */
export const isText = (column: string, value: string) =>
  sql<SqlBool>`${sql.raw(foldedSql(column))} = ${foldCase(value)}`;

const isLike = (column: string, pattern: string) =>
  sql<SqlBool>`${sql.raw(foldedSql(column))} like ${foldCase(pattern)}`;

/** The ids of all users whose attribute can match a comparison. */
function candidatesOf({ source }: Provisioner, { target, operator, value }: Comparison): Candidates | undefined {
  if (typeof value !== "string" || !["eq", "co", "sw", "ew"].includes(operator)) return undefined;
  const name = pathOf(target).join(".");
  const isEqual = operator === "eq";
  if (name === "id") return isEqual ? few(sql`select ${isUuid(value) ? value : null}::uuid`) : undefined;
  if (name === "externalId")
    return isEqual
      ? few(
          sql`select ${links.userId} from scim_user_links where source = ${source} and ${links.externalId} collate "C" = ${value}`,
        )
      : undefined;
  if (name === "userName") return isEqual ? few(matchUserName(value)) : { ids: namedLike(value), areFew: false };
  if (name === "emails.value" && isEqual) return few(matchAddress(value));
  if (name === "schemas" || /^(meta|groups|photos)\./.test(name)) return undefined;
  return { ids: keeping(value, isAccount(name)), areFew: false };
}

/** Selects the ids of the users who have a userName, or the email that may stand for it. */
const matchUserName = (value: string) => sql`
  select ${links.userId} from scim_user_links where ${isText("user_name", value)} and ${links.deprovisionedAt} is null
  union all select id from users where ${userColumns.deletedAt} is null and ${isText("username", value)}
  union all select id from users where ${userColumns.deletedAt} is null and ${isText("email", value)}`;

const namedLike = (value: string) => sql`
  select ${links.userId} from scim_user_links where ${isLike("user_name", containing(value))}
  union all select id from users where ${isListed} and ${isLike("username", containing(value))}`;

/** A text in kept attributes, as Postgres writes JSON. */
const keptText = (value: string): string => containing(JSON.stringify(value).slice(1, -1));

/** The email addresses in kept attributes, as an array of JSON. */
const keptEmails = "jsonb_path_query_array(attributes, '$.emails[*].value')::text";

const matchAddress = (value: string) => sql`
  select id from users where ${userColumns.deletedAt} is null and ${isText("email", value)}
  union all select ${links.userId} from scim_user_links
    where ${sql.raw(foldedSql(keptEmails))}::jsonb @> ${JSON.stringify([foldCase(value)])}::jsonb`;

/** Whether accounts without a link have the attribute. */
const isAccount = (name: string): boolean => /^(name\.|displayName$|emails\.)/.test(name);

function keeping(value: string, isInAccounts: boolean) {
  const linked = sql`select ${links.userId} from scim_user_links where ${isLike("attributes::text", keptText(value))}`;
  if (!isInAccounts) return linked;
  const pattern = containing(value);
  return sql`${linked}
    union all select id from users where ${isListed} and (${isLike("username", pattern)} or ${isLike("email", pattern)}
      or lower(name) collate "C" like lower(${pattern}::text))`;
}
