import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  createOrganization,
  deleteOrganization,
  findOrganization,
  listOrganizations,
  type OrganizationChange,
  type OrganizationRow,
  organizationsById,
  updateOrganization,
} from "../../domain/organizations/organizations.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";

@Access({ readWith: "organization:read", references: ["id", "name", "displayName", "icon"] })
@ObjectType("Organization", {
  simpleResolvers: true,
  description: "A tenant of the deployment with its own members, groups, and templates.",
})
export class OrganizationType implements OrganizationRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Unique name, case-insensitive." }) name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field({ description: "Description; may be empty." }) description!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field({ description: "Whether this is the default organization, which new users join." })
  isDefault!: boolean;
  @Field(() => DateTime, { description: "When the organization was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the organization was last updated." }) updatedAt!: string;
}

@InputType({ description: "Input of `createOrganization`." })
class CreateOrganizationInput implements OrganizationChange {
  @Field({
    description: "Unique, case-insensitive: at most 32 letters, digits, and single hyphens between them.",
  })
  name!: string;
  @Field({ nullable: true, description: "Display name, at most 64 characters. Default: empty." })
  displayName?: string;
  @Field({ nullable: true, description: "Description, at most 1000 characters. Default: empty." })
  description?: string;
  @Field(() => Url, { nullable: true, description: "URL of an icon. Default: empty." }) icon?: string;
}

@InputType({ description: "Input of `updateOrganization`. Omitted fields keep their value." })
class UpdateOrganizationInput implements OrganizationChange {
  @Field({ description: "The organization: ID, name, or `default`." }) organization!: string;
  @Field({ nullable: true, description: "New name." }) name?: string;
  @Field({ nullable: true, description: "New display name, at most 64 characters." })
  displayName?: string;
  @Field({ nullable: true, description: "New description, at most 1000 characters." })
  description?: string;
  @Field(() => Url, { nullable: true, description: "New URL of an icon; empty for none." }) icon?: string;
}

@InputType({ description: "Input of `deleteOrganization`." })
class DeleteOrganizationInput {
  @Field({ description: "The organization: ID or name." }) organization!: string;
}

interface OrganizationPayload {
  organizationId: string;
}

/** Builds the payload type of mutations that leave an organization behind, which is read in the mutation's transaction. */
function organizationPayload(verb: string, description: string, access: AccessOptions = {}) {
  @ObjectType(`${verb}Payload`, { description })
  class Payload {
    @Access(access)
    @Field(() => OrganizationType, { description: "The organization after the change." })
    organization(@Root() { organizationId }: OrganizationPayload, @Ctx() ctx: Context) {
      return ctx.load(organizationsById, organizationId);
    }
  }
  return Payload;
}

const CreateOrganizationPayload = organizationPayload("CreateOrganization", "Payload of `createOrganization`.", {
  covers: "everything",
});
const UpdateOrganizationPayload = organizationPayload("UpdateOrganization", "Payload of `updateOrganization`.");

@ObjectType({ simpleResolvers: true, description: "Payload of `deleteOrganization`." })
class DeleteOrganizationPayload {
  @Field(() => OrganizationType, { description: "The deleted organization." }) organization!: OrganizationRow;
}

@Resolver()
export class OrganizationsResolver {
  @Access({ needs: ["organization:read"] })
  @Query(() => OrganizationType, { nullable: true, description: "Returns an organization." })
  organization(
    @Arg("organization", {
      description: "The organization: ID, name (case-insensitive), or `default`.",
    })
    organization: string,
    @Ctx() ctx: Context,
  ): Promise<OrganizationRow> {
    return findOrganization(ctx, organization);
  }

  @Access({ needs: ["organization:read"], countsAs: 100 })
  @Query(() => [OrganizationType], { description: "Lists all organizations that the caller may read, by name." })
  organizations(@Ctx() ctx: Context): Promise<OrganizationRow[]> {
    return listOrganizations(ctx);
  }

  @Access({ needs: ["organization:create"] })
  @Mutation(() => CreateOrganizationPayload, {
    description: "Creates an organization together with its `Everyone` group.",
  })
  async createOrganization(
    @Arg("input", () => CreateOrganizationInput, { description: "The new organization." }) input: OrganizationChange,
    @Ctx() ctx: Context,
  ): Promise<OrganizationPayload> {
    return { organizationId: await createOrganization(ctx, input) };
  }

  @Access({ needs: ["organization:update"] })
  @Mutation(() => UpdateOrganizationPayload, { description: "Updates an organization." })
  async updateOrganization(
    @Arg("input", { description: "The changes." }) input: UpdateOrganizationInput,
    @Ctx() ctx: Context,
  ): Promise<OrganizationPayload> {
    return { organizationId: await updateOrganization(ctx, input) };
  }

  @Access({ needs: ["organization:delete"] })
  @Mutation(() => DeleteOrganizationPayload, {
    description: "Deletes an organization with its groups and memberships. Its name becomes available again.",
  })
  async deleteOrganization(
    @Arg("input", () => DeleteOrganizationInput, { description: "The organization to delete." }) {
      organization,
    }: { organization: string },
    @Ctx() ctx: Context,
  ): Promise<DeleteOrganizationPayload> {
    return { organization: await deleteOrganization(ctx, organization) };
  }
}
