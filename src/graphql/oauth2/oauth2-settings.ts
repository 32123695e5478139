import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type OAuth2Settings,
  readOAuth2Settings,
  updateOAuth2Settings,
  UpdateOAuth2Settings,
} from "../../domain/oauth2/oauth2-settings.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";

@Access({ readWith: "deployment_config:read" })
@ObjectType("OAuth2Settings", {
  simpleResolvers: true,
  description: "Deployment-wide settings of the OAuth2 provider.",
})
class OAuth2SettingsType implements OAuth2Settings {
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether applications may register themselves; null if the configuration of the server decides.",
  })
  dynamicRegistration!: boolean | null;
  @Field(() => String, {
    nullable: true,
    description:
      "URL that tokens of applications that registered themselves are for, if their requests name no resource (RFC 8707); null for the whole of this server.",
  })
  defaultResource!: string | null;
}

const UpdateOAuth2SettingsInput = inputType("UpdateOAuth2SettingsInput", UpdateOAuth2Settings, {
  description: "Input of `updateOAuth2Settings`, which replaces all settings.",
});

@Resolver()
export class OAuth2SettingsResolver {
  @Access({ needs: ["deployment_config:read"] })
  @Query(() => OAuth2SettingsType, { description: "Returns the deployment-wide settings of the OAuth2 provider." })
  oauth2Settings(@Ctx() ctx: Context): Promise<OAuth2Settings> {
    return readOAuth2Settings(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Replaces the deployment-wide settings of the OAuth2 provider.", {
    oauth2Settings: { type: () => OAuth2SettingsType, description: "The settings after the update." },
  })
  async updateOAuth2Settings(
    @Arg("input", () => UpdateOAuth2SettingsInput, { description: "The new settings." })
    input: UpdateOAuth2Settings,
    @Ctx() ctx: Context,
  ) {
    return { oauth2Settings: await updateOAuth2Settings(ctx, input) };
  }
}
