import { Arg, Ctx, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { convertLogin, ConvertLogin } from "../../domain/sign-in/conversions.js";
import { ProviderKind } from "../../infrastructure/identity-providers.js";
import { LoginType, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { DateTime } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";
import { UserType } from "../users/users.js";

enumType({ IdentityProviderType: ProviderKind }, "A kind of identity provider.", {
  OIDC: "The OpenID Connect provider.",
  GITHUB: "GitHub.",
});

export const ConvertLoginInput = inputType("ConvertLoginInput", ConvertLogin, {
  description: "A change of the caller's login to a provider.",
});

@Resolver()
export class LoginConversionsResolver {
  @Mutates(
    "Begins to change the caller's login from a password to a provider. Nothing changes until the caller has signed in at the provider. Requires a session.",
    {
      stateString: {
        type: () => String,
        description:
          "The value of `state` in `/login/<provider>?state=`, to be opened in a browser where the user is signed in. It cannot be read again.",
      },
      expiresAt: { type: () => DateTime, description: "When the conversion expires." },
      toType: { type: () => LoginType, description: "The new login type." },
      user: { type: () => UserType, description: "The user whose login changes.", covers: "everything" },
    },
    "A conversion that the provider has to confirm.",
  )
  @Access({
    needs: ["user:update_personal"],
    openTo: ["session"],
    tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
  })
  async convertLogin(
    @Arg("input", () => ConvertLoginInput, { description: "The user, the provider and the password." })
    input: ConvertLogin,
    @Ctx() ctx: Context,
  ) {
    const { userId, ...started } = await convertLogin(ctx, input);
    return { ...started, user: () => ctx.load(usersById, userId) };
  }
}
