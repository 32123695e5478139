import { Arg, Ctx, Field, FieldResolver, InputType, Mutation, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type Appearance,
  type Banner,
  readAppearance,
  serviceBannerOf,
  type UpdateAppearance,
  updateAppearance,
  type UpdatedAppearance,
} from "../domain/appearance/appearance.js";
import type { SupportLink } from "../domain/appearance/support-links.js";
import { AnyScope, Needs, OpenTo } from "./engine/access.js";
import { Url } from "./engine/scalars.js";

@ObjectType("Banner", { simpleResolvers: true, description: "A message that clients show to everybody." })
class BannerType implements Banner {
  @Field(() => Boolean, { description: "Whether it is shown." }) enabled!: boolean;
  @Field(() => String, { description: "Markdown; HTML in it is plain text." }) message!: string;
  @Field(() => String, { description: "`#` and six hexadecimal digits; empty where there is no banner." })
  backgroundColor!: string;
}

@ObjectType("SupportLink", { simpleResolvers: true, description: "A link for people who look for help." })
class SupportLinkType implements SupportLink {
  @Field(() => String, { description: "What it is called." }) name!: string;
  @Field(() => Url, { description: "Where it leads." }) target!: string;
  @Field(() => String, { description: "`bug`, `chat`, `docs`, `star` or the URL of a picture." }) icon!: string;
  @Field(() => String, { description: "Where clients show it: `navbar` or `dropdown`." }) location!: string;
}

@ObjectType("Appearance", { simpleResolvers: true, description: "What the deployment looks like." })
class AppearanceType implements Appearance {
  @Field(() => String, { description: "What the application is called; empty for its own name." })
  applicationName!: string;
  @Field(() => Url, { description: "Its picture; empty for its own." }) logoUrl!: string;
  @Field(() => [BannerType], { description: "Messages to everybody, in their order." })
  announcementBanners!: BannerType[];
  @Field(() => Url, { description: "Where its documentation is; may be empty." }) docsUrl!: string;
  @Field(() => [SupportLinkType], { description: "Links for people who look for help." })
  supportLinks!: SupportLinkType[];
}

@InputType("BannerInput", { description: "A message that clients show to everybody." })
class BannerInputType implements Partial<Banner> {
  @Field(() => Boolean, { nullable: true, description: "Whether it is shown. Default: no." }) enabled?: boolean;
  @Field(() => String, { nullable: true, description: "Markdown of at most 3000 characters." }) message?: string;
  @Field(() => String, { nullable: true, description: "Required. `#` and six hexadecimal digits." })
  backgroundColor?: string;
}

@InputType({ description: "Looks that replace all that were chosen before. What is left out is empty." })
class UpdateAppearanceInput implements UpdateAppearance {
  @Field(() => [BannerInputType], { nullable: true, description: "Messages to everybody, at most 20." })
  announcementBanners?: BannerInputType[] | null;
  @Field(() => String, { nullable: true, description: "What the application is called, at most 64 characters." })
  applicationName?: string | null;
  @Field(() => String, { nullable: true, description: "Its picture: a path or an http or https URL." })
  logoUrl?: string | null;
  @Field(() => BannerInputType, {
    nullable: true,
    description: "The only banner where `announcementBanners` is left out, unless all of it is empty.",
  })
  serviceBanner?: BannerInputType | null;
}

@ObjectType({ simpleResolvers: true, description: "The looks are replaced." })
class UpdateAppearancePayload implements Pick<UpdatedAppearance, "serviceBanner"> {
  @Field(() => AppearanceType, { description: "What the deployment looks like now." }) appearance!: AppearanceType;
  @Field(() => BannerType, { description: "The service banner as it was given; else the first banner." })
  serviceBanner!: BannerType;
}

@Resolver(() => AppearanceType)
export class AppearanceResolver {
  @FieldResolver(() => BannerType, { description: "The first of the banners; an empty one if there is none." })
  serviceBanner(@Root() appearance: Appearance): Banner {
    return serviceBannerOf(appearance);
  }

  @AnyScope()
  @OpenTo("user", "agent")
  @Query(() => AppearanceType, { description: "What the deployment looks like." })
  appearance(@Ctx() ctx: Context): Promise<Appearance> {
    return readAppearance(ctx);
  }

  @Needs("deployment_config:update")
  @Mutation(() => UpdateAppearancePayload, { description: "Replaces the looks of the deployment." })
  updateAppearance(
    @Arg("input", () => UpdateAppearanceInput, { description: "The looks." }) input: UpdateAppearanceInput,
    @Ctx() ctx: Context,
  ): Promise<UpdatedAppearance> {
    return updateAppearance(ctx, input);
  }
}
