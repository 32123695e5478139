import type { GraphQLResolveInfo } from "graphql";
import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  Info,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { createGroup, deleteGroup, quotaAllowanceRule, updateGroup } from "../../domain/groups/changes.js";
import { findGroup, findGroupByName } from "../../domain/groups/groups.js";
import { type GroupRow, GroupSource, type GroupMemberRow } from "../../domain/groups/row.js";
import { type GroupFilter, listGroups, listOrganizationGroups } from "../../domain/groups/list.js";
import { type GroupMemberFilter, isEveryone, membersOf, type MembersQuery } from "../../domain/groups/members.js";
import type { Page } from "../../domain/kernel/page.js";
import { Covers, Needs, ReadWith, Rule } from "../engine/access.js";
import { connectionOf, PageArgs } from "../engine/connections.js";
import { membersOfNodes, partsOf } from "./parts.js";
import { OrganizationType } from "../organizations.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { selectedArguments } from "../engine/selection.js";
import { PublicUserType, UserType } from "../users/users.js";

registerEnumType(GroupSource, {
  name: "GroupSource",
  description: "Who made a group.",
  valuesConfig: {
    USER: { description: "A person." },
    OIDC: { description: "An identity provider, which also keeps its members." },
  },
});

@ReadWith("group_member:read")
@ObjectType("GroupMember", { simpleResolvers: true, description: "A user in a group." })
export class GroupMemberType implements GroupMemberRow {
  @Field(() => PublicUserType, { description: "The user." }) user!: GroupMemberRow["user"];
  @Covers("email", "status", "loginType", "isServiceAccount", "lastSeenAt", "themePreference", "createdAt", "updatedAt")
  @Field(() => UserType, { description: "The whole user, which callers who see the member may read." })
  account!: GroupMemberRow["account"];
  @Field(() => DateTime, { nullable: true, description: "When the user was added; none in Everyone." }) addedAt!:
    | string
    | null;
}

@ObjectType("GroupMemberConnection", { description: "A page of members." })
export class GroupMemberConnection extends connectionOf("GroupMember", () => GroupMemberType) {}

@InputType("GroupMemberFilter", { description: "Which members are meant. What is absent does not narrow." })
export class GroupMemberFilterInput implements GroupMemberFilter {
  @Field(() => String, {
    nullable: true,
    description:
      "Words, each part of the username or e-mail, and terms `key:value` with the keys name, status, login_type, role, service_account, created_before, created_after, last_seen_before, last_seen_after.",
  })
  search?: string | null;
}

@ArgsType()
class GroupMembersArgs extends PageArgs implements MembersQuery {
  @Field(() => Boolean, {
    nullable: true,
    description:
      "All members instead of a page, up to 10000 of a group that stands alone and 1000 of each in a list. Without the arguments of pages.",
  })
  complete?: boolean | null;

  @Field(() => GroupMemberFilterInput, { nullable: true, description: "Which members are meant." })
  filter?: GroupMemberFilterInput | null;
}

@ReadWith("group:read", "id", "name", "displayName", "avatarUrl")
@ObjectType("Group", { simpleResolvers: true, description: "A named set of members of one organization." })
export class GroupType implements Omit<
  GroupRow,
  "organizationId" | "isMember" | "aiBudget" | "membersAtOnce" | "firstMembers" | "keptPages"
> {
  @Field(() => UUID, { description: "Unique id. That of Everyone is its organization's." }) id!: string;
  @Field(() => String, { description: "Unique within the organization." }) name!: string;
  @Field(() => String, { description: "What people see; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) avatarUrl!: string;
  @Field(() => OrganizationType, { description: "The organization it belongs to." })
  organization!: GroupRow["organization"];
  @Field(() => Int, { description: "Credits every member adds to their workspace budget." }) quotaAllowance!: number;
  @Field(() => GroupSource, { description: "Who made it." }) source!: GroupSource;
  @Field(() => Int, { description: "How many members it has, also those whom the caller does not see." })
  totalMemberCount!: number;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it or its membership was last changed." }) updatedAt!: string;
}

@ObjectType("GroupConnection", { description: "A page of groups." })
export class GroupConnection extends connectionOf("Group", () => GroupType) {}

@InputType("GroupFilter", { description: "Which groups are meant. What is absent does not narrow." })
export class GroupFilterInput implements GroupFilter {
  @Field(() => String, { nullable: true, description: "Of this organization: id, name or `default`." }) organization?:
    | string
    | null;
  @Field(() => String, {
    nullable: true,
    description: "With this user in it, as far as the caller sees the members: id, username or `me`.",
  })
  hasMember?: string | null;
  @Field(() => [UUID], { nullable: true, description: "One of these, at most 200." }) ids?: string[] | null;
  @Field(() => GroupSource, { nullable: true, description: "Made by." }) source?: GroupSource | null;
  @Field(() => String, { nullable: true, description: "Part of the name or display name, in any letter case." })
  search?: string | null;
}

@ArgsType()
class GroupsArgs extends PageArgs {
  @Field(() => Boolean, {
    nullable: true,
    description: "All groups instead of a page. Without the arguments of pages.",
  })
  complete?: boolean | null;

  @Field(() => GroupFilterInput, { nullable: true, description: "Which groups are meant." })
  filter?: GroupFilterInput | null;
}

@InputType({ description: "A new group." })
export class CreateGroupInput {
  @Field(() => String, { description: "Where to: id or name of an organization, or `default`." }) organization!: string;
  @Field(() => String, {
    nullable: true,
    description: "Required. Unique within the organization, at most 36 characters.",
  })
  name?: string | null;
  @Field(() => String, { nullable: true, description: "What people see, at most 64 characters. Default: empty." })
  displayName?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "A picture: URL, path on this server, or empty. Default: empty.",
  })
  avatarUrl?: string | null;
  @Rule(quotaAllowanceRule)
  @Field(() => Int, { nullable: true, description: "Credits every member adds to their workspace budget. Default: 0." })
  quotaAllowance?: number | null;
}

@InputType({ description: "What to change about a group. What is absent or null stays." })
export class UpdateGroupInput {
  @Field(() => String, { description: "Id, or a name unambiguous to the caller." }) group!: string;
  @Field(() => String, { nullable: true, description: "Unique within the organization; empty keeps it." }) name?:
    | string
    | null;
  @Field(() => String, { nullable: true, description: "What people see, at most 64 characters." }) displayName?:
    | string
    | null;
  @Field(() => String, { nullable: true, description: "A picture: URL, path on this server, or empty." }) avatarUrl?:
    | string
    | null;
  @Rule(quotaAllowanceRule)
  @Field(() => Int, { nullable: true, description: "Credits every member adds to their workspace budget." })
  quotaAllowance?: number | null;
  @Field(() => [UUID], { nullable: true, description: "Members of the organization who join, at most 1000." })
  addUsers?: string[] | null;
  @Field(() => [UUID], { nullable: true, description: "Users who leave, after the others joined, at most 1000." })
  removeUsers?: string[] | null;
}

@InputType({ description: "The group to delete." })
export class DeleteGroupInput {
  @Field(() => String, { description: "Id, or a name unambiguous to the caller." }) group!: string;
}

/** Holds the id; the group is read in the transaction of the verb. */
@ObjectType()
abstract class ChangedGroup {
  groupId!: string;

  @Field(() => GroupType, { description: "The group." })
  group(@Ctx() ctx: Context, @Info() info: GraphQLResolveInfo): Promise<GroupRow> {
    return findGroup(ctx, this.groupId, partsOf(info));
  }
}

@ObjectType({ description: "A group was created." })
export class CreateGroupPayload extends ChangedGroup {}

@ObjectType({ description: "A group was changed." })
export class UpdateGroupPayload extends ChangedGroup {}

@ObjectType({ simpleResolvers: true, description: "A group was deleted." })
export class DeleteGroupPayload {
  @Field(() => GroupType, { description: "The group as it was." }) group!: GroupRow;
}

@Resolver(() => GroupType)
export class GroupsResolver {
  @Needs("group:read")
  @Query(() => GroupType, { description: "One group." })
  group(
    @Arg("group", () => String, { description: "Id, or a name unambiguous to the caller." }) group: string,
    @Ctx() ctx: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<GroupRow> {
    return findGroup(ctx, group, partsOf(info));
  }

  @Needs("group:read")
  @Query(() => GroupType, { description: "One group of an organization, `Everyone` included." })
  groupByName(
    @Arg("organization", () => String, { description: "Id, name or `default`." }) organization: string,
    @Arg("name", () => String, { description: "The exact name, never read as an id." }) name: string,
    @Ctx() ctx: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<GroupRow> {
    return findGroupByName(ctx, organization, name, partsOf(info));
  }

  @Needs("group:read")
  @Query(() => GroupConnection, {
    description: "The groups that the caller may read, by name of the organization, name and id.",
  })
  groups(@Args() args: GroupsArgs, @Ctx() ctx: Context, @Info() info: GraphQLResolveInfo): Promise<Page<GroupRow>> {
    return listGroups(ctx, args, membersOfNodes(info));
  }

  @Needs("group:read")
  @Query(() => GroupConnection, {
    description: "The groups of one organization that the caller may read, by name and id.",
  })
  organizationGroups(
    @Arg("organization", () => String, { description: "Id, name or `default`." }) organization: string,
    @Args() args: GroupsArgs,
    @Ctx() ctx: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Page<GroupRow>> {
    return listOrganizationGroups(ctx, organization, args, membersOfNodes(info));
  }

  @FieldResolver(() => Boolean, { description: "Whether it is the group of all members of the organization." })
  isEveryone(@Root() group: GroupRow): boolean {
    return isEveryone(group);
  }

  @Needs("group_member:read")
  @FieldResolver(() => GroupMemberConnection, {
    description: "The members whom the caller sees, by username in lower case.",
  })
  members(@Root() group: GroupRow, @Args() args: GroupMembersArgs, @Ctx() ctx: Context): Promise<Page<GroupMemberRow>> {
    return membersOf(ctx, group, args);
  }

  @Needs("group:create")
  @Mutation(() => CreateGroupPayload, { description: "Creates a group without members." })
  async createGroup(
    @Arg("input", () => CreateGroupInput, { description: "The new group." }) input: CreateGroupInput,
    @Ctx() ctx: Context,
  ): Promise<{ groupId: string }> {
    return { groupId: await createGroup(ctx, input) };
  }

  @Needs("group:update")
  @Mutation(() => UpdateGroupPayload, { description: "Changes a group and its membership: all of it or nothing." })
  async updateGroup(
    @Arg("input", () => UpdateGroupInput, { description: "What to change." }) input: UpdateGroupInput,
    @Ctx() ctx: Context,
  ): Promise<{ groupId: string }> {
    return { groupId: await updateGroup(ctx, input) };
  }

  @Needs("group:delete")
  @Mutation(() => DeleteGroupPayload, { description: "Deletes a group with its memberships and budget." })
  async deleteGroup(
    @Arg("input", () => DeleteGroupInput, { description: "The group." }) { group }: DeleteGroupInput,
    @Ctx() ctx: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<DeleteGroupPayload> {
    return { group: await deleteGroup(ctx, group, selectedArguments(info, "group", "members")) };
  }
}
