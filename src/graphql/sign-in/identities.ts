import { Arg, Ctx, Field, InputType, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type LinkUserIdentity,
  linkUserIdentity,
  listUserIdentities,
  unlinkUserIdentity,
  type UserIdentity,
} from "../../domain/sign-in/user-identities.js";
import { usersById } from "../../domain/users/users.js";
import { ProviderName } from "../../infrastructure/identity-providers.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime } from "../engine/scalars.js";
import { UserType } from "../users/users.js";

@Access({ readWith: "user:read_personal" })
@ObjectType("UserIdentity", {
  simpleResolvers: true,
  description: "An identity at an identity provider, by which a user signs in.",
})
class UserIdentityType implements UserIdentity {
  @Field(() => ProviderName, { description: "The kind of the provider." }) provider!: ProviderName;
  @Field({ description: "Issuer of the identity, or the site of GitHub." }) issuer!: string;
  @Field({ description: "Permanent ID of the user at the issuer." }) subject!: string;
  @Field({ description: "Claim of ID tokens that has this ID; `sub` for GitHub as well." }) claim!: string;
  @Field(() => DateTime, { description: "When the identity was linked." }) createdAt!: string;
}

@InputType({ description: "Input of `unlinkUserIdentity`." })
class UnlinkUserIdentityInput {
  @Field({ description: "The user: ID or username." }) user!: string;
}

@InputType({ description: "Input of `linkUserIdentity`." })
class LinkUserIdentityInput implements LinkUserIdentity {
  @Field({ description: "The user, who signs in through a provider: ID or username." }) user!: string;
  @Access({ pasted: true })
  @Field({
    description:
      "Permanent ID of the user at the provider, at most 255 characters: the value of the claim that `STEWARD_OIDC_SUBJECT_CLAIM` names, or the numeric ID of a user of GitHub.",
  })
  subject!: string;
  @Access({ pasted: true })
  @Field({
    nullable: true,
    description:
      "Issuer in the ID tokens of the user; a final slash does not matter. Default: the provider in the settings.",
  })
  issuer?: string;
}

const changedUser = { user: { type: () => UserType, description: "The user after the change." } };

/** The payload of a mutation that changes a user, who is read if selected. */
const changed = (ctx: Context, id: string) => ({ user: () => ctx.load(usersById, id) });

@Resolver()
export class IdentitiesResolver {
  @Access({ needs: ["user:read_personal"] })
  @Query(() => [UserIdentityType], {
    description: "Lists the identities by which a user signs in through a provider, at most one.",
  })
  userIdentities(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserIdentityType[]> {
    return listUserIdentities(ctx, user);
  }

  @Access({ needs: ["user:update"], openTo: ["session"] })
  @Mutates(
    "Unlinks the identity of a user, and ends the user's sessions. The next sign-in with the user's verified email address links another one. Requires a session.",
    changedUser,
  )
  async unlinkUserIdentity(
    @Arg("input", { description: "The user." }) input: UnlinkUserIdentityInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await unlinkUserIdentity(ctx, input));
  }

  @Access({ needs: ["user:update"], openTo: ["session"] })
  @Mutates(
    "Links a user to an identity at the user's provider, in place of the former one, whose sessions end. Requires a session.",
    changedUser,
  )
  async linkUserIdentity(
    @Arg("input", { description: "The user and the identity." }) input: LinkUserIdentityInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await linkUserIdentity(ctx, input));
  }
}
