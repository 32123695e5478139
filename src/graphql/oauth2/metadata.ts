import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { OwnResource } from "../../domain/oauth2/audiences.js";
import {
  oauth2ProtectedResourceMetadata,
  oauth2ServerMetadata,
  type ResourceMetadata,
  type ServerMetadata,
} from "../../domain/oauth2/metadata.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { Url } from "../engine/scalars.js";

enumType({ OAuth2OwnResource: OwnResource }, "A part of this server that access tokens can be issued for.", {
  SERVER: "All of it.",
  REST: "The REST interface, `/api/v2`.",
  GRAPHQL: "GraphQL, `/graphql`.",
  MCP: "The MCP server, `/mcp`.",
});

@ObjectType("OAuth2ServerMetadata", {
  simpleResolvers: true,
  description: "The features and endpoints of this server as an OAuth2 authorization server (RFC 8414).",
})
export class OAuth2ServerMetadataType implements ServerMetadata {
  @Field(() => Url, { description: "Identifier of the server: its access URL." }) issuer!: string;
  @Field(() => Url, { description: "Where users decide about access." }) authorizationEndpoint!: string;
  @Field(() => Url, { description: "Where clients get tokens." }) tokenEndpoint!: string;
  @Field(() => Url, { description: "Where clients revoke tokens." }) revocationEndpoint!: string;
  @Field(() => Url, { description: "Where resource servers look up tokens." }) introspectionEndpoint!: string;
  @Field(() => Url, { description: "Where devices start to ask for access." }) deviceAuthorizationEndpoint!: string;
  @Field(() => Url, {
    nullable: true,
    description: "Where clients register themselves; null if they may not.",
  })
  registrationEndpoint!: string | null;
  @Field(() => [String], { description: "All scopes." }) scopesSupported!: string[];
  @Field(() => [String], { description: "Response types of authorization requests." })
  responseTypesSupported!: string[];
  @Field(() => [String], { description: "Response modes of authorization requests." })
  responseModesSupported!: string[];
  @Field(() => [String], { description: "Grant types of token requests." }) grantTypesSupported!: string[];
  @Field(() => [String], { description: "Methods of code challenges (PKCE)." })
  codeChallengeMethodsSupported!: string[];
  @Field(() => [String], { description: "How clients authenticate where they get tokens." })
  tokenEndpointAuthMethodsSupported!: string[];
  @Field(() => [String], { description: "How clients authenticate where they revoke tokens." })
  revocationEndpointAuthMethodsSupported!: string[];
  @Field(() => [String], { description: "How resource servers authenticate where they look up tokens." })
  introspectionEndpointAuthMethodsSupported!: string[];
  @Field({ description: "Whether authorization responses name the issuer (RFC 9207)." })
  authorizationResponseIssParameterSupported!: boolean;
  @Field(() => Boolean, {
    nullable: true,
    description: "True if clients should use the URL of a client metadata document as their client ID; otherwise null.",
  })
  clientIdMetadataDocumentSupported!: true | null;
}

@ObjectType("OAuth2ProtectedResourceMetadata", {
  simpleResolvers: true,
  description: "How clients get access to a resource (RFC 9728).",
})
export class OAuth2ProtectedResourceMetadataType implements ResourceMetadata {
  @Field(() => Url, { description: "URL of the resource." }) resource!: string;
  @Field(() => [Url], { description: "The authorization servers that issue tokens for it." })
  authorizationServers!: string[];
  @Field(() => [String], { description: "The scopes to request first; further ones on demand." })
  scopesSupported!: string[];
  @Field(() => [String], { description: "Where requests carry the token." }) bearerMethodsSupported!: string[];
}

@Resolver()
export class OAuth2MetadataResolver {
  @Access({ open: true })
  @Query(() => OAuth2ServerMetadataType, {
    description: "Describes this server as an OAuth2 authorization server. NOT_FOUND if it is none.",
  })
  oauth2ServerMetadata(@Ctx() ctx: Context): Promise<ServerMetadata> {
    return oauth2ServerMetadata(ctx);
  }

  @Access({ open: true })
  @Query(() => OAuth2ProtectedResourceMetadataType, {
    nullable: true,
    description: "Describes this server, or a part of it, as a resource. NOT_FOUND if it is no authorization server.",
  })
  oauth2ProtectedResourceMetadata(
    @Arg("resource", () => OwnResource, { defaultValue: OwnResource.SERVER, description: "The resource." })
    resource: OwnResource,
    @Ctx() ctx: Context,
  ): ResourceMetadata {
    return oauth2ProtectedResourceMetadata(ctx, resource);
  }
}
