import { Arg, Ctx, Field, InputType, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type PrebuildsSettings,
  readPrebuildsSettings,
  type UpdatedPrebuildsSettings,
  updatePrebuildsSettings,
} from "../domain/prebuilds/prebuilds-settings.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";

@ObjectType("PrebuildsSettings", {
  simpleResolvers: true,
  description: "Deployment-wide settings of prebuilt workspaces.",
})
class PrebuildsSettingsType implements PrebuildsSettings {
  @Field({
    description: "Whether reconciliation is paused. While it is paused, no prebuilt workspace is created or deleted.",
  })
  reconciliationPaused!: boolean;
}

@InputType({ description: "Input of `updatePrebuildsSettings`." })
class UpdatePrebuildsSettingsInput implements PrebuildsSettings {
  @Field({
    description: "Whether to pause reconciliation, so that no prebuilt workspace is created or deleted.",
  })
  reconciliationPaused!: boolean;
}

@Resolver()
export class PrebuildsResolver {
  @Access({ anyScope: true })
  @Query(() => PrebuildsSettingsType, { description: "Returns the deployment-wide settings of prebuilt workspaces." })
  prebuildsSettings(@Ctx() ctx: Context): Promise<PrebuildsSettings> {
    return readPrebuildsSettings(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Replaces the deployment-wide settings of prebuilt workspaces.", {
    prebuildsSettings: { type: () => PrebuildsSettingsType, description: "The settings after the update." },
    changed: { type: () => Boolean, description: "Whether the update changed any setting." },
  })
  updatePrebuildsSettings(
    @Arg("input", { description: "The new settings." })
    input: UpdatePrebuildsSettingsInput,
    @Ctx() ctx: Context,
  ): Promise<UpdatedPrebuildsSettings> {
    return updatePrebuildsSettings(ctx, input);
  }
}
