import { Arg, Ctx, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  applicationsHost,
  createApplicationRedirect,
  CreateApplicationRedirect,
} from "../domain/applications/applications.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { Url } from "./engine/scalars.js";
import { inputType } from "./engine/inputs.js";

const CreateApplicationRedirectInput = inputType("CreateApplicationRedirectInput", CreateApplicationRedirect, {
  description: "An application that the caller wants to open.",
});

@Resolver()
export class ApplicationsResolver {
  @Access({ anyScope: true })
  @Query(() => String, {
    description: "The wildcard of application hosts, such as `*.apps.example.com`; empty if there is none.",
  })
  applicationsHost(@Ctx() ctx: Context): string {
    return applicationsHost(ctx);
  }

  @Access({ needs: ["all"], openTo: ["session", "token"] })
  @Mutates(
    "Creates a key that opens applications and nothing else, and the URL that hands it to the host of an application.",
    {
      location: {
        type: () => Url,
        description:
          "The URL with the query parameter `steward_application_connect`, which hands an application key to the host. It is valid once, within a minute.",
      },
    },
    "A redirect to an application.",
  )
  async createApplicationRedirect(
    @Arg("input", () => CreateApplicationRedirectInput, { description: "The application." })
    input: CreateApplicationRedirect,
    @Ctx() ctx: Context,
  ) {
    return { location: await createApplicationRedirect(ctx, input) };
  }
}
