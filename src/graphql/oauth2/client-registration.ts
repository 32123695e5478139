import { Arg, Args, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import {
  type ClientConfiguration,
  deleteOAuth2Client,
  readOAuth2Client,
  registerOAuth2Client,
  RegistrationReference,
  updateOAuth2Client,
  UpdateOAuth2Client,
} from "../../domain/oauth2/client-registration.js";
import { ClientMetadata, metadataTexts as texts } from "../../domain/oauth2/client-metadata.js";
import type { AuthMethod } from "../../domain/oauth2/clients.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { BigInt, JSONObject, Url, UUID } from "../engine/scalars.js";

const optional = { nullable: true } as const;

export const RegisterOAuth2ClientInput = inputType("RegisterOAuth2ClientInput", ClientMetadata, {
  description: "Input of `registerOAuth2Client` (RFC 7591 §2). Empty values count as absent.",
});

export const UpdateOAuth2ClientInput = inputType("UpdateOAuth2ClientInput", UpdateOAuth2Client, {
  description:
    "Input of `updateOAuth2Client`. It replaces all metadata: fields that are omitted, null, or empty take their defaults.",
});

export const DeleteOAuth2ClientInput = inputType("DeleteOAuth2ClientInput", RegistrationReference);

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

const RegistrationArgs = argumentsOf(RegistrationReference);

@Resolver()
export class OAuth2RegistrationResolver {
  @Access({
    open: true,
    tries: { secrets: "tokens", accountOf: ({ clientId }: RegistrationReference) => clientId },
  })
  @Query(() => OAuth2ClientConfigurationType, {
    nullable: true,
    description: "Returns the registration of an OAuth2 client to the holder of its registration access token.",
  })
  oauth2ClientConfiguration(
    @Args(() => RegistrationArgs) reference: RegistrationReference,
    @Ctx() ctx: Context,
  ): Promise<ClientConfiguration> {
    return readOAuth2Client(ctx, reference);
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
    @Arg("input", () => RegisterOAuth2ClientInput, { description: "The metadata of the client." })
    input: ClientMetadata,
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
    @Arg("input", () => UpdateOAuth2ClientInput, { description: "The client and its metadata." })
    input: UpdateOAuth2Client,
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
    @Arg("input", () => DeleteOAuth2ClientInput, { description: "The client." }) input: RegistrationReference,
    @Ctx() ctx: Context,
  ) {
    return { clientId: await deleteOAuth2Client(ctx, input) };
  }
}
