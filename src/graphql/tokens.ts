import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { logout, revokeSessions } from "../domain/tokens/tokens.js";
import {
  type ApiKeyRow,
  apiKeysByIds,
  type CreateApiKey,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  type UpdateApiKey,
  updateApiKey,
} from "../domain/tokens/keys.js";
import { TokenKind } from "../domain/tokens/text.js";
import { usersById } from "../domain/users/users.js";
import { AnyScope, Covers, Needs, OpenTo, ReadWith } from "./engine/access.js";
import { DateTime } from "./engine/scalars.js";
import { PublicUserType } from "./users/users.js";

registerEnumType(TokenKind, {
  name: "ApiKeyKind",
  description: "What a key is for.",
  valuesConfig: {
    SESSION: { description: "Somebody who signed in; slides along while it is used." },
    TOKEN: { description: "An API token that its user made." },
    OAUTH: { description: "An access token of an OAuth2 application." },
    APPLICATION: { description: "A visit to an application of a workspace." },
  },
});

@ReadWith("api_key:read", "id", "name")
@ObjectType("ApiKey", { simpleResolvers: true, description: "A session or key of a user. Its secret is never shown." })
export class ApiKeyType implements Omit<ApiKeyRow, "userId"> {
  @Field(() => String, { description: "Unique id: the public part of the token." }) id!: string;
  @Field(() => TokenKind, { description: "What it is for." }) kind!: TokenKind;
  @Field(() => String, { description: "What its user calls it; empty for all but API tokens." }) name!: string;
  @Field(() => [String], { description: "What it may be used for; `all` does not narrow." }) scopes!: string[];
  @Field(() => String, { nullable: true, description: "The resource an OAuth2 token is for." }) audience!:
    | string
    | null;
  @Field(() => DateTime, { description: "When it was made." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it was last used, up to 5 minutes late." })
  lastUsedAt!: string | null;
  @Field(() => DateTime, { description: "When it ends." }) expiresAt!: string;
  @Field(() => String, { nullable: true, description: "The address it was made from." }) ip!: string | null;
  @Field(() => String, { nullable: true, description: "The program it was made with." }) userAgent!: string | null;
}

@InputType({ description: "An API token to be made." })
export class CreateApiKeyInput implements CreateApiKey {
  @Field(() => String, { nullable: true, description: "Required. 1 to 64 characters, unique among the user's tokens." })
  name?: string;
  @Field(() => [String], { nullable: true, description: "What it may be used for. Left out: `all`." })
  scopes?: string[];
  @Field(() => DateTime, { nullable: true, description: "When it ends. Left out: after the default lifetime." })
  expiresAt?: string;
  @Field(() => String, { nullable: true, description: "A service account by id or username. Left out: the caller." })
  user?: string;
}

@InputType({ description: "A change of an API token." })
export class UpdateApiKeyInput implements UpdateApiKey {
  @Field(() => String, { description: "Its id." }) id!: string;
  @Field(() => String, { nullable: true, description: "Required. 1 to 64 characters, unique among the user's tokens." })
  name?: string;
}

@InputType({ description: "A session or key to be ended." })
export class RevokeApiKeyInput {
  @Field(() => String, { description: "Its id." }) id!: string;
}

/** The payload of mutations of one key: it is read in the transaction of the verb. */
interface KeyPayload {
  keyId: string;
}

@ObjectType({ description: "A new API token." })
export class CreateApiKeyPayload {
  @Field(() => String, { description: "The text of the token. It is shown this once.", simple: true }) token!: string;

  @Covers()
  @Field(() => ApiKeyType, { description: "The token without its secret." })
  apiKey(@Root() { keyId }: KeyPayload, @Ctx() ctx: Context) {
    return ctx.load(apiKeysByIds, keyId);
  }
}

@ObjectType({ description: "A changed API token." })
export class UpdateApiKeyPayload {
  @Field(() => ApiKeyType, { description: "The token as it is now." })
  apiKey(@Root() { keyId }: KeyPayload, @Ctx() ctx: Context) {
    return ctx.load(apiKeysByIds, keyId);
  }
}

@ObjectType({ simpleResolvers: true, description: "An ended session or key." })
export class RevokeApiKeyPayload {
  @Field(() => ApiKeyType, { description: "What it was." }) apiKey!: ApiKeyRow;
}

@ObjectType({ simpleResolvers: true, description: "Ended sessions." })
export class RevokeSessionsPayload {
  @Field(() => Int, { description: "How many there were." }) revokedCount!: number;
}

@ObjectType({ simpleResolvers: true, description: "An ended credential." })
export class LogoutPayload {
  @Field(() => String, { description: "The id of the session or key that was used." }) apiKeyId!: string;
}

@Resolver(() => ApiKeyType)
export class TokensResolver {
  @FieldResolver(() => PublicUserType, { description: "Whose it is." })
  user(@Root() { userId }: ApiKeyRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }

  @Query(() => [ApiKeyType], {
    description: "Sessions and keys of a user, newest first. Those that ended stay in the list for a week.",
  })
  @Needs("api_key:read")
  apiKeys(
    @Arg("user", () => String, { defaultValue: "me", description: "Id, username or `me`." }) user: string,
    @Arg("kind", () => TokenKind, { nullable: true, description: "Only those of this kind." }) kind: TokenKind | null,
    @Ctx() ctx: Context,
  ) {
    return listApiKeys(ctx, user, kind);
  }

  @Mutation(() => CreateApiKeyPayload, {
    description:
      "Makes an API token. Through a credential with scopes it gets at most the scopes and the remaining life of that one.",
  })
  @Needs("api_key:create")
  @OpenTo("session", "token")
  async createApiKey(
    @Arg("input", () => CreateApiKeyInput, { description: "The token." }) input: CreateApiKeyInput,
    @Ctx() ctx: Context,
  ) {
    const { id, token } = await createApiKey(ctx, input);
    return { keyId: id, token };
  }

  @Mutation(() => UpdateApiKeyPayload, { description: "Gives an API token another name." })
  @Needs("api_key:update")
  async updateApiKey(
    @Arg("input", () => UpdateApiKeyInput, { description: "The change." }) input: UpdateApiKeyInput,
    @Ctx() ctx: Context,
  ) {
    return { keyId: await updateApiKey(ctx, input) };
  }

  @Mutation(() => RevokeApiKeyPayload, { description: "Ends a session or key at once." })
  @Needs("api_key:delete")
  async revokeApiKey(
    @Arg("input", () => RevokeApiKeyInput, { description: "Which one." }) { id }: RevokeApiKeyInput,
    @Ctx() ctx: Context,
  ) {
    return { apiKey: await revokeApiKey(ctx, id) };
  }

  @Mutation(() => RevokeSessionsPayload, {
    description: "Ends all sessions of the caller but the one in use, which must be a session.",
  })
  @Needs("api_key:delete")
  @OpenTo("session")
  async revokeSessions(@Ctx() ctx: Context) {
    return { revokedCount: await revokeSessions(ctx) };
  }

  @AnyScope()
  @Mutation(() => LogoutPayload, { description: "Ends the credential in use, whatever its scopes." })
  async logout(@Ctx() ctx: Context) {
    return { apiKeyId: await logout(ctx) };
  }
}
