import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  linkUserIdentity,
  LinkUserIdentity,
  listUserIdentities,
  unlinkUserIdentity,
  UnlinkUserIdentity,
  type UserIdentity,
} from "../../domain/sign-in/user-identities.js";
import { usersById } from "../../domain/users/users.js";
import { ProviderKind } from "../../infrastructure/identity-providers.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";
import { UserType } from "../users/users.js";

@Access({ readWith: "user:read_personal" })
@ObjectType("UserIdentity", {
  simpleResolvers: true,
  description: "An identity at an identity provider, by which a user signs in.",
})
class UserIdentityType implements UserIdentity {
  @Field(() => ProviderKind, { description: "The kind of the provider." }) provider!: ProviderKind;
  @Field({ description: "Name of the provider, as in the path of its sign-in." }) providerName!: string;
  @Field({ description: "Issuer of the identity, or the site of GitHub." }) issuer!: string;
  @Field({ description: "Permanent ID of the user at the issuer." }) subject!: string;
  @Field({ description: "Claim of ID tokens that has this ID; `sub` for GitHub as well." }) claim!: string;
  @Field(() => DateTime, { description: "When the identity was linked." }) createdAt!: string;
}

const UnlinkUserIdentityInput = inputType("UnlinkUserIdentityInput", UnlinkUserIdentity);

const LinkUserIdentityInput = inputType("LinkUserIdentityInput", LinkUserIdentity);

const changedUser = { user: { type: () => UserType, description: "The user after the change." } };

/** The payload of a mutation that changes a user, who is read if selected. */
const readChangedUser = (ctx: Context, id: string) => ({ user: () => ctx.load(usersById, id) });

@Resolver()
export class IdentitiesResolver {
  @Access({ needs: ["user:read_personal"] })
  @Query(() => [UserIdentityType], {
    description: "Lists the identities by which a user signs in, at most one of each provider.",
  })
  userIdentities(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserIdentityType[]> {
    return listUserIdentities(ctx, user);
  }

  @Access({ needs: ["user:update"], openTo: ["session"] })
  @Mutates(
    "Unlinks identities of a user, and ends the user's other sessions. Users unlink their own as long as another one is left. After the last one, the next sign-in with the user's verified email address links another one. Requires a session.",
    changedUser,
  )
  async unlinkUserIdentity(
    @Arg("input", () => UnlinkUserIdentityInput, { description: "The user." }) input: UnlinkUserIdentity,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await unlinkUserIdentity(ctx, input));
  }

  @Access({ needs: ["user:update"], openTo: ["session"] })
  @Mutates(
    "Links a user to an identity at a provider, in place of the former one of that provider, whose sessions end. Requires a session.",
    changedUser,
  )
  async linkUserIdentity(
    @Arg("input", () => LinkUserIdentityInput, { description: "The user and the identity." }) input: LinkUserIdentity,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await linkUserIdentity(ctx, input));
  }
}
