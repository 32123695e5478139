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
import { Access } from "./engine/access.js";
import { EntitlementsType } from "./entitlements.js";
import { DateTime, JSONObject, UUID } from "./engine/scalars.js";

@Access({ readWith: "license:read", references: ["id", "uuid"] })
@ObjectType("License", {
  simpleResolvers: true,
  description: "An uploaded license. Its token is never returned.",
})
export class LicenseType implements License {
  @Field(() => Int, { description: "Unique number." }) id!: number;
  @Field(() => UUID, { description: "UUID stated by the license, or a generated one." }) uuid!: string;
  @Field(() => DateTime, { description: "When the license was uploaded." }) uploadedAt!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the paid term ends; null if the license does not state it.",
  })
  expiresAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the license stops working, after its grace period; null if the license does not state it.",
  })
  gracePeriodEndsAt!: string | null;
  @Field(() => JSONObject, { description: "Claims of the license, unchanged." }) claims!: Record<string, unknown>;
}

@InputType({ description: "Input of `addLicense`." })
export class AddLicenseInput {
  @Field({ description: "The license: a JWT of at most 16 KiB." })
  license!: string;
}

@InputType({ description: "Input of `deleteLicense`." })
export class DeleteLicenseInput {
  @Field(() => Int, { description: "Number of the license." }) id!: number;
}

@ObjectType({ simpleResolvers: true, description: "Payload of `addLicense`." })
export class AddLicensePayload {
  @Access({ covers: "everything" })
  @Field(() => LicenseType, { description: "The new license." })
  license!: License;
}

@ObjectType({ simpleResolvers: true, description: "Payload of `deleteLicense`." })
export class DeleteLicensePayload {
  @Field(() => LicenseType, { description: "The deleted license." }) license!: License;
}

@ObjectType({ description: "Payload of `refreshEntitlements`." })
export class RefreshEntitlementsPayload {
  @Field(() => EntitlementsType, { description: "The recomputed entitlements." })
  entitlements(@Ctx() ctx: Context): EntitlementSet {
    return readEntitlements(ctx);
  }
}

@Resolver()
export class LicensesResolver {
  @Access({ needs: ["license:read"] })
  @Query(() => [LicenseType], { description: "Lists all licenses by number, expired and future ones included." })
  licenses(@Ctx() ctx: Context): Promise<License[]> {
    return listLicenses(ctx);
  }

  @Access({ needs: ["license:create"] })
  @Mutation(() => AddLicensePayload, {
    description:
      "Uploads a license. It takes effect on this replica before the response, and on the others moments later.",
  })
  async addLicense(
    @Arg("input", { description: "The license to upload." }) { license }: AddLicenseInput,
    @Ctx() ctx: Context,
  ): Promise<AddLicensePayload> {
    return { license: await addLicense(ctx, license) };
  }

  @Access({ needs: ["license:delete"] })
  @Mutation(() => DeleteLicensePayload, { description: "Deletes a license and revokes what only that license grants." })
  async deleteLicense(
    @Arg("input", { description: "The license to delete." }) { id }: DeleteLicenseInput,
    @Ctx() ctx: Context,
  ): Promise<DeleteLicensePayload> {
    return { license: await deleteLicense(ctx, id) };
  }

  @Access({ needs: ["license:create"] })
  @Mutation(() => RefreshEntitlementsPayload, {
    description: "Recomputes the entitlements on every replica.",
  })
  async refreshEntitlements(@Ctx() ctx: Context): Promise<RefreshEntitlementsPayload> {
    await refreshEntitlements(ctx);
    return new RefreshEntitlementsPayload();
  }
}
