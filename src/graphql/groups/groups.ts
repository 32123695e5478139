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
  ObjectType,
  Query,
  Resolver,
  Root,
} from "type-graphql";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Context } from "../../domain/kernel/context.js";
import { createGroup, deleteGroup, quotaAllowanceRule, updateGroup } from "../../domain/groups/group-changes.js";
import {
  findGroup,
  findGroupByName,
  type GroupFilter,
  GroupOrderField,
  type GroupRow,
  GroupSource,
  isEveryone,
  listGroups,
  listOrganizationGroups,
} from "../../domain/groups/groups.js";
import { type GroupMemberRow, membersOf } from "../../domain/groups/group-members.js";
import type { Page } from "../../domain/kernel/paging.js";
import { organizationsById } from "../../domain/organizations/organizations.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { connectionOf, listArgs, orderOf } from "../engine/lists.js";
import { GroupMemberConnection, GroupMembersArgs } from "./group-members.js";
import { selectsOnly } from "../engine/selections.js";
import { OrganizationType } from "../organizations/organizations.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";

/** Description of arguments that name a group. */
export const groupReference = "The group: ID, or a name that matches only one group the caller may read.";
/** The warning about giving a role to a group, stated wherever a group gets one. */
export const groupRoleNotice =
  "A role of a group is the role of all its members, present and future. Those who manage the members of the group decide who they are and can add themselves: owners, user administrators, administrators and user administrators of the organization, and identity providers with a SCIM key.";

const quotaAllowance = "Credits that the group adds to the workspace quota of each member.";

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
  @Field(() => Int, { description: quotaAllowance })
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

@InputType("GroupFilter", {
  description: "Criteria for filtering groups. A group must match all given fields.",
})
export class GroupFilterInput implements GroupFilter {
  @Field(() => String, { nullable: true, description: "Organization of the group: ID, name, or `default`." })
  organization?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "User who is a member: ID, username, or `me`. Matches only memberships that the caller may read.",
  })
  hasMember?: string | null;
  @Field(() => [UUID], { nullable: true, description: "IDs of the groups, at most 200." }) ids?: string[] | null;
  @Field(() => GroupSource, { nullable: true, description: "How the group was created." }) source?: GroupSource | null;
  @Field(() => String, {
    nullable: true,
    description: "Substring of the name or display name, case-insensitive.",
  })
  search?: string | null;
}

const GroupOrder = orderOf("Group", GroupOrderField, {
  NAME: "By name of the organization, then by name of the group.",
});

@ArgsType()
class GroupsArgs extends listArgs({
  filter: () => GroupFilterInput,
  orderBy: { type: () => GroupOrder, default: "by name, ascending" },
}) {
  @Field(() => Boolean, {
    nullable: true,
    description: "Returns all groups instead of a page. Cannot be combined with pagination arguments.",
  })
  complete?: boolean | null;
}

@InputType({ description: "Input of `createGroup`." })
export class CreateGroupInput {
  @Field({ description: "Organization of the new group: ID, name, or `default`." }) organization!: string;
  @Field({
    description: "Unique in the organization: at most 36 letters, digits, and single hyphens between them.",
  })
  name!: string;
  @Field(() => String, { nullable: true, description: "Display name, at most 64 characters. Default: empty." })
  displayName?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "URL or path of the avatar, or empty. Default: empty.",
  })
  avatarUrl?: string | null;
  @Access({ rule: quotaAllowanceRule })
  @Field(() => Int, {
    nullable: true,
    description: `${quotaAllowance} Default: 0.`,
  })
  quotaAllowance?: number | null;
}

@InputType({ description: "Input of `updateGroup`. Fields that are omitted or null keep their value." })
export class UpdateGroupInput {
  @Field({ description: groupReference })
  group!: string;
  @Field(() => String, {
    nullable: true,
    description: "New name, unique in the organization; empty to keep it.",
  })
  name?: string | null;
  @Field(() => String, { nullable: true, description: "New display name, at most 64 characters." })
  displayName?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "New URL or path of the avatar, or empty for none.",
  })
  avatarUrl?: string | null;
  @Access({ rule: quotaAllowanceRule })
  @Field(() => Int, {
    nullable: true,
    description: quotaAllowance,
  })
  quotaAllowance?: number | null;
  @Field(() => [UUID], {
    nullable: true,
    description:
      "IDs of users to add, at most 1000. They must be members of the organization. They get all that the group has: its quota, its AI budget, and its roles on templates and workspaces.",
  })
  addUsers?: string[] | null;
  @Field(() => [UUID], {
    nullable: true,
    description: "IDs of users to remove, at most 1000. Removals are applied after additions.",
  })
  removeUsers?: string[] | null;
}

@InputType({ description: "Input of `deleteGroup`." })
export class DeleteGroupInput {
  @Field({ description: groupReference })
  group!: string;
}

const changedGroup = { group: { type: () => GroupType, description: "The group after the change." } };

/** The payload of a mutation that changes a group, which is read if selected. */
const changed = (ctx: Context, id: string) => ({ group: () => findGroup(ctx, id) });

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
  groups(@Args() args: GroupsArgs, @Ctx() ctx: Context): Promise<Page<GroupRow>> {
    return listGroups(ctx, args);
  }

  @Access({ needs: ["group:read"] })
  @Query(() => GroupConnection, {
    description: "Lists the groups of an organization that the caller may read, by default by name and ID.",
  })
  organizationGroups(
    @Arg("organization", { description: "The organization: ID, name, or `default`." })
    organization: string,
    @Args() args: GroupsArgs,
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
  members(@Root() group: GroupRow, @Args() args: GroupMembersArgs, @Ctx() ctx: Context): Promise<Page<GroupMemberRow>> {
    return membersOf(ctx, group, args);
  }

  @Access({ needs: ["group:create"] })
  @Mutates("Creates a group without members.", changedGroup)
  async createGroup(@Arg("input", { description: "The new group." }) input: CreateGroupInput, @Ctx() ctx: Context) {
    return changed(ctx, await createGroup(ctx, input));
  }

  @Access({ needs: ["group:update"] })
  @Mutates("Updates a group and its membership atomically.", changedGroup)
  async updateGroup(@Arg("input", { description: "The changes." }) input: UpdateGroupInput, @Ctx() ctx: Context) {
    return changed(ctx, await updateGroup(ctx, input));
  }

  @Access({ needs: ["group:delete"] })
  @Mutates("Deletes a group with its memberships and its AI budget.", {
    group: { type: () => GroupType, description: "The deleted group." },
  })
  async deleteGroup(
    @Arg("input", { description: "The group to delete." }) { group }: DeleteGroupInput,
    @Ctx() ctx: Context,
  ) {
    return { group: await deleteGroup(ctx, group) };
  }
}
