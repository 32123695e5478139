import { Arg, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { logout, revokeSessions, SessionFactor } from "../domain/tokens/sessions.js";
import {
  type ApiKeyRow,
  apiKeysByIds,
  createApiKey,
  CreateApiKey,
  isCurrentKey,
  listApiKeys,
  revokeApiKey,
  RevokeApiKey,
  updateApiKey,
  UpdateApiKey,
} from "../domain/tokens/api-keys.js";
import { type LeftByKey, type Maker, makersByIds } from "../domain/tokens/key-makers.js";
import { TokenKind } from "../domain/tokens/token-text.js";
import { usersById } from "../domain/users/users.js";
import { Access } from "./engine/access.js";
import { Mutates, enumType } from "./engine/declarations.js";
import { DateTime } from "./engine/scalars.js";
import { inputType } from "./engine/inputs.js";
import { PublicUserType } from "./users/users.js";

enumType({ ApiKeyKind: TokenKind }, "Kind of an API key.", {
  SESSION: "A signed-in session. Its expiry moves forward while it is in use.",
  TOKEN: "An API token created by its user.",
  OAUTH: "An access token of an OAuth2 application.",
  APPLICATION: "Access to a workspace application.",
});

enumType({ SessionFactor }, "How the user of a session signed in.", {
  PASSWORD: "By the password alone.",
  AUTHENTICATOR: "By the password and a code of the authenticator.",
  RECOVERY_CODE: "By the password and a recovery code.",
  PASSKEY: "By a passkey.",
  PROVIDER: "Through a provider that checked a second factor, as its settings here accept it.",
});

@Access({ readWith: "api_key:read", references: ["id", "name"] })
@ObjectType("ApiKey", {
  simpleResolvers: true,
  description:
    "A credential of a user: a session, an API token, an OAuth2 access token, or an application key. Its secret is never returned.",
})
export class ApiKeyType implements Omit<ApiKeyRow, "userId" | "madeBy"> {
  @Field({ description: "Unique ID: the public part of the key." }) id!: string;
  @Field(() => TokenKind, { description: "Kind of the key." }) kind!: TokenKind;
  @Field({ description: "Name given by the user; empty unless the key is an API token." }) name!: string;
  @Field(() => [String], { description: "Scopes that the key is restricted to; `all` means unrestricted." })
  scopes!: string[];
  @Field(() => [String], {
    description:
      "Resources that an OAuth2 access token is issued for; empty for the whole of this server and other kinds.",
  })
  audiences!: string[];
  @Field(() => DateTime, { description: "When the key was created." }) createdAt!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the key was last used, accurate to 5 minutes; null if never.",
  })
  lastUsedAt!: string | null;
  @Field(() => DateTime, { description: "When the key expires." }) expiresAt!: string;
  @Field(() => String, { nullable: true, description: "IP address of the client that created the key." }) ip!:
    | string
    | null;
  @Field(() => String, { nullable: true, description: "User-Agent header of the client that created the key." })
  userAgent!: string | null;
  @Field(() => SessionFactor, {
    nullable: true,
    description:
      "How the user of a session signed in; null for other keys, if it is not known, and for a provider that reported no second factor.",
  })
  factor!: SessionFactor | null;
  @Field(() => String, {
    nullable: true,
    description: "Name of the provider at which a session began, if it did at one.",
  })
  provider!: string | null;
}

@Access({ readWith: "api_key:read", references: ["id", "name"] })
@ObjectType("ApiKeyMaker", {
  simpleResolvers: true,
  description: "The session or API token with which a key was made.",
})
export class ApiKeyMakerType implements Maker {
  @Field({ description: "ID of the key." }) id!: string;
  @Field(() => TokenKind, { nullable: true, description: "Kind of the key; null if it is no longer known." })
  kind!: TokenKind | null;
  @Field({ description: "Name of an API token; empty for sessions, and if it is no longer known." }) name!: string;
  @Field({ description: "Whether the key has been revoked or has expired." }) hasEnded!: boolean;
}

@Access({ readWith: "api_key:read" })
@ObjectType("LeftByApiKey", {
  simpleResolvers: true,
  description: "Something that was made with a revoked key and is still there, by the audit log.",
})
export class LeftByApiKeyType implements LeftByKey {
  @Field({ description: "Type of the object, as in the audit log: `scim_key`." }) resourceType!: string;
  @Field(() => String, { nullable: true, description: "ID of the object." }) resourceId!: string | null;
  @Field(() => String, { nullable: true, description: "Name of the object when it was made." }) label!: string | null;
  @Field(() => DateTime, { description: "When it was made, or got its latest secret." }) madeAt!: string;
}

export const CreateApiKeyInput = inputType("CreateApiKeyInput", CreateApiKey);

export const UpdateApiKeyInput = inputType("UpdateApiKeyInput", UpdateApiKey);

export const RevokeApiKeyInput = inputType("RevokeApiKeyInput", RevokeApiKey);

@Resolver(() => ApiKeyType)
export class TokensResolver {
  @FieldResolver(() => PublicUserType, { description: "Owner of the key." })
  user(@Root() { userId }: ApiKeyRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }

  @FieldResolver(() => ApiKeyMakerType, {
    nullable: true,
    description: "The key with which this one was made; null for sessions, and if it is not known.",
  })
  madeBy(@Root() { madeBy }: ApiKeyRow, @Ctx() ctx: Context) {
    return madeBy === null ? null : ctx.load(makersByIds, madeBy);
  }

  @FieldResolver(() => Boolean, { description: "Whether the request is authenticated with this key." })
  isCurrent(@Root() key: ApiKeyRow, @Ctx() ctx: Context): boolean {
    return isCurrentKey(ctx, key);
  }

  @Query(() => [ApiKeyType], {
    description: "Lists the API keys of a user, newest first, at most 1000. Expired keys stay in the list for a week.",
  })
  @Access({ needs: ["api_key:read"], openTo: ["session", "token"] })
  apiKeys(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Arg("kind", () => TokenKind, { nullable: true, description: "Returns only keys of this kind." })
    kind: TokenKind | null,
    @Ctx() ctx: Context,
  ) {
    return listApiKeys(ctx, user, kind);
  }

  @Mutates(
    "Creates an API token. If the caller's credential is restricted by scopes, the token gets at most its scopes and its remaining lifetime.",
    {
      token: { type: () => String, description: "The token, including its secret. Returned only once." },
      apiKey: { type: () => ApiKeyType, description: "The API key of the token.", covers: "everything" },
    },
  )
  @Access({ needs: ["api_key:create"], openTo: ["session", "token"] })
  async createApiKey(
    @Arg("input", () => CreateApiKeyInput, { description: "The new token." }) input: CreateApiKey,
    @Ctx() ctx: Context,
  ) {
    const { id, token } = await createApiKey(ctx, input);
    return { token, apiKey: () => ctx.load(apiKeysByIds, id) };
  }

  @Mutates("Renames an API token.", {
    apiKey: { type: () => ApiKeyType, description: "The renamed API token." },
  })
  @Access({ needs: ["api_key:update"], openTo: ["session", "token"] })
  async updateApiKey(
    @Arg("input", () => UpdateApiKeyInput, { description: "The change." }) input: UpdateApiKey,
    @Ctx() ctx: Context,
  ) {
    const id = await updateApiKey(ctx, input);
    return { apiKey: () => ctx.load(apiKeysByIds, id) };
  }

  @Mutates(
    "Revokes an API key immediately, by default with all keys and grants that were made with it if it is an API token.",
    {
      apiKey: { type: () => ApiKeyType, description: "The revoked API key." },
      endedKeyCount: { type: () => Int, description: "Number of other keys that ended, since they were made with it." },
      endedGrantCount: { type: () => Int, description: "Number of OAuth2 grants that ended." },
      left: {
        type: () => [LeftByApiKeyType],
        description:
          "Things that were made with it and are left, at most 100: keys of SCIM, provisioners and proxies, applications and their secrets, linked accounts, accounts, and what the caller may not end.",
      },
    },
  )
  @Access({ needs: ["api_key:delete"], openTo: ["session", "token"] })
  revokeApiKey(
    @Arg("input", () => RevokeApiKeyInput, { description: "The key to revoke." }) input: RevokeApiKey,
    @Ctx() ctx: Context,
  ) {
    return revokeApiKey(ctx, input);
  }

  @Mutates("Revokes all sessions of the caller except the one making the request. Requires a session.", {
    revokedCount: { type: () => Int, description: "Number of revoked sessions." },
  })
  @Access({ needs: ["api_key:delete"], openTo: ["session"] })
  async revokeSessions(@Ctx() ctx: Context) {
    return { revokedCount: await revokeSessions(ctx) };
  }

  @Access({ anyScope: true, changesPassword: true, addsFactor: true, openTo: ["session", "token", "application"] })
  @Mutates(
    "Revokes the credential that authenticates the request, whatever its scopes. OAuth2 applications revoke theirs with `revokeOAuth2Token`.",
    {
      apiKeyId: { type: () => String, description: "ID of the revoked API key." },
    },
  )
  async logout(@Ctx() ctx: Context) {
    return { apiKeyId: await logout(ctx) };
  }
}
