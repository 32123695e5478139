import { Arg, Ctx, Field, InputType, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type OAuth2Settings, readOAuth2Settings, updateOAuth2Settings } from "../../domain/oauth2/oauth2-settings.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";

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

@InputType({ description: "Input of `updateOAuth2Settings`, which replaces all settings." })
class UpdateOAuth2SettingsInput implements Partial<OAuth2Settings> {
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether applications may register themselves. Default: the configuration of the server decides.",
  })
  dynamicRegistration?: boolean | null;
  @Field(() => String, {
    nullable: true,
    description:
      "URL that tokens of applications that registered themselves are for, if their requests name no resource: of this server, or a resource indicator of an application. Default: the whole of this server.",
  })
  defaultResource?: string | null;
}

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
    @Arg("input", { description: "The new settings." })
    input: UpdateOAuth2SettingsInput,
    @Ctx() ctx: Context,
  ) {
    return { oauth2Settings: await updateOAuth2Settings(ctx, input) };
  }
}
