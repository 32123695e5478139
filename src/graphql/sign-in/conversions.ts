import { Arg, Ctx, Field, InputType, Mutation, ObjectType, registerEnumType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type ConversionStarted, type ConvertLogin, convertLogin } from "../../domain/sign-in/conversions.js";
import { ProviderName } from "../../domain/outside/identity-providers.js";
import { LoginType, usersById } from "../../domain/users/users.js";
import { Covers, Needs, OpenTo, RateLimit } from "../engine/access.js";
import { DateTime } from "../engine/scalars.js";
import { UserType } from "../users/users.js";

registerEnumType(ProviderName, {
  name: "IdentityProviderType",
  description: "A kind of identity provider.",
  valuesConfig: {
    OIDC: { description: "The OpenID Connect provider." },
    GITHUB: { description: "GitHub." },
  },
});

@InputType({ description: "How the caller wants to sign in from now on." })
export class ConvertLoginInput implements ConvertLogin {
  @Field(() => String, { description: "The caller: id, username or `me`." }) user!: string;
  @Field(() => ProviderName, { nullable: true, description: "Required. The provider." }) toType?: ProviderName;
  @Field(() => String, { nullable: true, description: "Required. The password until now." }) password?: string;
}

@ObjectType({ description: "A conversion that the provider has to confirm." })
export class ConvertLoginPayload implements Omit<ConversionStarted, "userId"> {
  @Field(() => String, {
    description: "Goes to `/login/<provider>?state=`, in a browser where the user is signed in. It is shown this once.",
    simple: true,
  })
  stateString!: string;
  @Field(() => DateTime, { description: "When it is too late.", simple: true }) expiresAt!: string;
  @Field(() => LoginType, { description: "How the user is going to sign in.", simple: true }) toType!: ProviderName;

  @Covers()
  @Field(() => UserType, { description: "Whose login it is." })
  user(@Root() { userId }: ConversionStarted, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }
}

@Resolver()
export class LoginConversionsResolver {
  @Mutation(() => ConvertLoginPayload, {
    description:
      "Begins to change the caller's login from a password to a provider. Nothing changes until the sign-in there ends well. Takes a session.",
  })
  @Needs("user:update_personal")
  @OpenTo("session")
  @RateLimit("credential", (_, { userId }) => userId)
  convertLogin(
    @Arg("input", () => ConvertLoginInput, { description: "Whose login, how, and the password." })
    input: ConvertLoginInput,
    @Ctx() ctx: Context,
  ) {
    return convertLogin(ctx, input);
  }
}
