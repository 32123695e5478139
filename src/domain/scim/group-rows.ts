import type { Context } from "../kernel/context.js";
import { folded } from "../kernel/folding.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { type Candidates, type Columns, few } from "./conditions.js";
import type { Values } from "./evaluate.js";
import type { Comparison } from "./filter.js";
import { isSeen, type MemberRow, memberValues } from "./members.js";
import { isVisibleGroup, type Provisioner } from "./provisioner.js";
import { groupType, groupUrn } from "./schema.js";
import { groupDisplay, locationOf, metaColumns, metaOf, urnColumns } from "./user-rows.js";

/** A group as SCIM clients of a source see it. */
export interface ScimGroupRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  version: number;
  organizationId: string;
  externalId: string | null;
  displayName: string;
  /** The source whose link has the displayName; null if the group itself has it. */
  nameSource: string | null;
}

/** The groups `g` that a caller sees, with the link `l` of its source. `from … where …`. */
export const visibleGroups = (ctx: Context, { source }: Provisioner, condition: Sql): Sql => sql`
  from groups g left join scim_group_links l on l.group_id = g.id and l.source = ${source}
  where ${isVisibleGroup(ctx)} and ${condition}`;

/** The columns of a `ScimGroupRow`. */
export const groupColumns: Sql = sql`
  g.id, g.created_at as "createdAt", g.updated_at as "updatedAt", g.scim_version as version,
  g.organization_id as "organizationId", l.external_id as "externalId", ${groupDisplay} as "displayName",
  (select gl.source from scim_group_links gl where gl.group_id = g.id and gl.display_name is not null) as "nameSource"`;

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
    externalId: sql`l.external_id`,
    displayName: groupDisplay,
  },
  lists: {
    schemas: urnColumns(sql`array[${groupUrn}]`),
    members: {
      values: {
        value: sql`m.user_id::text`,
        $ref: sql`${locationOf(ctx, "/Users", "")}::text || m.user_id`,
        display: sql`(select coalesce(nullif(u.name, ''), u.username) from users u where u.id = m.user_id)`,
        type: sql`'User'`,
      },
      exists: (condition) => sql`exists(
        select from group_members m
        where m.group_id = g.id and ${isSeen(provisioner, raw("m.user_id"))} and ${condition})`,
    },
  },
  candidates: (comparison) => candidatesOf(provisioner, comparison),
});

/** The ids of all groups whose attribute can match a comparison. */
function candidatesOf({ source }: Provisioner, { target, operator, value }: Comparison): Candidates | undefined {
  if (operator !== "eq" || typeof value !== "string") return undefined;
  switch ([target.attribute.name, ...(target.sub ? [target.sub.name] : [])].join(".")) {
    case "id":
      return few(sql`select ${isUuid(value) ? value : null}::uuid`);
    case "displayName":
      return few(displayed(value));
    case "externalId":
      return few(
        sql`select group_id from scim_group_links where source = ${source} and external_id collate "C" = ${value}`,
      );
    case "members.value":
      return few(sql`select group_id from group_members where user_id = ${isUuid(value) ? value : null}::uuid`);
    default:
      return undefined;
  }
}

/** The ids of all groups that may have a displayName, in any letter case: that of a link, or their own. */
const displayed = (displayName: string): Sql => sql`
  select group_id from scim_group_links where lower(display_name collate "C") = ${folded(displayName)}
  union all
  select id from groups where lower(coalesce(nullif(display_name, ''), name) collate "C") = ${folded(displayName)}`;

export const groupId = raw("g.id");
