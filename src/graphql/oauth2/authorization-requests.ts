import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import {
  approveAuthorization,
  AuthorizationParameters,
  type AuthorizationRequest,
  denyAuthorization,
  readAuthorizationRequest,
} from "../../domain/oauth2/authorization-requests.js";
import { RedirectKind, type RedirectTarget } from "../../domain/oauth2/redirect-uris.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { PresentedRequestType } from "./consent.js";

const requestInput = inputType("OAuth2AuthorizationRequestInput", AuthorizationParameters, {
  description: "The parameters of an authorization request.",
});
const approveInput = inputType("ApproveOAuth2AuthorizationInput", AuthorizationParameters, {
  description: "The parameters of an authorization request that the caller allows.",
});
const denyInput = inputType("DenyOAuth2AuthorizationInput", AuthorizationParameters, {
  description: "The parameters of an authorization request that the caller denies.",
});

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
