import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { ClientCredentials } from "../../domain/oauth2/client-authentication.js";
import { AuthMethod } from "../../domain/oauth2/clients.js";
import { type StartedDevice, startOAuth2Device, StartOAuth2Device } from "../../domain/oauth2/device-codes.js";
import { IssueOAuth2Token } from "../../domain/oauth2/exchange.js";
import {
  introspectOAuth2Token,
  type OAuth2Introspection,
  IntrospectOAuth2Token,
} from "../../domain/oauth2/introspection.js";
import { revokeOAuth2Token, RevokeOAuth2Token } from "../../domain/oauth2/revocation.js";
import { issueOAuth2Token } from "../../domain/oauth2/tokens.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { BigInt, DateTime, Url } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";

enumType({ OAuth2AuthMethod: AuthMethod }, "How an application authenticates (RFC 7591 section 2).", {
  CLIENT_SECRET_BASIC: "With its secret in the header `Authorization: Basic`.",
  CLIENT_SECRET_POST: "With its secret among the parameters.",
  NONE: "Not at all: it is public.",
});

const IssueOAuth2TokenInput = inputType("IssueOAuth2TokenInput", IssueOAuth2Token, {
  description: "Input of `issueOAuth2Token`: the parameters of a token request (RFC 6749, RFC 8628).",
});

const RevokeOAuth2TokenInput = inputType("RevokeOAuth2TokenInput", RevokeOAuth2Token, {
  description: "Input of `revokeOAuth2Token` (RFC 7009).",
});

const OAuth2IntrospectionInput = inputType("OAuth2IntrospectionInput", IntrospectOAuth2Token, {
  description: "A token to introspect, and the application that requests it (RFC 7662).",
});

const StartOAuth2DeviceInput = inputType("StartOAuth2DeviceInput", StartOAuth2Device, {
  description: "Input of `startOAuth2Device`: a device authorization request (RFC 8628).",
});

@ObjectType("OAuth2Introspection", {
  simpleResolvers: true,
  description: "State of a token (RFC 7662). Fields other than `active` are null if it is not active.",
})
class OAuth2IntrospectionType implements OAuth2Introspection {
  @Field({ description: "Whether the token can be used, and the application may know about it." })
  active!: boolean;
  @Field({ nullable: true, description: "Scopes, separated by spaces." }) scope?: string;
  @Field({ nullable: true, description: "The `client_id` of the application of the token." })
  clientId?: string;
  @Field({ nullable: true, description: "Username of the user that the token acts as." })
  username?: string;
  @Field({ nullable: true, description: "ID of the user that the token acts as." }) sub?: string;
  @Field(() => [String], { nullable: true, description: "URIs of the resources that the token is for." })
  aud?: string[];
  @Field({ nullable: true, description: "Issuer: the URL of this server." }) iss?: string;
  @Field(() => BigInt, { nullable: true, description: "When the token was issued, in seconds since 1970." })
  iat?: number;
  @Field(() => BigInt, { nullable: true, description: "When the token expires, in seconds since 1970." })
  exp?: number;
  @Field(() => String, { nullable: true, description: "`Bearer` for access tokens; null for refresh tokens." })
  tokenType?: "Bearer";
}

const access: AccessOptions = {
  open: true,
  tries: { secrets: "tokens", accountOf: ({ input }: { input: ClientCredentials }) => input.clientId },
};

@Resolver()
export class OAuth2TokensResolver {
  @Mutates(
    "Issues tokens to an OAuth2 application for a code, a refresh token, a device code, or its own service account. Failures of the protocol have their error code in `extensions.oauthError`.",
    {
      accessToken: { type: () => String, description: "Access token." },
      tokenType: { type: () => String, description: "Type of the access token: `Bearer`." },
      expiresIn: { type: () => Int, description: "Seconds until the access token expires." },
      expiry: { type: () => DateTime, description: "When the access token expires." },
      refreshToken: {
        type: () => String,
        nullable: true,
        description: "Refresh token, to be used once; null if the application cannot refresh.",
      },
      scope: { type: () => String, description: "Scopes of the access token, separated by spaces." },
    },
    "Tokens for an application. They cannot be read again.",
  )
  @Access({ open: true, tries: { ...access.tries!, countsOnlyFailures: true } })
  async issueOAuth2Token(
    @Arg("input", () => IssueOAuth2TokenInput, { description: "The application, and what it presents." })
    input: IssueOAuth2Token,
    @Ctx() ctx: Context,
  ) {
    return { tokenType: "Bearer", ...(await issueOAuth2Token(ctx, input)) };
  }

  @Mutates(
    "Ends the access that a token belongs to, with all of its tokens. Tokens that are unknown or of other applications are ignored.",
    {
      revoked: { type: () => Boolean, description: "Always true: tokens that cannot be used need no revocation." },
    },
  )
  @Access(access)
  async revokeOAuth2Token(
    @Arg("input", () => RevokeOAuth2TokenInput, { description: "The application and its token." })
    input: RevokeOAuth2Token,
    @Ctx() ctx: Context,
  ) {
    return { revoked: await revokeOAuth2Token(ctx, input) };
  }

  @Mutates(
    "Starts the authorization of a device that has no browser. Its user approves it on another one.",
    {
      deviceCode: { type: () => String, description: "Code with which the device requests tokens." },
      userCode: { type: () => String, description: "Code that the user enters: four letters, a dash, four letters." },
      verificationUri: { type: () => Url, description: "URL of the page on which the user enters the code." },
      verificationUriComplete: { type: () => Url, description: "The same URL with the code." },
      expiresIn: { type: () => Int, description: "Seconds until the codes expire." },
      interval: { type: () => Int, description: "Seconds that the device must wait between requests." },
    },
    "Codes for a device and its user (RFC 8628).",
  )
  @Access(access)
  startOAuth2Device(
    @Arg("input", () => StartOAuth2DeviceInput, { description: "The application, and the access that it requests." })
    input: StartOAuth2Device,
    @Ctx() ctx: Context,
  ): Promise<StartedDevice> {
    return startOAuth2Device(ctx, input);
  }

  @Query(() => OAuth2IntrospectionType, {
    nullable: true,
    description:
      "Returns the state of a token that was issued to the application, or is for a resource that the application serves. All other tokens are not active.",
  })
  @Access({ open: true })
  oauth2Introspection(
    @Arg("input", () => OAuth2IntrospectionInput, { description: "The application and the token." })
    input: IntrospectOAuth2Token,
    @Ctx() ctx: Context,
  ): Promise<OAuth2Introspection> {
    return introspectOAuth2Token(ctx, input);
  }
}
