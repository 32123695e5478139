import type { GraphQLResolveInfo } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type GroupRow, organizationOf } from "../../domain/groups/groups.js";
import type { MembersQuery } from "../../domain/groups/members.js";
import { type Fields, selectedArguments, selectsOnly } from "../engine/selection.js";

/** The queries of members below the group that is being resolved. */
export const membersOfGroup = (info: GraphQLResolveInfo): MembersQuery[] => selectedArguments(info, "members");

/** The queries of members below each group of a page. */
export const membersOfNodes = (info: GraphQLResolveInfo): MembersQuery[] => [
  ...selectedArguments(info, "nodes", "members"),
  ...selectedArguments(info, "edges", "node", "members"),
];

const names: Fields = { id: true, name: true, displayName: true };

/** The organization of a group. Its names come with the group; other fields take a statement. */
export const organizationOfGroup = (ctx: Context, group: GroupRow, info: GraphQLResolveInfo) =>
  selectsOnly(info, names)
    ? { id: group.organizationId, name: group.organizationName, displayName: group.organizationDisplayName }
    : organizationOf(ctx, group);
