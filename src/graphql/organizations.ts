import { Arg, Args, Ctx, Field, InputType, Mutation, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import type { OrganizationRole } from "../domain/authorization/authorization.js";
import {
  findOrganization,
  listOrganizations,
  type OrganizationRow,
  organizationsById,
} from "../domain/organizations/organizations.js";
import {
  createOrganization,
  deleteOrganization,
  type OrganizationChange,
  updateOrganization,
} from "../domain/organizations/administration.js";
import {
  addOrganizationMember,
  listOrganizationMembers,
  type MemberRef,
  type OrganizationMember,
  type OrganizationMemberFilter,
  readOrganizationMember,
  removeOrganizationMember,
  setOrganizationMemberRoles,
} from "../domain/organizations/members.js";
import type { Page } from "../domain/kernel/page.js";
import { onlyReference } from "../domain/kernel/references.js";
import { type AssignableRole, listAssignableRoles, RoleName } from "../domain/users/roles.js";
import { ByArguments, CountsAs, Covers, Needs, ReadWith } from "./engine/access.js";
import { connectionOf, PageArgs } from "./engine/connections.js";
import { DateTime, Url, UUID } from "./engine/scalars.js";
import { UserRoleType, UserType } from "./users/users.js";

@ReadWith("organization:read", "id", "name", "displayName", "icon")
@ObjectType("Organization", {
  simpleResolvers: true,
  description: "A part of the deployment with members, groups and templates of its own.",
})
export class OrganizationType implements OrganizationRow {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => String, { description: "Unique name, in any letter case." }) name!: string;
  @Field(() => String, { description: "What people call it; may be empty." }) displayName!: string;
  @Field(() => String, { description: "What it is for; may be empty." }) description!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) icon!: string;
  @Field(() => Boolean, { description: "Whether new users join it by default." }) isDefault!: boolean;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last changed." }) updatedAt!: string;
}

@ReadWith("organization_member:read", "id", "username", "name", "avatarUrl")
@ObjectType("OrganizationMember", {
  simpleResolvers: true,
  description: "A member of an organisation. Who may not read the user sees only id, names and avatar.",
})
export class OrganizationMemberType implements Omit<OrganizationMember, "user"> {
  @Field(() => UUID, { description: "The user's id." }) id!: string;
  @Field(() => String, { description: "The username." }) username!: string;
  @Field(() => String, { description: "Real name; may be empty." }) name!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) avatarUrl!: string;
  @Field(() => UserType, { nullable: true, description: "The whole user, if the caller may read it." }) user?: UserType;
  @CountsAs(2)
  @Field(() => [UserRoleType], {
    nullable: true,
    description: "Roles held in the organisation, if the caller may read the user.",
  })
  roles?: UserRoleType[];
  @Field(() => DateTime, { nullable: true, description: "When the membership began, if the caller may read the user." })
  joinedAt?: string;
}

const OrganizationMemberConnection = connectionOf("OrganizationMember", () => OrganizationMemberType);

@ObjectType("AssignableRole", { simpleResolvers: true, description: "A role that can be held." })
export class AssignableRoleType implements AssignableRole {
  @Field(() => RoleName, { description: "The role." }) name!: AssignableRole["name"];
  @Field(() => String, { description: "What people call it." }) displayName!: string;
  @Field(() => Boolean, { description: "Whether the caller may give and take it." }) assignable!: boolean;
}

@InputType("OrganizationMemberFilter", { description: "Which members are wanted. What is absent does not narrow." })
class OrganizationMemberFilterInput implements OrganizationMemberFilter {
  @Field(() => String, {
    nullable: true,
    description: "A part of the username, the real name or, if the caller may read it, the e-mail; in any letter case.",
  })
  search?: string;
  @Field(() => RoleName, {
    nullable: true,
    description: "A role they hold in the organisation, as far as the caller may know.",
  })
  role?: OrganizationRole;
}

@InputType({ description: "A new organisation." })
class CreateOrganizationInput implements OrganizationChange {
  @Field(() => String, { nullable: true, description: "Required. Unique, in any letter case." }) name?: string;
  @Field(() => String, { nullable: true, description: "What people call it. Default: empty." }) displayName?: string;
  @Field(() => String, { nullable: true, description: "What it is for, at most 1000 characters. Default: empty." })
  description?: string;
  @Field(() => Url, { nullable: true, description: "A picture. Default: empty." }) icon?: string;
}

@InputType({ description: "Changes of an organisation. What is absent stays." })
class UpdateOrganizationInput implements OrganizationChange {
  @Field(() => String, { description: "The organisation: id, name or `default`." }) organization!: string;
  @Field(() => String, { nullable: true, description: "New name." }) name?: string;
  @Field(() => String, { nullable: true, description: "What people shall call it." }) displayName?: string;
  @Field(() => String, { nullable: true, description: "What it is for, at most 1000 characters." })
  description?: string;
  @Field(() => Url, { nullable: true, description: "New picture; empty for none." }) icon?: string;
}

@InputType({ description: "Which organisation to delete." })
class DeleteOrganizationInput {
  @Field(() => String, { description: "The organisation: id or name." }) organization!: string;
}

@InputType({ description: "Who shall join an organisation." })
class AddOrganizationMemberInput implements MemberRef {
  @Field(() => String, { description: "The organisation: id, name or `default`." }) organization!: string;
  @Field(() => String, { description: "The user: id, username or `me`." }) user!: string;
}

@InputType({ description: "Who shall leave an organisation." })
class RemoveOrganizationMemberInput implements MemberRef {
  @Field(() => String, { description: "The organisation: id, name or `default`." }) organization!: string;
  @Field(() => String, { description: "The user: id, username or `me`." }) user!: string;
}

@InputType({ description: "The roles that a member shall hold in an organisation." })
class SetOrganizationMemberRolesInput implements MemberRef {
  @Field(() => String, { description: "The organisation: id, name or `default`." }) organization!: string;
  @Field(() => String, { description: "The user: id, username or `me`." }) user!: string;
  @Field(() => [RoleName], { nullable: true, description: "Required. Replaces all roles held in the organisation." })
  roles?: OrganizationRole[];
}

interface OrganizationPayload {
  organizationId: string;
}

/** The payload of verbs on an organization that still exists: it is read in the transaction of the verb. */
function organizationPayload(verb: string, description: string, scopes: MethodDecorator = Needs()) {
  @ObjectType(`${verb}Payload`, { description })
  class Payload {
    @scopes
    @Field(() => OrganizationType, { description: "The organisation." })
    organization(@Root() { organizationId }: OrganizationPayload, @Ctx() ctx: Context) {
      return ctx.load(organizationsById, organizationId);
    }
  }
  return Payload;
}

const CreateOrganizationPayload = organizationPayload("CreateOrganization", "The organisation created.", Covers());
const UpdateOrganizationPayload = organizationPayload("UpdateOrganization", "The organisation changed.");

@ObjectType({ simpleResolvers: true, description: "The organisation deleted." })
class DeleteOrganizationPayload {
  @Field(() => OrganizationType, { description: "The organisation as it was." }) organization!: OrganizationRow;
}

/** The payload of verbs on a member that still exists: it is read in the transaction of the verb. */
function memberPayload(verb: string, description: string) {
  @ObjectType(`${verb}Payload`, { description })
  class Payload {
    @Field(() => OrganizationMemberType, { description: "The member." })
    member(@Root() ref: MemberRef, @Ctx() ctx: Context): Promise<OrganizationMember> {
      return readOrganizationMember(ctx, ref);
    }
  }
  return Payload;
}

const AddOrganizationMemberPayload = memberPayload("AddOrganizationMember", "The new member.");
const SetOrganizationMemberRolesPayload = memberPayload("SetOrganizationMemberRoles", "The member with the new roles.");

@ObjectType({ simpleResolvers: true, description: "The member removed." })
class RemoveOrganizationMemberPayload {
  @Field(() => OrganizationMemberType, { description: "The member as it was." }) member!: OrganizationMember;
}

@Resolver()
export class OrganizationsResolver {
  @Needs("organization:read")
  @Query(() => OrganizationType, { description: "One organisation, by id or by name." })
  organization(
    @Arg("id", () => UUID, { nullable: true, description: "The organisation's id." }) id: string | undefined,
    @Arg("name", () => String, { nullable: true, description: "The name, in any letter case, or `default`." }) name:
      | string
      | undefined,
    @Ctx() ctx: Context,
  ): Promise<OrganizationRow> {
    return findOrganization(ctx, onlyReference({ id, name }));
  }

  @Needs("organization:read")
  @Query(() => [OrganizationType], { description: "All organisations that the caller may read, by name." })
  organizations(@Ctx() ctx: Context): Promise<OrganizationRow[]> {
    return listOrganizations(ctx);
  }

  @Needs("organization_member:read")
  @Query(() => OrganizationMemberConnection, { description: "The members of an organisation, by username." })
  organizationMembers(
    @Arg("organization", () => String, { description: "The organisation: id, name or `default`." })
    organization: string,
    @Arg("filter", () => OrganizationMemberFilterInput, { nullable: true, description: "Which members are wanted." })
    filter: OrganizationMemberFilter | undefined,
    @Args(() => PageArgs) page: PageArgs,
    @Ctx() ctx: Context,
  ): Promise<Page<OrganizationMember>> {
    return listOrganizationMembers(ctx, organization, filter ?? {}, page);
  }

  @ByArguments<{ organization?: string | null }>(({ organization }) => ({
    needs: [organization == null ? "assign_role:read" : "assign_org_role:read"],
  }))
  @Query(() => [AssignableRoleType], {
    description: "The roles of an organisation, or of the deployment if none is named.",
  })
  assignableRoles(
    @Arg("organization", () => String, { nullable: true, description: "The organisation: id, name or `default`." })
    organization: string | undefined,
    @Ctx() ctx: Context,
  ): Promise<AssignableRole[]> {
    return listAssignableRoles(ctx, organization);
  }

  @Needs("organization:create")
  @Mutation(() => CreateOrganizationPayload, { description: "Creates an organisation with its group Everyone." })
  async createOrganization(
    @Arg("input", () => CreateOrganizationInput, { description: "The new organization." }) input: OrganizationChange,
    @Ctx() ctx: Context,
  ): Promise<OrganizationPayload> {
    return { organizationId: await createOrganization(ctx, input) };
  }

  @Needs("organization:update")
  @Mutation(() => UpdateOrganizationPayload, { description: "Changes an organisation." })
  async updateOrganization(
    @Arg("input", () => UpdateOrganizationInput, { description: "What to change." }) input: UpdateOrganizationInput,
    @Ctx() ctx: Context,
  ): Promise<OrganizationPayload> {
    return { organizationId: await updateOrganization(ctx, input) };
  }

  @Needs("organization:delete")
  @Mutation(() => DeleteOrganizationPayload, {
    description: "Deletes an organisation with its groups and memberships. The name is free again.",
  })
  async deleteOrganization(
    @Arg("input", () => DeleteOrganizationInput, { description: "Which one." }) {
      organization,
    }: { organization: string },
    @Ctx() ctx: Context,
  ): Promise<DeleteOrganizationPayload> {
    return { organization: await deleteOrganization(ctx, organization) };
  }

  @Needs("organization_member:create")
  @Mutation(() => AddOrganizationMemberPayload, {
    description: "Makes somebody a member of an organisation, without roles.",
  })
  addOrganizationMember(
    @Arg("input", () => AddOrganizationMemberInput, { description: "Who joins which." }) input: MemberRef,
    @Ctx() ctx: Context,
  ): Promise<MemberRef> {
    return addOrganizationMember(ctx, input);
  }

  @Needs("organization_member:delete")
  @Mutation(() => RemoveOrganizationMemberPayload, {
    description: "Ends a membership, and with it the roles and groups in the organisation.",
  })
  async removeOrganizationMember(
    @Arg("input", () => RemoveOrganizationMemberInput, { description: "Who leaves which." }) input: MemberRef,
    @Ctx() ctx: Context,
  ): Promise<RemoveOrganizationMemberPayload> {
    return { member: await removeOrganizationMember(ctx, input) };
  }

  @Needs("assign_org_role:assign", "assign_org_role:unassign")
  @Mutation(() => SetOrganizationMemberRolesPayload, {
    description: "Replaces the roles that a member holds in an organisation.",
  })
  setOrganizationMemberRoles(
    @Arg("input", () => SetOrganizationMemberRolesInput, { description: "Whose roles." })
    input: SetOrganizationMemberRolesInput,
    @Ctx() ctx: Context,
  ): Promise<MemberRef> {
    return setOrganizationMemberRoles(ctx, input);
  }
}
