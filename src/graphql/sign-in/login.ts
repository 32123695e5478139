import { Arg, Ctx, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { changePassword, ChangePassword, login, Login } from "../../domain/sign-in/login.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { UserType } from "../users/users.js";

export const LoginInput = inputType("LoginInput", Login, { description: "The credentials of a user." });

export const ChangePasswordInput = inputType("ChangePasswordInput", ChangePassword, {
  description: "A new password for the caller.",
});

@Resolver()
export class LoginResolver {
  @Mutates(
    "Signs in with email and password. A user whose `mustChangePassword` is true can only change the password then: everything else is FORBIDDEN, with the reason `password_change_required`.",
    {
      sessionToken: { type: () => String, description: "The token for further requests. It cannot be read again." },
      user: { type: () => UserType, description: "The user who signed in.", covers: "everything" },
    },
    "A session.",
  )
  @Access({ open: true, tries: { secrets: "passwords", accountOf: ({ input }: { input: Login }) => input.email } })
  async login(
    @Arg("input", () => LoginInput, { description: "Email and password." }) input: Login,
    @Ctx() ctx: Context,
  ) {
    const { userId, sessionToken } = await login(ctx, input);
    return { sessionToken, user: () => ctx.load(usersById, userId) };
  }

  @Mutates(
    "Changes the caller's own password. All other sessions of the caller end. Requires a session.",
    {
      user: { type: () => UserType, description: "The user whose password changed.", covers: "everything" },
    },
    "A changed password.",
  )
  @Access({
    needs: ["user:update_personal"],
    openTo: ["session"],
    changesPassword: true,
    addsFactor: true,
    tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
  })
  async changePassword(
    @Arg("input", () => ChangePasswordInput, { description: "The current and the new password." })
    input: ChangePassword,
    @Ctx() ctx: Context,
  ) {
    const id = await changePassword(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }
}
