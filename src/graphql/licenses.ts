import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  addLicense,
  AddLicense,
  deleteLicense,
  DeleteLicense,
  type License,
  listLicenses,
  refreshEntitlements,
} from "../domain/licenses/licenses.js";
import { readEntitlements } from "../domain/entitlements/requirements.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { EntitlementsType } from "./entitlements.js";
import { DateTime, JSONObject, UUID } from "./engine/scalars.js";
import { inputType } from "./engine/inputs.js";

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

export const AddLicenseInput = inputType("AddLicenseInput", AddLicense);

export const DeleteLicenseInput = inputType("DeleteLicenseInput", DeleteLicense);

@Resolver()
export class LicensesResolver {
  @Access({ needs: ["license:read"] })
  @Query(() => [LicenseType], { description: "Lists all licenses by number, expired and future ones included." })
  licenses(@Ctx() ctx: Context): Promise<License[]> {
    return listLicenses(ctx);
  }

  @Access({ needs: ["license:create"] })
  @Mutates("Uploads a license. It takes effect on this replica before the response, and on the others moments later.", {
    license: { type: () => LicenseType, description: "The new license.", covers: "everything" },
  })
  async addLicense(
    @Arg("input", () => AddLicenseInput, { description: "The license to upload." }) { license }: AddLicense,
    @Ctx() ctx: Context,
  ) {
    return { license: await addLicense(ctx, license) };
  }

  @Access({ needs: ["license:delete"] })
  @Mutates("Deletes a license and revokes what only that license grants.", {
    license: { type: () => LicenseType, description: "The deleted license." },
  })
  async deleteLicense(
    @Arg("input", () => DeleteLicenseInput, { description: "The license to delete." }) { id }: DeleteLicense,
    @Ctx() ctx: Context,
  ) {
    return { license: await deleteLicense(ctx, id) };
  }

  @Access({ needs: ["license:create"] })
  @Mutates("Recomputes the entitlements on every replica.", {
    entitlements: { type: () => EntitlementsType, description: "The recomputed entitlements." },
  })
  async refreshEntitlements(@Ctx() ctx: Context) {
    await refreshEntitlements(ctx);
    return { entitlements: () => readEntitlements(ctx) };
  }
}
