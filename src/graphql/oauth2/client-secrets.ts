import { Arg, Ctx, Field, FieldResolver, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type ClientSecretRow,
  createClientSecret,
  deleteClientSecret,
  maskedSecret,
  secretsOfApp,
  CreateClientSecret,
  DeleteClientSecret,
} from "../../domain/oauth2/client-secrets.js";
import type { ClientRow } from "../../domain/oauth2/clients.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { OAuth2AppType } from "./apps.js";
import { inputType } from "../engine/inputs.js";

@Access({ readWith: "oauth2_app_secret:read", references: ["id"] })
@ObjectType("OAuth2AppSecret", {
  simpleResolvers: true,
  description: "A secret that an OAuth2 application authenticates with. Its text is returned only once.",
})
class OAuth2AppSecretType implements Omit<ClientSecretRow, "clientId" | "suffix"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When the secret was created." }) createdAt!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the application last used the secret, accurate to 5 minutes; null if never.",
  })
  lastUsedAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When the secret expires; null if never." })
  expiresAt!: string | null;
}

const CreateOAuth2AppSecretInput = inputType("CreateOAuth2AppSecretInput", CreateClientSecret);

const DeleteOAuth2AppSecretInput = inputType("DeleteOAuth2AppSecretInput", DeleteClientSecret);

@Resolver(() => OAuth2AppSecretType)
export class OAuth2AppSecretsResolver {
  @FieldResolver(() => String, { description: "`****` and the last 6 characters of the secret." })
  clientSecretTruncated(@Root() secret: ClientSecretRow): string {
    return maskedSecret(secret);
  }

  @Access({ needs: ["oauth2_app_secret:create"], openTo: ["session", "token"] })
  @Mutates("Creates a secret of a confidential OAuth2 application, of which it can have 10 at a time.", {
    oauth2AppSecret: { type: () => OAuth2AppSecretType, description: "The new secret.", covers: "everything" },
    clientSecretFull: { type: () => String, description: "Text of the secret. Returned only once." },
  })
  async createOAuth2AppSecret(
    @Arg("input", () => CreateOAuth2AppSecretInput, { description: "The new secret." })
    input: CreateClientSecret,
    @Ctx() ctx: Context,
  ) {
    const { secret, text } = await createClientSecret(ctx, input);
    return { oauth2AppSecret: secret, clientSecretFull: text };
  }

  @Access({ needs: ["oauth2_app_secret:delete"] })
  @Mutates(
    "Deletes a secret of an OAuth2 application, and ends the grants whose latest tokens the application got with it.",
    {
      oauth2AppSecret: { type: () => OAuth2AppSecretType, description: "The deleted secret." },
    },
  )
  async deleteOAuth2AppSecret(
    @Arg("input", () => DeleteOAuth2AppSecretInput, { description: "The secret to delete." })
    input: DeleteClientSecret,
    @Ctx() ctx: Context,
  ) {
    return { oauth2AppSecret: await deleteClientSecret(ctx, input) };
  }
}

@Resolver(() => OAuth2AppType)
export class SecretsOfOAuth2AppsResolver {
  @Access({ needs: ["oauth2_app_secret:read"], covers: "everything", countsAs: 10 })
  @FieldResolver(() => [OAuth2AppSecretType], {
    nullable: true,
    description: "The secrets of the application, oldest first. Null, with an error, for callers other than owners.",
  })
  secrets(@Root() app: ClientRow, @Ctx() ctx: Context): Promise<ClientSecretRow[]> {
    return secretsOfApp(ctx, app);
  }
}
