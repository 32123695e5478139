import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type PrebuildsSettings,
  readPrebuildsSettings,
  type UpdatedPrebuildsSettings,
  updatePrebuildsSettings,
  UpdatePrebuildsSettings,
} from "../domain/prebuilds/prebuilds-settings.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { inputType } from "./engine/inputs.js";

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

const UpdatePrebuildsSettingsInput = inputType("UpdatePrebuildsSettingsInput", UpdatePrebuildsSettings);

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
    @Arg("input", () => UpdatePrebuildsSettingsInput, { description: "The new settings." })
    input: UpdatePrebuildsSettings,
    @Ctx() ctx: Context,
  ): Promise<UpdatedPrebuildsSettings> {
    return updatePrebuildsSettings(ctx, input);
  }
}
