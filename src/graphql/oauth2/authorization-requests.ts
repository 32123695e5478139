import { Arg, type ClassType, Ctx, Field, InputType, ObjectType, Query, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import {
  approveAuthorization,
  type AuthorizationParameters,
  type AuthorizationRequest,
  denyAuthorization,
  readAuthorizationRequest,
} from "../../domain/oauth2/authorization-requests.js";
import { RedirectKind, type RedirectTarget } from "../../domain/oauth2/redirect-uris.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { PresentedRequestType } from "./consent.js";

/** Declares an input type with the parameters of an authorization request. */
function parametersOf(name: string, description: string): ClassType<AuthorizationParameters> {
  @InputType(name, { description })
  class Parameters implements AuthorizationParameters {
    @Field({
      nullable: true,
      description: "Required: `code`; implicit grants (`token`) are not supported.",
    })
    responseType?: string;
    @Field({
      description: "The application: its ID, or the URL of its metadata document.",
    })
    clientId!: string;
    @Field({
      nullable: true,
      description: "A registered redirect URI; optional if there is only one. The port of loopback addresses is free.",
    })
    redirectUri?: string;
    @Field({
      nullable: true,
      description: "Scopes, separated by spaces. Default: those that the application registered.",
    })
    scope?: string;
    @Field({
      nullable: true,
      description: "A random text that is returned unchanged, at most 4096 bytes. Required without `codeChallenge`.",
    })
    state?: string;
    @Field({
      nullable: true,
      description: "SHA-256 of the code verifier in base64url (RFC 7636). Required for most applications.",
    })
    codeChallenge?: string;
    @Field({ nullable: true, description: "`S256`. Required with `codeChallenge`." })
    codeChallengeMethod?: string;
    @Field(() => [String], {
      nullable: true,
      description:
        "URIs of the resources that access is for (RFC 8707), at most 16. Default: the default resource of the application or of the deployment, else the whole of this server.",
    })
    resource?: string[];
    @Field({ nullable: true, description: "`query`, which is the default." })
    responseMode?: string;
    @Field({ nullable: true, description: "Request objects (RFC 9101) are not supported." })
    request?: string;
    @Field({ nullable: true, description: "References to request objects are not supported." })
    requestUri?: string;
    @Field(() => [String], {
      nullable: true,
      description:
        "Names of protocol parameters, other than `resource`, that were sent more than once; the request then fails. For REST requests, the server sets this field.",
    })
    repeatedParameters?: string[];
  }
  return Parameters;
}

const requestInput = parametersOf("OAuth2AuthorizationRequestInput", "The parameters of an authorization request.");
const approveInput = parametersOf(
  "ApproveOAuth2AuthorizationInput",
  "The parameters of an authorization request that the caller allows.",
);
const denyInput = parametersOf(
  "DenyOAuth2AuthorizationInput",
  "The parameters of an authorization request that the caller denies.",
);

@ObjectType("OAuth2RedirectTarget", {
  simpleResolvers: true,
  description: "The site or program that gets the result of an authorization request.",
})
export class RedirectTargetType implements RedirectTarget {
  @Field(() => RedirectKind, { description: "Kind of the target." }) kind!: RedirectKind;
  @Field({ description: "Host, with a port unless that is the default; the scheme of a private one." })
  name!: string;
}

@ObjectType("OAuth2AuthorizationRequest", {
  simpleResolvers: true,
  description: "A valid authorization request, for the user who decides on it.",
})
export class AuthorizationRequestType extends PresentedRequestType implements AuthorizationRequest {
  @Field({ description: "The URI that the user is redirected to with the result." }) redirectUri!: string;
  @Field(() => RedirectTargetType, { description: "The kind of program that the URI leads to." })
  redirectTarget!: RedirectTarget;
}

/** The payload of decisions on an authorization request. */
const decision = {
  redirectUri: { type: () => String, description: "Where to redirect the user: the redirect URI with the result." },
};

const denial = {
  appName: { type: () => String, description: "Name of the application." },
  redirectUri: {
    type: () => String,
    nullable: true,
    description:
      "Where to redirect the user: the redirect URI with the error. Null if it has a private scheme and the application neither is of an administrator nor has a grant of the caller: then nothing is sent to it.",
  },
};

const access: AccessOptions = {
  needs: ["all"],
  openTo: ["session", "token"],
  // By user: many of them, at one address, use an application.
  tries: { secrets: "tokens", accountOf: (_, actor) => userIdOf(actor) },
};

const failures =
  "Failures have the extension `oauthError`. If the application is to be notified by a redirect, they have `redirectUri`: for an application of an administrator, or one with a grant of the caller. Takes a session or an API token with all scopes.";

@Resolver()
export class OAuth2AuthorizationResolver {
  @Query(() => AuthorizationRequestType, {
    nullable: true,
    description: `Checks an authorization request of an application, and returns what to show to the user. ${failures}`,
  })
  @Access(access)
  oauth2AuthorizationRequest(
    @Arg("input", () => requestInput, { description: "The parameters." })
    input: AuthorizationParameters,
    @Ctx() ctx: Context,
  ): Promise<AuthorizationRequest> {
    return readAuthorizationRequest(ctx, input);
  }

  @Mutates(
    `Grants an application the access that it requests, in the name of the caller. ${failures}`,
    decision,
    "An allowed request; `redirectUri` contains an authorization code.",
  )
  @Access(access)
  async approveOAuth2Authorization(
    @Arg("input", () => approveInput, { description: "The parameters of the request." })
    input: AuthorizationParameters,
    @Ctx() ctx: Context,
  ) {
    return { redirectUri: await approveAuthorization(ctx, input) };
  }

  @Mutates(`Denies an application the access that it requests. ${failures}`, denial, "A denied request.")
  @Access(access)
  async denyOAuth2Authorization(
    @Arg("input", () => denyInput, { description: "The parameters of the request." })
    input: AuthorizationParameters,
    @Ctx() ctx: Context,
  ) {
    return denyAuthorization(ctx, input);
  }
}
