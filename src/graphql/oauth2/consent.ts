import { Field, ObjectType } from "type-graphql";
import type { PresentedRequest, RequestingApp } from "../../domain/oauth2/consent.js";
import { RedirectKind } from "../../domain/oauth2/redirect-uris.js";
import type { DescribedScope } from "../../domain/oauth2/requested-scopes.js";
import { enumType } from "../engine/declarations.js";

enumType({ OAuth2RedirectKind: RedirectKind }, "Where a redirect URI leads.", {
  WEB: "A website.",
  LOOPBACK: "A program that listens on the machine of the user. Any program there can pose as it.",
  PRIVATE_SCHEME: "A program that the machine of the user starts for the scheme. Other programs can claim the scheme.",
});

@ObjectType("OAuth2RequestingApp", {
  simpleResolvers: true,
  description: "An application that requests access, as its users see it.",
})
export class RequestingAppType implements RequestingApp {
  @Field({ description: "Its `client_id`: an ID, or the URL of its metadata document." })
  clientId!: string;
  @Field({ description: "Its name. It chose the name itself unless it is verified." }) name!: string;
  @Field({ description: "Whether an administrator added it. Others registered themselves." })
  isVerified!: boolean;
  @Field(() => String, { nullable: true, description: "Host of its `client_id`, if that is a URL." })
  host!: string | null;
}

@ObjectType("OAuth2RequestedScope", { simpleResolvers: true, description: "A scope that an application requests." })
export class RequestedScopeType implements DescribedScope {
  @Field({ description: "Name of the scope." }) name!: string;
  @Field({ description: "The permission that it gives, in a sentence." }) description!: string;
}

/** The parts of requests for access that are presented to users. */
@ObjectType({ simpleResolvers: true })
export abstract class PresentedRequestType implements PresentedRequest {
  @Field(() => RequestingAppType, { description: "The application." }) app!: RequestingApp;
  @Field(() => [RequestedScopeType], {
    description: "The requested scopes, without those that others of them include.",
  })
  scopes!: DescribedScope[];
  @Field(() => [RequestedScopeType], {
    description: "Scopes that it asks for and does not get, because they are beyond what it may have.",
  })
  refusedScopes!: DescribedScope[];
  @Field({ description: "Whether it requests full access to the account: the scope `all`." })
  isUnrestricted!: boolean;
  @Field(() => [String], { description: "Resources that access is requested for; empty for the whole of this server." })
  audiences!: string[];
}
