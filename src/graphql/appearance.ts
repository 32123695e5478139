import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type Appearance,
  type Banner,
  ChangedBanner,
  readAppearance,
  serviceBannerOf,
  updateAppearance,
  UpdateAppearance,
  type UpdatedAppearance,
} from "../domain/appearance/appearance.js";
import type { SupportLink } from "../domain/appearance/support-links.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { Url } from "./engine/scalars.js";
import { inputType } from "./engine/inputs.js";

@ObjectType("Banner", { simpleResolvers: true, description: "A banner that clients show to every user." })
class BannerType implements Banner {
  @Field({ description: "Whether the banner is shown." }) enabled!: boolean;
  @Field({ description: "Text in Markdown; HTML tags are shown as text." }) message!: string;
  @Field({
    description: "Background color: `#` and six hexadecimal digits; empty if there is no banner.",
  })
  backgroundColor!: string;
}

@ObjectType("SupportLink", { simpleResolvers: true, description: "A link to documentation or support." })
class SupportLinkType implements SupportLink {
  @Field({ description: "Label of the link." }) name!: string;
  @Field(() => Url, { description: "URL of the link." }) target!: string;
  @Field({ description: "Icon of the link: `bug`, `chat`, `docs`, `star`, or the URL of an image." })
  icon!: string;
  @Field({ description: "Where clients show the link: `navbar` or `dropdown`." }) location!: string;
}

@ObjectType("Appearance", { simpleResolvers: true, description: "Branding of the deployment." })
class AppearanceType implements Appearance {
  @Field({ description: "Name of the application; empty for the built-in name." })
  applicationName!: string;
  @Field(() => Url, { description: "URL of the logo; empty for the built-in logo." }) logoUrl!: string;
  @Field(() => [BannerType], { description: "Banners shown to every user, in order." })
  announcementBanners!: BannerType[];
  @Field(() => Url, { description: "URL of the documentation; may be empty." }) docsUrl!: string;
  @Field(() => [SupportLinkType], { description: "Links to documentation and support." })
  supportLinks!: SupportLinkType[];
}

inputType("BannerInput", ChangedBanner, {
  description: "A banner that clients show to every user.",
});

const UpdateAppearanceInput = inputType("UpdateAppearanceInput", UpdateAppearance, {
  description: "Input of `updateAppearance`. Replaces all settings; omitted fields are cleared.",
});

@Resolver(() => AppearanceType)
export class AppearanceResolver {
  @FieldResolver(() => BannerType, { description: "The first banner; an empty banner if there is none." })
  serviceBanner(@Root() appearance: Appearance): Banner {
    return serviceBannerOf(appearance);
  }

  @Access({ anyScope: true, openTo: ["user", "agent"] })
  @Query(() => AppearanceType, { description: "Returns the branding of the deployment." })
  appearance(@Ctx() ctx: Context): Promise<Appearance> {
    return readAppearance(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Replaces the branding of the deployment.", {
    appearance: { type: () => AppearanceType, description: "The branding after the update." },
    serviceBanner: {
      type: () => BannerType,
      description: "The service banner as given in the input, otherwise the first banner.",
    },
  })
  updateAppearance(
    @Arg("input", () => UpdateAppearanceInput, { description: "The new branding." }) input: UpdateAppearance,
    @Ctx() ctx: Context,
  ): Promise<UpdatedAppearance> {
    return updateAppearance(ctx, input);
  }
}
