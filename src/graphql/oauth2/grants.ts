import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import { type ClientRow, clientsById } from "../../domain/oauth2/clients.js";
import {
  type GrantRow,
  grantsById,
  GrantsOfApp,
  GrantsQuery,
  listGrants,
  NamedGrant,
  revokeGrant,
  revokeOwnGrants,
  RevokeReason,
} from "../../domain/oauth2/grants.js";
import { describe } from "../../domain/oauth2/requested-scopes.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { connectionOf } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { OAuth2AppType } from "./apps.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

enumType({ OAuth2GrantRevokeReason: RevokeReason }, "Why a grant ended before its time.", {
  REVOKED: "The user, an administrator, or the application revoked it.",
  CODE_REPLAY: "An authorization code was used twice.",
  REFRESH_REUSE: "A spent refresh token was used again.",
  SECRET_DELETED: "The secret that the application used was deleted.",
  PASSWORD_RESET: "The password of the user was reset.",
  USER_SUSPENDED: "The user was suspended.",
  USER_DELETED: "The user was deleted.",
  SUPERSEDED: "The user granted the application access too often.",
});

@Access({ readWith: "oauth2_grant:read", references: ["id"] })
@ObjectType("OAuth2Grant", {
  simpleResolvers: true,
  description: "The access that a user granted to an OAuth2 application. Its tokens end with it.",
})
export class OAuth2GrantType implements Omit<GrantRow, "userId" | "clientId"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => [String], { description: "Scopes that the user granted." }) scopes!: string[];
  @Field(() => [String], {
    description: "Resources that the user granted access to (RFC 8707); empty for the whole of this server.",
  })
  audiences!: string[];
  @Field(() => String, { nullable: true, description: "IP address from which access was granted." }) ip!: string | null;
  @Field(() => DateTime, { description: "When access was granted." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the application last used the grant, accurate to 5 minutes." })
  lastUsedAt!: string;
  @Field(() => DateTime, { description: "When the grant expires." }) expiresAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When the grant was revoked; null if it was not." })
  revokedAt!: string | null;
  @Field(() => RevokeReason, { nullable: true, description: "Why the grant was revoked; null if it was not." })
  revokeReason!: RevokeReason | null;
}

const OAuth2GrantConnection = connectionOf("OAuth2Grant", () => OAuth2GrantType, { most: mostCounted });

const OAuth2GrantsArgs = argumentsOf(GrantsQuery);

const RevokeOAuth2GrantInput = inputType("RevokeOAuth2GrantInput", NamedGrant);

const RevokeOAuth2AppGrantsInput = inputType("RevokeOAuth2AppGrantsInput", GrantsOfApp);

@Resolver(() => OAuth2GrantType)
export class OAuth2GrantsResolver {
  @Access({ needs: ["oauth2_grant:read"] })
  @Query(() => OAuth2GrantConnection, {
    description:
      "Lists the grants that the caller may read, newest first: their own, or for owners and user admins, all.",
  })
  oauth2Grants(@Args(() => OAuth2GrantsArgs) args: GrantsQuery, @Ctx() ctx: Context): Promise<Page<GrantRow>> {
    return listGrants(ctx, args);
  }

  @FieldResolver(() => [String], {
    description:
      "The permissions that the scopes give, in sentences to the user. Scopes that another one includes are left out.",
  })
  permissions(@Root() { scopes }: GrantRow): string[] {
    return describe(scopes).map(({ description }) => description);
  }

  @FieldResolver(() => PublicUserType, { description: "User who granted access." })
  user(@Root() { userId }: GrantRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, userId);
  }

  @FieldResolver(() => OAuth2AppType, { description: "Application that has access." })
  app(@Root() { clientId }: GrantRow, @Ctx() ctx: Context): Promise<ClientRow> {
    return ctx.load(clientsById, clientId);
  }

  @Access({ needs: ["oauth2_grant:delete"], openTo: ["session", "token"] })
  @Mutates("Ends a grant and all of its tokens immediately.", {
    oauth2Grant: { type: () => OAuth2GrantType, description: "The grant, which has ended." },
  })
  async revokeOAuth2Grant(
    @Arg("input", () => RevokeOAuth2GrantInput, { description: "The grant to revoke." }) { id }: NamedGrant,
    @Ctx() ctx: Context,
  ) {
    const ended = await revokeGrant(ctx, id);
    return { oauth2Grant: () => ctx.load(grantsById, ended) };
  }

  @Access({ needs: ["oauth2_grant:delete"], openTo: ["session", "token"] })
  @Mutates(
    "Ends all grants of the caller for an OAuth2 application, and their tokens. Callers who may end the grants of its service account also end the tokens that it got with client credentials.",
    { revokedCount: { type: () => Int, description: "Number of revoked grants, and of tokens that have none." } },
  )
  async revokeOAuth2AppGrants(
    @Arg("input", () => RevokeOAuth2AppGrantsInput, { description: "The application." })
    { clientId }: GrantsOfApp,
    @Ctx() ctx: Context,
  ) {
    return { revokedCount: await revokeOwnGrants(ctx, clientId) };
  }
}
