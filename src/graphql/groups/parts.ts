import type { GraphQLResolveInfo } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type GroupRow, organizationOf } from "../../domain/groups/groups.js";
import type { MembersQuery } from "../../domain/groups/members.js";
import { type Fields, selectedArguments, selectsOnly, selectsOnlyBelow } from "../engine/selection.js";

/** What giving a role to a group implies: stated wherever a group gets one. */
export const groupRoleNotice =
  "A role of a group is the role of all its members, present and future. Those who manage the members of the group decide who they are and can add themselves: owners, user administrators, administrators and user administrators of the organization, and identity providers with a SCIM key.";

/** The queries of members below the group that is being resolved. */
export const membersOfGroup = (info: GraphQLResolveInfo): MembersQuery[] => membersBelow(info, []);

/** The queries of members below each group of a page. */
export const membersOfNodes = (info: GraphQLResolveInfo): MembersQuery[] =>
  membersBelow(info, ["nodes"], ["edges", "node"]);

/** The queries of members below the group of a payload. */
export const membersOfPayload = (info: GraphQLResolveInfo): MembersQuery[] => membersBelow(info, ["group"]);

/** The fields of an account that members are read with, as in the REST API. */
const memberForm: Fields = {
  id: true,
  username: true,
  name: true,
  email: true,
  avatarUrl: true,
  status: true,
  loginType: true,
  isServiceAccount: true,
  lastSeenAt: true,
  createdAt: true,
  updatedAt: true,
  themePreference: true,
};

/** The queries of members below the groups at some paths. All read what any of them selects. */
function membersBelow(info: GraphQLResolveInfo, ...groups: readonly string[][]): MembersQuery[] {
  const members = groups.map((group) => [...group, "members"]);
  const queries = members.flatMap((path) => selectedArguments(info, ...path));
  if (queries.length === 0) return queries;
  const nodes = members.flatMap((path) => [
    [...path, "nodes"],
    [...path, "edges", "node"],
  ]);
  const omits = (name: string) => nodes.every((path) => selectedArguments(info, ...path, name).length === 0);
  const isMemberForm = () => nodes.every((path) => selectsOnlyBelow(info, memberForm, ...path, "account"));
  const reads = omits("account") ? "profiles" : isMemberForm() ? "members" : "accounts";
  return queries.map((query) => ({ ...query, reads, withoutAddedAt: omits("addedAt") }));
}

const names: Fields = { id: true, name: true, displayName: true };

/** The organization of a group. Its names come with the group; other fields take a statement. */
export const organizationOfGroup = (ctx: Context, group: GroupRow, info: GraphQLResolveInfo) =>
  selectsOnly(info, names)
    ? { id: group.organizationId, name: group.organizationName, displayName: group.organizationDisplayName }
    : organizationOf(ctx, group);
