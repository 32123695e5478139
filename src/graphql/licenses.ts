import { Arg, Ctx, Field, InputType, Int, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { type EntitlementSet, readEntitlements } from "../domain/entitlements/requirements.js";
import {
  addLicense,
  deleteLicense,
  type License,
  listLicenses,
  refreshEntitlements,
} from "../domain/licenses/licenses.js";
import { Covers, Needs, ReadWith } from "./engine/access.js";
import { EntitlementsType } from "./entitlements.js";
import { DateTime, JSONObject, UUID } from "./engine/scalars.js";

@ReadWith("license:read", "id", "uuid")
@ObjectType("License", {
  simpleResolvers: true,
  description: "A license that was uploaded. Its token is not shown again.",
})
export class LicenseType implements License {
  @Field(() => Int, { description: "Unique number." }) id!: number;
  @Field(() => UUID, { description: "What the license calls itself, or else an id made for it." }) uuid!: string;
  @Field(() => DateTime, { description: "When it was uploaded." }) uploadedAt!: string;
  @Field(() => JSONObject, { description: "What it says, as it says it." }) claims!: Record<string, unknown>;
}

@InputType({ description: "A license to be stored." })
export class AddLicenseInput {
  @Field(() => String, { nullable: true, description: "Required. The license as a JWT of at most 16 KiB." })
  license?: string | null;
}

@InputType({ description: "A license to be deleted." })
export class DeleteLicenseInput {
  @Field(() => Int, { description: "Its number." }) id!: number;
}

@ObjectType({ simpleResolvers: true, description: "A license is stored." })
export class AddLicensePayload {
  @Covers()
  @Field(() => LicenseType, { description: "The license." })
  license!: License;
}

@ObjectType({ simpleResolvers: true, description: "A license is deleted." })
export class DeleteLicensePayload {
  @Field(() => LicenseType, { description: "The license as it was." }) license!: License;
}

@ObjectType({ description: "Entitlements were computed anew." })
export class RefreshEntitlementsPayload {
  @Field(() => EntitlementsType, { description: "What counts now." })
  entitlements(@Ctx() ctx: Context): EntitlementSet {
    return readEntitlements(ctx);
  }
}

@Resolver()
export class LicensesResolver {
  @Needs("license:read")
  @Query(() => [LicenseType], { description: "All licenses by number, also expired and future ones." })
  licenses(@Ctx() ctx: Context): Promise<License[]> {
    return listLicenses(ctx);
  }

  @Needs("license:create")
  @Mutation(() => AddLicensePayload, {
    description: "Stores a license. On this server it counts before the answer comes, on others within moments.",
  })
  async addLicense(
    @Arg("input", () => AddLicenseInput, { description: "The license." }) { license }: AddLicenseInput,
    @Ctx() ctx: Context,
  ): Promise<AddLicensePayload> {
    return { license: await addLicense(ctx, license) };
  }

  @Needs("license:delete")
  @Mutation(() => DeleteLicensePayload, { description: "Deletes a license, and with it what it alone grants." })
  async deleteLicense(
    @Arg("input", () => DeleteLicenseInput, { description: "Which one." }) { id }: DeleteLicenseInput,
    @Ctx() ctx: Context,
  ): Promise<DeleteLicensePayload> {
    return { license: await deleteLicense(ctx, id) };
  }

  @Needs("license:create")
  @Mutation(() => RefreshEntitlementsPayload, {
    description: "Computes anew what the deployment may use, on every server.",
  })
  async refreshEntitlements(@Ctx() ctx: Context): Promise<RefreshEntitlementsPayload> {
    await refreshEntitlements(ctx);
    return new RefreshEntitlementsPayload();
  }
}
