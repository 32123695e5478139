import { Arg, Ctx, Field, InputType, Int, ObjectType, Query, Resolver } from "type-graphql";
import {
  type ClientConfiguration,
  deleteOAuth2Client,
  readOAuth2Client,
  registerOAuth2Client,
  type RegistrationReference,
  updateOAuth2Client,
  type UpdateOAuth2Client,
} from "../../domain/oauth2/client-registration.js";
import type { ClientMetadata } from "../../domain/oauth2/client-metadata.js";
import type { AuthMethod } from "../../domain/oauth2/clients.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { BigInt, JSONObject, Url, UUID } from "../engine/scalars.js";

const texts = {
  clientId: "ID of the client.",
  registrationAccessToken: "The registration access token of the client.",
  redirectUris:
    "Redirect URIs, at most 32: https, http with a loopback host, or a scheme of the client's own: with a dot, or with a host, as in `example://host/path`.",
  tokenEndpointAuthMethod:
    "How the client authenticates: `client_secret_basic`, `client_secret_post`, or `none` for public clients.",
  grantTypes: "Grant types: `authorization_code`, `refresh_token`, or `urn:ietf:params:oauth:grant-type:device_code`.",
  responseTypes: "Response types; only `code` is supported.",
  clientName: "Name that the consent page shows, cut to 64 characters.",
  clientUri: "URL of the home page.",
  logoUri: "URL of the logo, which is never loaded.",
  tosUri: "URL of the terms of service.",
  policyUri: "URL of the privacy policy.",
  jwksUri: "URL of the public keys. It is stored but not used.",
  scope: "Scopes of requests that name none, separated by spaces. Unknown ones are dropped.",
  contacts: "Contacts of the people responsible, at most 32.",
  jwks: "Public keys as a JWK Set of 16 KiB or less. They are stored but not used.",
  softwareId: "ID of the software, at most 255 characters.",
  softwareVersion: "Version of the software, at most 255 characters.",
  applicationType:
    "`web` or `native` (OpenID Connect Dynamic Client Registration 1.0). It is stored, and restricts nothing.",
};

const optional = { nullable: true } as const;

@InputType({ description: "Input of `registerOAuth2Client` (RFC 7591 §2). Empty values count as absent." })
export class RegisterOAuth2ClientInput implements ClientMetadata {
  @Field(() => [String], {
    ...optional,
    description: `${texts.redirectUris} Required for the grant type \`authorization_code\`.`,
  })
  redirectUris?: string[] | null;
  @Field(() => String, {
    ...optional,
    description: `${texts.tokenEndpointAuthMethod} Default: the first, but the others that use the secret are accepted, too.`,
  })
  tokenEndpointAuthMethod?: string | null;
  @Field(() => [String], { ...optional, description: `${texts.grantTypes} Default: the first two.` })
  grantTypes?: string[] | null;
  @Field(() => [String], { ...optional, description: texts.responseTypes }) responseTypes?: string[] | null;
  @Field(() => String, {
    ...optional,
    description: `${texts.clientName} Default: the host of the home page or of the first redirect URI.`,
  })
  clientName?: string | null;
  @Field(() => String, { ...optional, description: texts.clientUri }) clientUri?: string | null;
  @Field(() => String, { ...optional, description: texts.logoUri }) logoUri?: string | null;
  @Field(() => String, { ...optional, description: texts.tosUri }) tosUri?: string | null;
  @Field(() => String, { ...optional, description: texts.policyUri }) policyUri?: string | null;
  @Field(() => String, { ...optional, description: texts.jwksUri }) jwksUri?: string | null;
  @Field(() => String, { ...optional, description: `${texts.scope} Default: those for all clients.` })
  scope?: string | null;
  @Field(() => [String], { ...optional, description: texts.contacts }) contacts?: string[] | null;
  @Field(() => JSONObject, { ...optional, description: texts.jwks }) jwks?: Record<string, unknown> | null;
  @Field(() => String, { ...optional, description: texts.softwareId }) softwareId?: string | null;
  @Field(() => String, { ...optional, description: texts.softwareVersion }) softwareVersion?: string | null;
  @Field(() => String, { ...optional, description: texts.applicationType })
  applicationType?: string | null;
  @Field(() => String, { ...optional, description: "A signed statement about the software. It is ignored." })
  softwareStatement?: string | null;
}

@InputType({
  description:
    "Input of `updateOAuth2Client`. It replaces all metadata: fields that are omitted, null, or empty take their defaults.",
})
export class UpdateOAuth2ClientInput extends RegisterOAuth2ClientInput implements UpdateOAuth2Client {
  @Field(() => UUID, { description: texts.clientId }) clientId!: string;
  @Access({ pasted: true })
  @Field(() => String, { ...optional, description: texts.registrationAccessToken })
  registrationAccessToken?: string | null;
  @Field(() => String, { ...optional, description: "The secret of the client. May be omitted, but must not be wrong." })
  clientSecret?: string | null;
}

@InputType({ description: "Input of `deleteOAuth2Client`." })
export class DeleteOAuth2ClientInput implements RegistrationReference {
  @Field(() => UUID, { description: texts.clientId }) clientId!: string;
  @Access({ pasted: true })
  @Field(() => String, { ...optional, description: texts.registrationAccessToken })
  registrationAccessToken?: string | null;
}

@ObjectType("OAuth2ClientConfiguration", {
  simpleResolvers: true,
  description: "The registration of an OAuth2 client that registered itself, with the values in effect.",
})
export class OAuth2ClientConfigurationType implements ClientConfiguration {
  @Field(() => UUID, { description: texts.clientId }) clientId!: string;
  @Field(() => BigInt, { description: "When the client registered, in seconds since 1970-01-01 UTC." })
  clientIdIssuedAt!: number;
  @Field(() => Int, { description: "Always 0: the secret does not expire." }) clientSecretExpiresAt!: number;
  @Field({
    description:
      "Token that reads, updates, and deletes the registration. After an update, a new one; the old one is valid until the new one is used.",
  })
  registrationAccessToken!: string;
  @Field(() => Url, { description: "URL of the registration in the REST interface." }) registrationClientUri!: string;
  @Field(() => [String], { description: texts.redirectUris }) redirectUris!: string[];
  @Field(() => String, { description: texts.tokenEndpointAuthMethod }) tokenEndpointAuthMethod!: AuthMethod;
  @Field(() => [String], { description: texts.grantTypes }) grantTypes!: string[];
  @Field(() => [String], { description: texts.responseTypes }) responseTypes!: string[];
  @Field({ description: texts.clientName }) clientName!: string;
  @Field(() => String, { ...optional, description: texts.clientUri }) clientUri?: string | null;
  @Field(() => String, { ...optional, description: texts.logoUri }) logoUri?: string | null;
  @Field(() => String, { ...optional, description: texts.tosUri }) tosUri?: string | null;
  @Field(() => String, { ...optional, description: texts.policyUri }) policyUri?: string | null;
  @Field(() => String, { ...optional, description: texts.jwksUri }) jwksUri?: string | null;
  @Field({ description: texts.scope }) scope!: string;
  @Field(() => [String], { ...optional, description: texts.contacts }) contacts?: string[] | null;
  @Field(() => JSONObject, { ...optional, description: texts.jwks }) jwks?: Record<string, unknown> | null;
  @Field(() => String, { ...optional, description: texts.softwareId }) softwareId?: string | null;
  @Field(() => String, { ...optional, description: texts.softwareVersion }) softwareVersion?: string | null;
  @Field(() => String, { ...optional, description: texts.applicationType }) applicationType?: string | null;
}

@Resolver()
export class OAuth2RegistrationResolver {
  @Access({
    open: true,
    tries: { secrets: "tokens", accountOf: ({ clientId }: RegistrationReference) => clientId },
    pastedArguments: ["registrationAccessToken"],
  })
  @Query(() => OAuth2ClientConfigurationType, {
    nullable: true,
    description: "Returns the registration of an OAuth2 client to the holder of its registration access token.",
  })
  oauth2ClientConfiguration(
    @Arg("clientId", () => UUID, { description: texts.clientId }) clientId: string,
    @Arg("registrationAccessToken", () => String, { ...optional, description: texts.registrationAccessToken })
    registrationAccessToken: string | null,
    @Ctx() ctx: Context,
  ): Promise<ClientConfiguration> {
    return readOAuth2Client(ctx, { clientId, registrationAccessToken });
  }

  @Access({ open: true, tries: { secrets: "tokens", accountOf: () => "registration" } })
  @Mutates("Registers an OAuth2 client at its own request (RFC 7591). Users see that it is not verified.", {
    client: { type: () => OAuth2ClientConfigurationType, description: "The registration." },
    clientSecret: {
      type: () => String,
      ...optional,
      description: "Secret of the client, returned only once; null if it is public.",
    },
  })
  registerOAuth2Client(
    @Arg("input", { description: "The metadata of the client." })
    input: RegisterOAuth2ClientInput,
    @Ctx() ctx: Context,
  ) {
    return registerOAuth2Client(ctx, input);
  }

  @Access({
    open: true,
    tries: { secrets: "tokens", accountOf: ({ input }: { input: RegistrationReference }) => input.clientId },
  })
  @Mutates("Replaces the metadata of an OAuth2 client, for the holder of its registration access token (RFC 7592).", {
    client: { type: () => OAuth2ClientConfigurationType, description: "The registration after the change." },
  })
  async updateOAuth2Client(
    @Arg("input", { description: "The client and its metadata." })
    input: UpdateOAuth2ClientInput,
    @Ctx() ctx: Context,
  ) {
    return { client: await updateOAuth2Client(ctx, input) };
  }

  @Access({
    open: true,
    tries: { secrets: "tokens", accountOf: ({ input }: { input: RegistrationReference }) => input.clientId },
  })
  @Mutates(
    "Deletes an OAuth2 client with its grants and tokens, for the holder of its registration access token (RFC 7592).",
    {
      clientId: { type: () => UUID, description: "ID of the deleted client." },
    },
  )
  async deleteOAuth2Client(
    @Arg("input", { description: "The client." }) input: DeleteOAuth2ClientInput,
    @Ctx() ctx: Context,
  ) {
    return { clientId: await deleteOAuth2Client(ctx, input) };
  }
}
