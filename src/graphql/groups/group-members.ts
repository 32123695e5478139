import { Field, ObjectType } from "type-graphql";
import {
  GroupMemberFilter,
  GroupMemberOrder,
  type GroupMemberRow,
  MembersQuery,
} from "../../domain/groups/group-members.js";
import { Access } from "../engine/access.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { exactConnectionOf, orderType } from "../engine/lists.js";
import { DateTime } from "../engine/scalars.js";
import { PublicUserType, UserType } from "../users/users.js";

@Access({ readWith: "group_member:read" })
@ObjectType("GroupMember", { simpleResolvers: true, description: "A member of a group." })
export class GroupMemberType implements GroupMemberRow {
  @Field(() => PublicUserType, { description: "Public profile of the user." }) user!: GroupMemberRow["user"];
  @Access({
    covers: [
      "email",
      "status",
      "loginType",
      "isServiceAccount",
      "lastSeenAt",
      "themePreference",
      "createdAt",
      "updatedAt",
    ],
  })
  @Field(() => UserType, { description: "The user. Callers who may read the member may read all of it." })
  account!: GroupMemberRow["account"];
  @Field(() => DateTime, { nullable: true, description: "When the user was added to the group; null in `Everyone`." })
  addedAt!: string | null;
}

export const GroupMemberConnection = exactConnectionOf(
  "GroupMember",
  () => GroupMemberType,
  "A page of group members.",
);

inputType("GroupMemberFilter", GroupMemberFilter, {
  description: "Criteria for filtering group members. A member must match all given fields.",
});

orderType("GroupMember", GroupMemberOrder, {
  USERNAME: "By username, case-insensitive.",
});

export const GroupMembersArgs = argumentsOf(MembersQuery);
