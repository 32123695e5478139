import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  applicationsHost,
  type CreateApplicationRedirect,
  createApplicationRedirect,
} from "../domain/applications/applications.js";
import { AnyScope, Needs, OpenTo } from "./engine/access.js";
import { Url } from "./engine/scalars.js";

@InputType({ description: "An application that the caller wants to open." })
class CreateApplicationRedirectInput implements CreateApplicationRedirect {
  @Field(() => String, {
    nullable: true,
    description: "Required. Its http or https URL, of at most 2048 bytes: at a host of the deployment or of a proxy.",
  })
  redirectUri?: string;
}

@ObjectType({ simpleResolvers: true, description: "The way to an application." })
class CreateApplicationRedirectPayload {
  @Field(() => Url, {
    description:
      "The URL with the query parameter `steward_application_connect`, which hands the caller's right to open applications to the host. It counts for a minute, once.",
  })
  location!: string;
}

@Resolver()
export class ApplicationsResolver {
  @AnyScope()
  @Query(() => String, {
    description: "Where applications have hosts of their own, such as `*.apps.example.com`; empty if they have none.",
  })
  applicationsHost(@Ctx() ctx: Context): string {
    return applicationsHost(ctx);
  }

  @Needs("all")
  @OpenTo("session", "token")
  @Mutation(() => CreateApplicationRedirectPayload, {
    description: "Makes a key that opens applications and nothing else, and the URL that hands it to the host of one.",
  })
  async createApplicationRedirect(
    @Arg("input", () => CreateApplicationRedirectInput, { description: "Which one." })
    input: CreateApplicationRedirectInput,
    @Ctx() ctx: Context,
  ): Promise<CreateApplicationRedirectPayload> {
    return { location: await createApplicationRedirect(ctx, input) };
  }
}
