import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page } from "../../domain/kernel/paging.js";
import {
  type AppEndpoints,
  AppsQuery,
  endpointsOf,
  findApp,
  listApps,
  registrantOf,
  resourcesOfApps,
} from "../../domain/oauth2/apps.js";
import { ClientKind, clientIdOf, type ClientRow, ClientType, GrantType } from "../../domain/oauth2/clients.js";
import { serviceTokenCountOf } from "../../domain/oauth2/service-tokens.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf } from "../engine/lists.js";
import { DateTime, JSONObject, Url, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { argumentsOf } from "../engine/inputs.js";

enumType({ OAuth2AppKind: ClientKind }, "How an OAuth2 application came to be.", {
  ADMIN: "Created by an owner.",
  DYNAMIC: "Registered itself (RFC 7591).",
  DOCUMENT: "Described by a metadata document, whose URL is its client ID.",
});

enumType(
  { OAuth2AppType: ClientType },
  "The type of an OAuth2 application, by its ability to keep a secret (RFC 6749).",
  {
    CONFIDENTIAL: "It authenticates with a secret.",
    PUBLIC: "It has no secrets, such as a program on the machine of its user.",
  },
);

enumType({ OAuth2GrantType: GrantType }, "A way in which an OAuth2 application gets tokens.", {
  AUTHORIZATION_CODE: "A user gives consent in the browser (RFC 6749).",
  REFRESH_TOKEN: "A refresh token is exchanged for new tokens (RFC 6749).",
  CLIENT_CREDENTIALS: "The application acts as a service account (RFC 6749).",
  DEVICE_CODE: "A user enters a code that a device displays (RFC 8628).",
});

@ObjectType("OAuth2AppEndpoints", {
  simpleResolvers: true,
  description: "The URLs at which an OAuth2 application uses this server.",
})
class OAuth2AppEndpointsType implements AppEndpoints {
  @Field(() => Url, { description: "Where the browser of the user is sent for consent." }) authorization!: string;
  @Field(() => Url, { description: "Where codes and refresh tokens are exchanged for tokens." }) token!: string;
  @Field(() => Url, { description: "Where tokens are revoked." }) tokenRevoke!: string;
  @Field(() => Url, {
    nullable: true,
    description: "Where devices request codes; null unless the application may use device codes.",
  })
  deviceAuthorization!: string | null;
}

@Access({ readWith: "oauth2_app:read", references: ["id", "name", "icon"] })
@ObjectType("OAuth2App", {
  simpleResolvers: true,
  description: "A program that users can give access to their account, or the resource server of an external resource.",
})
export class OAuth2AppType implements Omit<
  ClientRow,
  "authMethod" | "serviceUserId" | "createdById" | "createdIp" | "isDisabled"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => ClientKind, { description: "How the application came to be." }) kind!: ClientKind;
  @Field(() => ClientType, {
    description: "The type of the application: confidential if it can keep a secret. Never changes.",
  })
  type!: ClientType;
  @Field({ description: "Name, not necessarily unique." }) name!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field(() => [String], {
    description:
      "URIs that the browser may be sent to after consent. For http on a loopback host, the port is not compared.",
  })
  redirectUris!: string[];
  @Field({ description: "Whether authorization requires a code challenge (PKCE, RFC 7636)." })
  pkceRequired!: boolean;
  @Field(() => [String], {
    nullable: true,
    description: "The widest scopes that the application can get; null for no limit.",
  })
  scopeCeiling!: string[] | null;
  @Field(() => [GrantType], { description: "The ways in which the application may get tokens." })
  grantTypes!: GrantType[];
  @Field(() => String, {
    nullable: true,
    description:
      "URL that tokens are for if a request names no resource, in canonical form; null for that of the deployment if the application registered itself, else for the whole of this server.",
  })
  defaultResource!: string | null;
  @Field(() => String, {
    nullable: true,
    description: "URL of the metadata document that describes the application; null for other kinds.",
  })
  documentUrl!: string | null;
  @Field(() => JSONObject, { description: "The metadata that the application registered, by the names of RFC 7591." })
  metadata!: Record<string, unknown>;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the application last got tokens, accurate to 5 minutes; null if never.",
  })
  lastUsedAt!: string | null;
  @Field(() => DateTime, { description: "When the application was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the application was last updated." }) updatedAt!: string;
}

const OAuth2AppConnection = connectionOf("OAuth2App", () => OAuth2AppType, {
  description: "A page of OAuth2 applications.",
});

const OAuth2AppsArgs = argumentsOf(AppsQuery);

@Resolver(() => OAuth2AppType)
export class OAuth2AppsResolver {
  @Access({ needs: ["oauth2_app:read"] })
  @Query(() => OAuth2AppType, {
    nullable: true,
    description:
      "Returns an OAuth2 application. Every user may read those of administrators and those that they granted access.",
  })
  oauth2App(
    @Arg("id", () => UUID, { description: "ID of the application." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<ClientRow> {
    return findApp(ctx, id);
  }

  @Access({
    needs: ["oauth2_app:read"],
    byArguments: ({ user }: AppsQuery) => (user ? { needs: ["oauth2_grant:read"] } : {}),
  })
  @Query(() => OAuth2AppConnection, {
    description: "Lists the OAuth2 applications that the caller may read, by name and ID.",
  })
  oauth2Apps(@Args(() => OAuth2AppsArgs) args: AppsQuery, @Ctx() ctx: Context): Promise<Page<ClientRow>> {
    return listApps(ctx, args);
  }

  @FieldResolver(() => String, { description: "The `client_id` of the application in the OAuth2 protocol." })
  clientId(@Root() app: ClientRow): string {
    return clientIdOf(app);
  }

  @FieldResolver(() => String, { nullable: true, description: "The first redirect URI; null if there is none." })
  callbackUrl(@Root() { redirectUris: [first] }: ClientRow): string | null {
    return first ?? null;
  }

  @FieldResolver(() => Boolean, {
    description: "Whether the application can neither get tokens nor use those that it has.",
  })
  disabled(@Root() { isDisabled }: ClientRow): boolean {
    return isDisabled;
  }

  @FieldResolver(() => OAuth2AppEndpointsType, { description: "The URLs at which the application uses this server." })
  endpoints(@Root() app: ClientRow, @Ctx() ctx: Context): AppEndpoints {
    return endpointsOf(app, ctx.config);
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => [String], {
    description: "URIs for which the application is the resource server (RFC 8707), in canonical form.",
  })
  resourceIndicators(@Root() { id }: ClientRow, @Ctx() ctx: Context): Promise<string[]> {
    return ctx.load(resourcesOfApps, id);
  }

  @FieldResolver(() => PublicUserType, {
    nullable: true,
    description: "Service account that the application acts as with client credentials; null if none is set.",
  })
  serviceUser(@Root() { serviceUserId }: ClientRow, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    return serviceUserId === null ? null : ctx.load(usersById, serviceUserId);
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => Int, {
    nullable: true,
    description:
      "Number of unexpired access tokens that the application got with client credentials, at most 1,000; null for callers who may not change it.",
  })
  serviceTokenCount(@Root() { id }: ClientRow, @Ctx() ctx: Context): Promise<number> | null {
    return serviceTokenCountOf(ctx, id);
  }

  @FieldResolver(() => PublicUserType, {
    nullable: true,
    description:
      "User who created the application; null if it registered itself, or for callers who may not change it.",
  })
  createdBy(@Root() app: ClientRow, @Ctx() ctx: Context): Promise<UserRow | undefined> | null {
    const { createdById } = registrantOf(ctx, app);
    return createdById === null ? null : ctx.load(usersById, createdById);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: "IP address that created the application; null if unknown, or for callers who may not change it.",
  })
  createdIp(@Root() app: ClientRow, @Ctx() ctx: Context): string | null {
    return registrantOf(ctx, app).createdIp;
  }
}
