import type { GraphQLResolveInfo } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type GroupRow, organizationOf } from "../../domain/groups/groups.js";
import type { MembersQuery } from "../../domain/groups/members.js";
import { type Fields, selectedArguments, selectsOnly } from "../engine/selection.js";

/** The queries of members below the group that is being resolved. */
export const membersOfGroup = (info: GraphQLResolveInfo): MembersQuery[] => membersBelow(info, []);

/** The queries of members below each group of a page. */
export const membersOfNodes = (info: GraphQLResolveInfo): MembersQuery[] =>
  membersBelow(info, ["nodes"], ["edges", "node"]);

/** The queries of members below the group of a payload. */
export const membersOfPayload = (info: GraphQLResolveInfo): MembersQuery[] => membersBelow(info, ["group"]);

/** The queries of members below the groups at some paths. All read what any of them selects. */
function membersBelow(info: GraphQLResolveInfo, ...groups: readonly string[][]): MembersQuery[] {
  const below = (...path: string[]) => groups.flatMap((group) => selectedArguments(info, ...group, "members", ...path));
  const queries = below();
  if (queries.length === 0) return queries;
  const omits = (name: string) => below("nodes", name).length === 0 && below("edges", "node", name).length === 0;
  const reads = { profilesOnly: omits("account"), withoutAddedAt: omits("addedAt") };
  return queries.map((query) => ({ ...query, ...reads }));
}

const names: Fields = { id: true, name: true, displayName: true };

/** The organization of a group. Its names come with the group; other fields take a statement. */
export const organizationOfGroup = (ctx: Context, group: GroupRow, info: GraphQLResolveInfo) =>
  selectsOnly(info, names)
    ? { id: group.organizationId, name: group.organizationName, displayName: group.organizationDisplayName }
    : organizationOf(ctx, group);
