import { type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { foldCase, isUuid } from "../../runtime/text.js";
import { notFound } from "../kernel/errors.js";
import { type Candidates, type Columns, few, noJson, pathOf } from "./conditions.js";
import type { Values } from "./evaluate.js";
import type { Comparison } from "./filter.js";
import { type MemberRow, memberValues } from "./scim-members.js";
import { isVisibleGroup, type Provisioner } from "./provisioner.js";
import { groupType, groupUrn } from "./schema.js";
import { groupDisplay, isSeen, locationOf, metaColumns, metaOf, urnColumns } from "./user-rows.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const scimGroupLinks = columnsOf("scimGroupLinks");
const groupColumns = columnsOf("groups");
const groupMembers = columnsOf("groupMembers");

const gl = columnsOf("scimGroupLinks", "gl");
const l = columnsOf("scimGroupLinks", "l");
const m = columnsOf("groupMembers", "m");

/** The groups `g` that the caller sees, with the link `l` of its source. */
export const visibleGroups = (ctx: Context, db: Db, { source }: Provisioner) =>
  db
    .selectFrom("groups as g")
    .leftJoin("scimGroupLinks as l", (join) => join.onRef("l.groupId", "=", "g.id").on("l.source", "=", source))
    .where(isVisibleGroup(ctx))
    .select([
      "g.id",
      "g.createdAt",
      "g.updatedAt",
      "g.scimVersion as version",
      "g.organizationId",
      "l.externalId",
      groupDisplay.as("displayName"),
      // The source whose link has the displayName; null if the group itself has it.
      sql<string | null>`(
        select gl.source from scim_group_links gl where ${gl.groupId} = g.id and ${gl.displayName} is not null
      )`.as("nameSource"),
    ]);

/** A group as SCIM clients of a source see it. */
export type ScimGroupRow = InferResult<ReturnType<typeof visibleGroups>>[number];

/** Reads a group. Throws NOT_FOUND for groups that the caller does not see: those of other organizations, and Everyone. */
export async function readGroupRow(ctx: Context, provisioner: Provisioner, id: string): Promise<ScimGroupRow> {
  const groups = visibleGroups(ctx, ctx.db, provisioner);
  const row = isUuid(id) ? await groups.where("g.id", "=", id).executeTakeFirst() : undefined;
  if (!row) throw notFound();
  return row;
}

/** Renders a group as a resource, with its members where they were read. */
export function groupResource(ctx: Context, row: ScimGroupRow, members?: readonly MemberRow[]): Values {
  const values = members && memberValues(ctx, members);
  return {
    schemas: [groupUrn],
    id: row.id,
    ...(row.externalId !== null && { externalId: row.externalId }),
    displayName: row.displayName,
    ...(values && values.length > 0 && { members: values }),
    meta: metaOf(ctx, "Group", "/Groups", row),
  };
}

/** Where statements on `visibleGroups` find attributes. */
export const groupFilterColumns = (ctx: Context, provisioner: Provisioner): Columns => ({
  values: {
    ...metaColumns(ctx, "g", groupType),
    externalId: sql`${l.externalId}`,
    displayName: groupDisplay,
  },
  lists: {
    schemas: urnColumns(sql`array[${groupUrn}]`),
    members: {
      values: {
        value: sql`${m.userId}::text`,
        $ref: sql`${locationOf(ctx, "/Users", "")}::text || ${m.userId}`,
        display: sql`(select coalesce(nullif(u.name, ''), u.username) from users u where u.id = ${m.userId})`,
        type: sql`'User'`,
      },
      exists: (condition) => sql<SqlBool>`exists(
        select from group_members m
        where ${m.groupId} = g.id and ${isSeen(provisioner, "m.userId")} and ${condition})`,
    },
  },
  json: noJson,
  candidates: (comparison) => candidatesOf(provisioner, comparison),
});

/** The ids of all groups whose attribute can match a comparison. */
function candidatesOf({ source }: Provisioner, { target, operator, value }: Comparison): Candidates | undefined {
  if (operator !== "eq" || typeof value !== "string") return undefined;
  switch (pathOf(target).join(".")) {
    case "id":
      return few(sql`select ${isUuid(value) ? value : null}::uuid`);
    case "displayName":
      return few(matchDisplayName(value));
    case "externalId":
      return few(
        sql`select ${scimGroupLinks.groupId} from scim_group_links where source = ${source} and ${scimGroupLinks.externalId} collate "C" = ${value}`,
      );
    case "members.value":
      return few(
        sql`select ${scimGroupLinks.groupId} from group_members where ${groupMembers.userId} = ${isUuid(value) ? value : null}::uuid`,
      );
    default:
      return undefined;
  }
}

/** The ids of all groups that may have a displayName, in any letter case: that of a link, or their own. */
export const matchDisplayName = (displayName: string) => sql`
  select ${scimGroupLinks.groupId} from scim_group_links where lower(${scimGroupLinks.displayName} collate "C") = ${foldCase(displayName)}
  union all
  select id from groups where lower(coalesce(nullif(${groupColumns.displayName}, ''), name) collate "C") = ${foldCase(displayName)}`;
