import { Arg, Ctx, Field, InputType, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  addLicense,
  deleteLicense,
  type License,
  listLicenses,
  refreshEntitlements,
} from "../domain/licenses/licenses.js";
import { readEntitlements } from "../domain/entitlements/requirements.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
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
  @Access({ pasted: true })
  @Field({ description: "The license: a JWT of at most 16 KiB." })
  license!: string;
}

@InputType({ description: "Input of `deleteLicense`." })
export class DeleteLicenseInput {
  @Field(() => Int, { description: "Number of the license." }) id!: number;
}

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
    @Arg("input", { description: "The license to upload." }) { license }: AddLicenseInput,
    @Ctx() ctx: Context,
  ) {
    return { license: await addLicense(ctx, license) };
  }

  @Access({ needs: ["license:delete"] })
  @Mutates("Deletes a license and revokes what only that license grants.", {
    license: { type: () => LicenseType, description: "The deleted license." },
  })
  async deleteLicense(
    @Arg("input", { description: "The license to delete." }) { id }: DeleteLicenseInput,
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
