import type { GraphQLResolveInfo } from "graphql";
import type { GroupParts } from "../../domain/groups/groups.js";
import type { MembersQuery } from "../../domain/groups/members.js";
import { type Fields, selectedArguments, selectsOnly } from "../engine/selection.js";

/** What every read of a group gives. Whoever selects more gets the details with it. */
const undetailed: Fields = {
  id: true,
  name: true,
  displayName: true,
  avatarUrl: true,
  quotaAllowance: true,
  source: true,
  isEveryone: true,
  totalMemberCount: true,
  members: true,
  organization: { id: true, name: true, displayName: true },
};

/** What of the group that is being resolved has to be read. */
export const partsOf = (info: GraphQLResolveInfo): GroupParts => ({
  members: selectedArguments(info, "members"),
  detailed: !selectsOnly(info, undetailed),
});

/** The members that are asked for of each group of a page. */
export const membersOfNodes = (info: GraphQLResolveInfo): MembersQuery[] => [
  ...selectedArguments(info, "nodes", "members"),
  ...selectedArguments(info, "edges", "node", "members"),
];
