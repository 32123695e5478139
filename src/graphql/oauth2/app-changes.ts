import { Arg, Ctx, Resolver } from "type-graphql";
import { createApp, deleteApp, updateApp, CreateApp, NamedApp, UpdateApp } from "../../domain/oauth2/app-changes.js";
import type { AppFields } from "../../domain/oauth2/app-rules.js";
import { clientsById } from "../../domain/oauth2/clients.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { OAuth2AppType } from "./apps.js";
import { inputType } from "../engine/inputs.js";

/** The fields of an application that owners set, except for its name. */

const CreateOAuth2AppInput = inputType("CreateOAuth2AppInput", CreateApp, {
  description:
    "Input of `createOAuth2App`. Defaults: no icon, no limit of scopes, no PKCE, authorization codes and refresh tokens.",
});

const UpdateOAuth2AppInput = inputType("UpdateOAuth2AppInput", UpdateApp, {
  description: "Input of `updateOAuth2App`. Fields that are omitted or null keep their value.",
});

const DeleteOAuth2AppInput = inputType("DeleteOAuth2AppInput", NamedApp);

/** The payload of a mutation that leaves an application behind, which is read if selected. */
const readChangedApp = (ctx: Context, id: string) => ({ oauth2App: () => ctx.load(clientsById, id) });

/** Callers who choose a service account could act as it, as with an API token. */
const ifServiceUser = ({ input }: { input: AppFields }) =>
  input.serviceUserId == null ? {} : { needs: ["api_key:create" as const] };

@Resolver()
export class OAuth2AppChangesResolver {
  @Access({ needs: ["oauth2_app:create"], openTo: ["session", "token"], byArguments: ifServiceUser })
  @Mutates("Creates a confidential OAuth2 application.", {
    oauth2App: {
      type: () => OAuth2AppType,
      description: "The new application. It has no secret yet.",
      covers: "everything",
    },
  })
  async createOAuth2App(
    @Arg("input", () => CreateOAuth2AppInput, { description: "The new application." }) input: CreateApp,
    @Ctx() ctx: Context,
  ) {
    return readChangedApp(ctx, await createApp(ctx, input));
  }

  @Access({ needs: ["oauth2_app:update"], openTo: ["session", "token"], byArguments: ifServiceUser })
  @Mutates(
    "Updates an OAuth2 application. Of applications with a metadata document, only resource indicators, the default resource, and `disabled` can be changed.",
    {
      oauth2App: { type: () => OAuth2AppType, description: "The application after the change." },
    },
  )
  async updateOAuth2App(
    @Arg("input", () => UpdateOAuth2AppInput, { description: "The changes." }) input: UpdateApp,
    @Ctx() ctx: Context,
  ) {
    return readChangedApp(ctx, await updateApp(ctx, input));
  }

  @Access({ needs: ["oauth2_app:delete"] })
  @Mutates("Deletes an OAuth2 application with its secrets, grants and tokens.", {
    oauth2App: { type: () => OAuth2AppType, description: "The deleted application." },
  })
  async deleteOAuth2App(
    @Arg("input", () => DeleteOAuth2AppInput, { description: "The application to delete." })
    { id }: NamedApp,
    @Ctx() ctx: Context,
  ) {
    return { oauth2App: await deleteApp(ctx, id) };
  }
}
