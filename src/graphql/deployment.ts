import { Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { readServerInfo, type ServerInfo, type SignInProvider } from "../domain/deployment/deployment.js";
import { ProviderKind } from "../infrastructure/identity-providers.js";
import { type Branding, readAppearance } from "../domain/appearance/appearance.js";
import { sendsPasscodes } from "../domain/sign-in/passcodes.js";
import { takesPasskeys } from "../domain/sign-in/passkey-challenges.js";
import { Access } from "./engine/access.js";
import { Url, UUID } from "./engine/scalars.js";

@ObjectType("SignInProvider", { simpleResolvers: true, description: "An identity provider at which users sign in." })
class SignInProviderType implements SignInProvider {
  @Field({ description: "Unique name, as in the path of its sign-in." }) name!: string;
  @Field(() => ProviderKind, { description: "The kind of the provider." }) type!: ProviderKind;
  @Field({ description: "The name that sign-in pages show." }) label!: string;
  @Field({ description: "Path of an image on this server, or the image as a data URL; may be empty." }) icon!: string;
  @Field(() => Url, {
    description:
      "Where a browser starts to sign in. It returns to the path in the query parameter `return_to`, with a session cookie.",
  })
  signInUrl!: string;
}

@ObjectType("Branding", {
  simpleResolvers: true,
  description: "The part of the appearance that visitors see.",
})
class BrandingType implements Branding {
  @Field({ description: "Name of the application; empty for the built-in name." }) applicationName!: string;
  @Field(() => Url, { description: "URL of the logo; empty for the built-in logo." }) logoUrl!: string;
}

@ObjectType("ServerInfo", { simpleResolvers: true, description: "Public information about this server." })
class ServerInfoType implements ServerInfo {
  @Field({ description: "Version of the server software." }) version!: string;
  @Field(() => String, {
    nullable: true,
    description:
      "The commit of the sources from which the server was built, such as `1a2b3c4d5e6f`, with `-dirty` after it if files differed from it; null if the build did not know it.",
  })
  commit!: string | null;
  @Field(() => String, {
    nullable: true,
    description:
      "Version of the time zone data by which the server computes schedules, such as `2026b`; null if they do not say.",
  })
  timeZoneDataVersion!: string | null;
  @Field(() => Url, { description: "External URL of the deployment; the base of every link it generates." })
  accessUrl!: string;
  @Field(() => UUID, { description: "Unique ID of the deployment, shared by all of its replicas." })
  deploymentId!: string;
  @Field({ description: "Whether users can sign in with a password." }) passwordAuth!: boolean;
  @Field(() => Int, { description: "The longest lifetime of an API token in seconds." })
  apiTokenMaxLifetimeSeconds!: number;
  @Field(() => [SignInProviderType], { description: "The identity providers at which users can sign in." })
  identityProviders!: SignInProvider[];
}

@Resolver(() => ServerInfoType)
export class DeploymentResolver {
  @FieldResolver(() => Boolean, {
    description:
      "Whether users who forgot their password can request a one-time passcode: passwords are in use, and there is a way to deliver passcodes.",
  })
  sendsPasscodes(@Ctx() ctx: Context): Promise<boolean> {
    return sendsPasscodes(ctx);
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether users with a password can have passkeys: second factors are on, and browsers allow them at the access URL.",
  })
  takesPasskeys(@Ctx() ctx: Context): Promise<boolean> {
    return takesPasskeys(ctx);
  }

  @FieldResolver(() => BrandingType, { description: "Name and logo, as sign-in pages show them." })
  branding(@Ctx() ctx: Context): Promise<Branding> {
    return readAppearance(ctx);
  }

  @Access({ open: true })
  @Query(() => ServerInfoType, {
    description: "Returns public information about this server. Requires no authentication.",
  })
  serverInfo(@Ctx() ctx: Context): Promise<ServerInfo> {
    return readServerInfo(ctx);
  }
}
