import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import { createApp, type CreateApp, deleteApp, updateApp, type UpdateApp } from "../../domain/oauth2/app-changes.js";
import type { AppFields } from "../../domain/oauth2/app-rules.js";
import { clientsById, GrantType } from "../../domain/oauth2/clients.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { UUID } from "../engine/scalars.js";
import { OAuth2AppType } from "./apps.js";

/** The fields of an application that owners set, except for its name. */
@InputType()
abstract class OAuth2AppFields implements AppFields {
  @Field(() => String, {
    nullable: true,
    description: "URL of an icon: an http or https URL, a path on this server, or empty.",
  })
  icon?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "The first redirect URI, at most 2048 bytes. Cannot be combined with `redirectUris`.",
  })
  callbackUrl?: string | null;
  @Field(() => [String], {
    nullable: true,
    description:
      "All redirect URIs, at most 32: absolute, without fragment, user information and wildcards, with https, http, or a scheme of the application's own. One without a dot needs a host: `example://host/path`.",
  })
  redirectUris?: string[] | null;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether authorization requires a code challenge (PKCE). Can be false only for applications of owners.",
  })
  pkceRequired?: boolean | null;
  @Field(() => [String], {
    nullable: true,
    description: "The widest scopes that the application can get; `all` for no limit.",
  })
  scopeCeiling?: string[] | null;
  @Field(() => [GrantType], {
    nullable: true,
    description: "The ways in which the application may get tokens. Client credentials require a service account.",
  })
  grantTypes?: GrantType[] | null;
  @Field(() => UUID, {
    nullable: true,
    description:
      "ID of the service account that the application acts as with client credentials. Requires permission to create API tokens for it.",
  })
  serviceUserId?: string | null;
  @Field(() => [String], {
    nullable: true,
    description:
      "URLs for which the application is the resource server (RFC 8707), at most 16, each for one application only.",
  })
  resourceIndicators?: string[] | null;
  @Field(() => String, {
    nullable: true,
    description:
      "URL that tokens are for if a request names no resource (RFC 8707): of this server, or a resource indicator of an application. Empty for none.",
  })
  defaultResource?: string | null;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether the application can neither get tokens nor use those that it has. Disabling ends its access tokens; refresh tokens work again when it is enabled.",
  })
  disabled?: boolean | null;
}

const nameRule = "1 to 64 characters without control characters; white space around it is removed.";

@InputType({
  description:
    "Input of `createOAuth2App`. Defaults: no icon, no limit of scopes, no PKCE, authorization codes and refresh tokens.",
})
class CreateOAuth2AppInput extends OAuth2AppFields implements CreateApp {
  @Field({ description: `Name of ${nameRule}` }) name!: string;
}

@InputType({ description: "Input of `updateOAuth2App`. Fields that are omitted or null keep their value." })
class UpdateOAuth2AppInput extends OAuth2AppFields implements UpdateApp {
  @Field(() => UUID, { description: "ID of the application." }) id!: string;
  @Field(() => String, { nullable: true, description: `New name of ${nameRule}` }) name?: string | null;
}

@InputType({ description: "Input of `deleteOAuth2App`." })
class DeleteOAuth2AppInput {
  @Field(() => UUID, { description: "ID of the application." }) id!: string;
}

/** The payload of a mutation that leaves an application behind, which is read if selected. */
const changed = (ctx: Context, id: string) => ({ oauth2App: () => ctx.load(clientsById, id) });

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
    @Arg("input", { description: "The new application." }) input: CreateOAuth2AppInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await createApp(ctx, input));
  }

  @Access({ needs: ["oauth2_app:update"], openTo: ["session", "token"], byArguments: ifServiceUser })
  @Mutates(
    "Updates an OAuth2 application. Of applications with a metadata document, only resource indicators, the default resource, and `disabled` can be changed.",
    {
      oauth2App: { type: () => OAuth2AppType, description: "The application after the change." },
    },
  )
  async updateOAuth2App(
    @Arg("input", { description: "The changes." }) input: UpdateOAuth2AppInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await updateApp(ctx, input));
  }

  @Access({ needs: ["oauth2_app:delete"] })
  @Mutates("Deletes an OAuth2 application with its secrets, grants and tokens.", {
    oauth2App: { type: () => OAuth2AppType, description: "The deleted application." },
  })
  async deleteOAuth2App(
    @Arg("input", { description: "The application to delete." })
    { id }: DeleteOAuth2AppInput,
    @Ctx() ctx: Context,
  ) {
    return { oauth2App: await deleteApp(ctx, id) };
  }
}
