import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { type ConversionStarted, type ConvertLogin, convertLogin } from "../../domain/sign-in/conversions.js";
import { ProviderName } from "../../domain/outside/identity-providers.js";
import { LoginType, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { DateTime } from "../engine/scalars.js";
import { UserType } from "../users/users.js";

enumType({ IdentityProviderType: ProviderName }, "A kind of identity provider.", {
  OIDC: "The OpenID Connect provider.",
  GITHUB: "GitHub.",
});

@InputType({ description: "A change of the caller's login to a provider." })
export class ConvertLoginInput implements ConvertLogin {
  @Field({ description: "The caller: ID, username, or `me`." }) user!: string;
  @Field(() => ProviderName, { description: "The provider." })
  toType!: ProviderName;
  @Field({ description: "The current password." })
  password!: string;
}

@ObjectType({ description: "A conversion that the provider has to confirm." })
export class ConvertLoginPayload implements Omit<ConversionStarted, "userId"> {
  @Field({
    description:
      "The value of `state` in `/login/<provider>?state=`, to be opened in a browser where the user is signed in. It cannot be read again.",
    simple: true,
  })
  stateString!: string;
  @Field(() => DateTime, { description: "When the conversion expires.", simple: true }) expiresAt!: string;
  @Field(() => LoginType, { description: "The new login type.", simple: true }) toType!: ProviderName;

  @Access({ covers: "everything" })
  @Field(() => UserType, { description: "The user whose login changes." })
  user(@Root() { userId }: ConversionStarted, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }
}

@Resolver()
export class LoginConversionsResolver {
  @Mutation(() => ConvertLoginPayload, {
    description:
      "Begins to change the caller's login from a password to a provider. Nothing changes until the caller has signed in at the provider. Requires a session.",
  })
  @Access({
    needs: ["user:update_personal"],
    openTo: ["session"],
    tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
  })
  convertLogin(
    @Arg("input", { description: "The user, the provider and the password." })
    input: ConvertLoginInput,
    @Ctx() ctx: Context,
  ) {
    return convertLogin(ctx, input);
  }
}
