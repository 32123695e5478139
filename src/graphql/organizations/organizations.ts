import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  createOrganization,
  CreateOrganization,
  deleteOrganization,
  DeleteOrganization,
  findOrganization,
  listOrganizations,
  type OrganizationRow,
  organizationsById,
  updateOrganization,
  UpdateOrganization,
} from "../../domain/organizations/organizations.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";

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

const CreateOrganizationInput = inputType("CreateOrganizationInput", CreateOrganization);

const UpdateOrganizationInput = inputType("UpdateOrganizationInput", UpdateOrganization, {
  description: "Input of `updateOrganization`. Omitted fields keep their value.",
});

const DeleteOrganizationInput = inputType("DeleteOrganizationInput", DeleteOrganization);

const changedOrganization = {
  organization: { type: () => OrganizationType, description: "The organization after the change." },
};

/** The payload of a mutation that leaves an organization behind, which is read if selected. */
const readChangedOrganization = (ctx: Context, id: string) => ({ organization: () => ctx.load(organizationsById, id) });

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
  @Mutates("Creates an organization together with its `Everyone` group.", {
    organization: { ...changedOrganization.organization, covers: "everything" },
  })
  async createOrganization(
    @Arg("input", () => CreateOrganizationInput, { description: "The new organization." }) input: CreateOrganization,
    @Ctx() ctx: Context,
  ) {
    return readChangedOrganization(ctx, await createOrganization(ctx, input));
  }

  @Access({ needs: ["organization:update"] })
  @Mutates("Updates an organization.", changedOrganization)
  async updateOrganization(
    @Arg("input", () => UpdateOrganizationInput, { description: "The changes." }) input: UpdateOrganization,
    @Ctx() ctx: Context,
  ) {
    return readChangedOrganization(ctx, await updateOrganization(ctx, input));
  }

  @Access({ needs: ["organization:delete"] })
  @Mutates("Deletes an organization with its groups and memberships. Its name becomes available again.", {
    organization: { type: () => OrganizationType, description: "The deleted organization." },
  })
  async deleteOrganization(
    @Arg("input", () => DeleteOrganizationInput, { description: "The organization to delete." }) {
      organization,
    }: { organization: string },
    @Ctx() ctx: Context,
  ) {
    return { organization: await deleteOrganization(ctx, organization) };
  }
}
