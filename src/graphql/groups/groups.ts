import type { GraphQLResolveInfo } from "graphql";
import { Arg, Args, Ctx, Field, FieldResolver, Info, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Context } from "../../domain/kernel/context.js";
import {
  CreateGroup,
  createGroup,
  DeleteGroup,
  deleteGroup,
  quotaAllowanceMeaning,
  UpdateGroup,
  updateGroup,
} from "../../domain/groups/group-changes.js";
import {
  findGroup,
  findGroupByName,
  GroupFilter,
  GroupOrder,
  groupReference,
  type GroupRow,
  GroupSource,
  GroupsQuery,
  isEveryone,
  listGroups,
  listOrganizationGroups,
} from "../../domain/groups/groups.js";
import { type GroupMemberRow, membersOf, type MembersQuery } from "../../domain/groups/group-members.js";
import type { Page } from "../../domain/kernel/paging.js";
import { organizationsById } from "../../domain/organizations/organizations.js";
import { Access, selectsOnly } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { connectionOf, orderType } from "../engine/lists.js";
import { GroupMemberConnection, GroupMembersArgs } from "./group-members.js";
import { OrganizationType } from "../organizations/organizations.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";

enumType({ GroupSource }, "How a group was created.", {
  USER: "Created by a user.",
  OIDC: "Created by the OpenID Connect provider, which also manages its members.",
});

@Access({ readWith: "group:read", references: ["id", "name", "displayName", "avatarUrl"] })
@ObjectType("Group", { simpleResolvers: true, description: "A named set of members of one organization." })
export class GroupType implements Omit<
  GroupRow,
  "organizationId" | "organizationName" | "organizationDisplayName" | "membersAtOnce"
> {
  @Field(() => UUID, { description: "Unique ID. The `Everyone` group has the ID of its organization." }) id!: string;
  @Field({ description: "Name, unique within the organization." }) name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "URL of the avatar; may be empty." }) avatarUrl!: string;
  @Field(() => Int, { description: quotaAllowanceMeaning })
  quotaAllowance!: number;
  @Field(() => GroupSource, { description: "How the group was created." }) source!: GroupSource;
  @Field(() => Int, { description: "Number of members, including those the caller may not read." })
  totalMemberCount!: number;
  @Field(() => DateTime, { description: "When the group was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the group or its membership was last changed." }) updatedAt!: string;
}

export const GroupConnection = connectionOf("Group", () => GroupType, {
  most: mostCounted,
  description: "A page of groups.",
});

inputType("GroupFilter", GroupFilter, {
  description: "Criteria for filtering groups. A group must match all given fields.",
});

orderType("Group", GroupOrder, {
  NAME: "By name of the organization, then by name of the group.",
});

const GroupsArgs = argumentsOf(GroupsQuery);

const CreateGroupInput = inputType("CreateGroupInput", CreateGroup);
const UpdateGroupInput = inputType("UpdateGroupInput", UpdateGroup, {
  description: "Input of `updateGroup`. Fields that are omitted or null keep their value.",
});
const DeleteGroupInput = inputType("DeleteGroupInput", DeleteGroup);

const changedGroup = { group: { type: () => GroupType, description: "The group after the change." } };

/** The payload of a mutation that changes a group, which is read if selected. */
const readChangedGroup = (ctx: Context, id: string) => ({ group: () => findGroup(ctx, id) });

/** The fields of its organization that the row of a group has: the organization need not be read for them. */
const namesOfOrganization = new Set(["__typename", "id", "name", "displayName"]);

@Resolver(() => GroupType)
export class GroupsResolver {
  @Access({ needs: ["group:read"] })
  @Query(() => GroupType, { nullable: true, description: "Returns a group by ID or by name." })
  group(
    @Arg("group", {
      description: groupReference,
    })
    group: string,
    @Ctx() ctx: Context,
  ): Promise<GroupRow> {
    return findGroup(ctx, group);
  }

  @Access({ needs: ["group:read"] })
  @Query(() => GroupType, {
    nullable: true,
    description: "Returns a group of an organization by name, including `Everyone`.",
  })
  groupByName(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Arg("name", { description: "Exact name of the group; never interpreted as an ID." }) name: string,
    @Ctx() ctx: Context,
  ): Promise<GroupRow> {
    return findGroupByName(ctx, organization, name);
  }

  @Access({ needs: ["group:read"] })
  @Query(() => GroupConnection, {
    description: "Lists the groups that the caller may read, by default by organization name, group name, and ID.",
  })
  groups(@Args(() => GroupsArgs) args: GroupsQuery, @Ctx() ctx: Context): Promise<Page<GroupRow>> {
    return listGroups(ctx, args);
  }

  @Access({ needs: ["group:read"] })
  @Query(() => GroupConnection, {
    description: "Lists the groups of an organization that the caller may read, by default by name and ID.",
  })
  organizationGroups(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Args(() => GroupsArgs) args: GroupsQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<GroupRow>> {
    return listOrganizationGroups(ctx, organization, args);
  }

  @FieldResolver(() => OrganizationType, { description: "Organization that the group belongs to." })
  organization(@Root() group: GroupRow, @Ctx() ctx: Context, @Info() info: GraphQLResolveInfo) {
    const { organizationId: id, organizationName: name, organizationDisplayName: displayName } = group;
    return selectsOnly(info, namesOfOrganization) ? { id, name, displayName } : ctx.load(organizationsById, id);
  }

  @FieldResolver(() => Boolean, {
    description: "Whether this is the `Everyone` group, which contains all members of the organization.",
  })
  isEveryone(@Root() group: GroupRow): boolean {
    return isEveryone(group);
  }

  @Access({ needs: ["group_member:read"] })
  @FieldResolver(() => GroupMemberConnection, {
    description: "The members that the caller may read, by default by lower-case username.",
  })
  members(
    @Root() group: GroupRow,
    @Args(() => GroupMembersArgs) args: MembersQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<GroupMemberRow>> {
    return membersOf(ctx, group, args);
  }

  @Access({ needs: ["group:create"] })
  @Mutates("Creates a group without members.", changedGroup)
  async createGroup(
    @Arg("input", () => CreateGroupInput, { description: "The new group." }) input: CreateGroup,
    @Ctx() ctx: Context,
  ) {
    return readChangedGroup(ctx, await createGroup(ctx, input));
  }

  @Access({ needs: ["group:update"] })
  @Mutates("Updates a group and its membership atomically.", changedGroup)
  async updateGroup(
    @Arg("input", () => UpdateGroupInput, { description: "The changes." }) input: UpdateGroup,
    @Ctx() ctx: Context,
  ) {
    return readChangedGroup(ctx, await updateGroup(ctx, input));
  }

  @Access({ needs: ["group:delete"] })
  @Mutates("Deletes a group with its memberships and its AI budget.", {
    group: { type: () => GroupType, description: "The deleted group." },
  })
  async deleteGroup(
    @Arg("input", () => DeleteGroupInput, { description: "The group to delete." }) { group }: { group: string },
    @Ctx() ctx: Context,
  ) {
    return { group: await deleteGroup(ctx, group) };
  }
}
