import { ArgsType, Field, ObjectType } from "type-graphql";
import { GroupMemberFilter, GroupMemberOrderField, type GroupMemberRow } from "../../domain/groups/group-members.js";
import { Access } from "../engine/access.js";
import { inputType } from "../engine/inputs.js";
import { exactConnectionOf, listArgs, orderOf } from "../engine/lists.js";
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

const GroupMemberFilterInput = inputType("GroupMemberFilter", GroupMemberFilter, {
  description: "Criteria for filtering group members. A member must match all given fields.",
});

const GroupMemberOrder = orderOf("GroupMember", GroupMemberOrderField, {
  USERNAME: "By username, case-insensitive.",
});

@ArgsType()
export class GroupMembersArgs extends listArgs({
  filter: () => GroupMemberFilterInput,
  orderBy: { type: () => GroupMemberOrder, default: "by username, ascending" },
}) {
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Returns all members instead of a page: up to 10000 for a single group, up to 1000 for each group in a list. Cannot be combined with pagination arguments.",
  })
  complete?: boolean | null;
}
