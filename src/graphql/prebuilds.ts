import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type PrebuildsSettings,
  readPrebuildsSettings,
  type UpdatedPrebuildsSettings,
  type UpdatePrebuildsSettings,
  updatePrebuildsSettings,
} from "../domain/prebuilds.js";
import { AnyScope, Needs } from "./engine/access.js";

@ObjectType("PrebuildsSettings", {
  simpleResolvers: true,
  description: "How the deployment keeps workspaces at hand.",
})
class PrebuildsSettingsType implements PrebuildsSettings {
  @Field(() => Boolean, { description: "While it is paused, no prebuilt workspace is made and none is deleted." })
  reconciliationPaused!: boolean;
}

@InputType({ description: "New settings of prebuilds." })
class UpdatePrebuildsSettingsInput implements UpdatePrebuildsSettings {
  @Field(() => Boolean, { nullable: true, description: "Required. Whether none are made and none are deleted." })
  reconciliationPaused?: boolean | null;
}

@ObjectType({ simpleResolvers: true, description: "The settings of prebuilds are as they were asked for." })
class UpdatePrebuildsSettingsPayload implements UpdatedPrebuildsSettings {
  @Field(() => PrebuildsSettingsType, { description: "The settings that count now." })
  prebuildsSettings!: PrebuildsSettingsType;
  @Field(() => Boolean, { description: "Whether they were different before." }) changed!: boolean;
}

@Resolver()
export class PrebuildsResolver {
  @AnyScope()
  @Query(() => PrebuildsSettingsType, { description: "How the deployment keeps workspaces at hand." })
  prebuildsSettings(@Ctx() ctx: Context): Promise<PrebuildsSettings> {
    return readPrebuildsSettings(ctx);
  }

  @Needs("deployment_config:update")
  @Mutation(() => UpdatePrebuildsSettingsPayload, { description: "Replaces the settings of prebuilds." })
  updatePrebuildsSettings(
    @Arg("input", () => UpdatePrebuildsSettingsInput, { description: "The settings." })
    input: UpdatePrebuildsSettingsInput,
    @Ctx() ctx: Context,
  ): Promise<UpdatedPrebuildsSettings> {
    return updatePrebuildsSettings(ctx, input);
  }
}
