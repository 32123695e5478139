import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import {
  addOrganizationMember,
  AddOrganizationMember,
  listOrganizationMembers,
  memberCountOf,
  type MemberRef,
  membersOfOrganization,
  type OrganizationMember,
  OrganizationMemberFilter,
  OrganizationMemberOrder,
  OrganizationMembersQuery,
  readOrganizationMember,
  removeOrganizationMember,
  RemoveOrganizationMember,
  setOrganizationMemberRoles,
  SetOrganizationMemberRoles,
} from "../../domain/organizations/organization-members.js";
import type { OrganizationRow } from "../../domain/organizations/organizations.js";
import { type AssignableRole, listAssignableRoles, RoleName } from "../../domain/users/user-roles.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { connectionOf, orderType, PageArgs } from "../engine/lists.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { UserRoleType, UserType } from "../users/users.js";
import { OrganizationType } from "./organizations.js";

@Access({ readWith: "organization_member:read", references: ["id", "username", "name", "avatarUrl"] })
@ObjectType("OrganizationMember", {
  simpleResolvers: true,
  description:
    "A member of an organization. Callers who may not read the user see only ID, username, name, and avatar.",
})
export class OrganizationMemberType implements Omit<OrganizationMember, "user"> {
  @Field(() => UUID, { description: "ID of the user." }) id!: string;
  @Field({ description: "Username." }) username!: string;
  @Field({ description: "Real name; may be empty." }) name!: string;
  @Field(() => Url, { description: "URL of the avatar; may be empty." }) avatarUrl!: string;
  @Field(() => UserType, { nullable: true, description: "The user; null unless the caller may read it." })
  user?: UserType;
  @Access({ countsAs: 2 })
  @Field(() => [UserRoleType], {
    nullable: true,
    description: "Roles held in the organization; null unless the caller may read the user.",
  })
  roles?: UserRoleType[];
  @Field(() => DateTime, {
    nullable: true,
    description: "When the user joined the organization; null unless the caller may read the user.",
  })
  joinedAt?: string;
}

const OrganizationMemberConnection = connectionOf("OrganizationMember", () => OrganizationMemberType, {
  most: mostCounted,
});

orderType("OrganizationMember", OrganizationMemberOrder, {
  USERNAME: "By username, case-insensitive.",
  JOINED_AT: "By the time of joining. Only for callers who may read all users of the organization.",
});

@ObjectType("AssignableRole", { simpleResolvers: true, description: "A role, and whether the caller may assign it." })
export class AssignableRoleType implements AssignableRole {
  @Field(() => RoleName, { description: "Name of the role." }) name!: AssignableRole["name"];
  @Field({ description: "Display name." }) displayName!: string;
  @Field({ description: "Whether the caller may assign and unassign the role." }) assignable!: boolean;
}

inputType("OrganizationMemberFilter", OrganizationMemberFilter, {
  description: "Criteria for filtering members. A member must match all given fields.",
});

const AddOrganizationMemberInput = inputType("AddOrganizationMemberInput", AddOrganizationMember);

const RemoveOrganizationMemberInput = inputType("RemoveOrganizationMemberInput", RemoveOrganizationMember);

const SetOrganizationMemberRolesInput = inputType("SetOrganizationMemberRolesInput", SetOrganizationMemberRoles);

const changedMember = {
  member: { type: () => OrganizationMemberType, description: "The member after the change." },
};

/** The payload of a mutation that leaves a member behind, which is read if selected. */
const readChangedMember = (ctx: Context, ref: MemberRef) => ({ member: () => readOrganizationMember(ctx, ref) });

const OrganizationMembersArgs = argumentsOf(OrganizationMembersQuery);

@Resolver(() => OrganizationType)
export class OrganizationMembersResolver {
  @Access({ needs: ["organization_member:read"] })
  @FieldResolver(() => OrganizationMemberConnection, {
    description: "The members, by username. `organizationMembers` also filters them.",
  })
  members(
    @Root() organization: OrganizationRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<OrganizationMember>> {
    return membersOfOrganization(ctx, organization, page);
  }

  @Access({ needs: ["organization_member:read"] })
  @FieldResolver(() => Int, { description: "Number of members." })
  memberCount(@Root() organization: OrganizationRow, @Ctx() ctx: Context): Promise<number> {
    return memberCountOf(ctx, organization);
  }

  @Access({ needs: ["organization_member:read"] })
  @Query(() => OrganizationMemberConnection, {
    description: "Lists the members of an organization, by default by username.",
  })
  organizationMembers(
    @Args(() => OrganizationMembersArgs) { organization, filter, orderBy, ...page }: OrganizationMembersQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<OrganizationMember>> {
    return listOrganizationMembers(ctx, organization, filter ?? {}, page, orderBy);
  }

  @Access({
    byArguments: ({ organization }: { organization?: string | null }) => ({
      needs: [organization == null ? "assign_role:read" : "assign_org_role:read"],
    }),
  })
  @Query(() => [AssignableRoleType], {
    description: "Lists the roles that exist in an organization, or in the deployment if no organization is given.",
  })
  assignableRoles(
    @Arg("organization", () => String, {
      nullable: true,
      description: "The organization: ID, name, or `default`. Default: the deployment.",
    })
    organization: string | undefined,
    @Ctx() ctx: Context,
  ): Promise<AssignableRole[]> {
    return listAssignableRoles(ctx, organization);
  }

  @Access({ needs: ["organization_member:create"] })
  @Mutates("Adds a user to an organization, without roles.", changedMember)
  async addOrganizationMember(
    @Arg("input", () => AddOrganizationMemberInput, { description: "The user and the organization." }) input: MemberRef,
    @Ctx() ctx: Context,
  ) {
    return readChangedMember(ctx, await addOrganizationMember(ctx, input));
  }

  @Access({ needs: ["organization_member:delete"] })
  @Mutates("Removes a user from an organization, along with the user's roles and group memberships in it.", {
    member: { type: () => OrganizationMemberType, description: "The removed member." },
  })
  async removeOrganizationMember(
    @Arg("input", () => RemoveOrganizationMemberInput, { description: "The user and the organization." })
    input: MemberRef,
    @Ctx() ctx: Context,
  ) {
    return { member: await removeOrganizationMember(ctx, input) };
  }

  @Access({ needs: ["assign_org_role:assign", "assign_org_role:unassign"], openTo: ["session", "token"] })
  @Mutates("Replaces the roles that a member holds in an organization.", changedMember)
  async setOrganizationMemberRoles(
    @Arg("input", () => SetOrganizationMemberRolesInput, { description: "The member and the new roles." })
    input: SetOrganizationMemberRoles,
    @Ctx() ctx: Context,
  ) {
    return readChangedMember(ctx, await setOrganizationMemberRoles(ctx, input));
  }
}
