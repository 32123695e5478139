import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { type ChangePassword, changePassword, type Login, login } from "../../domain/sign-in/login.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { UserType } from "../users/users.js";

@InputType({ description: "The credentials of a user." })
export class LoginInput implements Login {
  @Access({ pasted: true })
  @Field({ description: "The email of the account, in any letter case." })
  email!: string;
  @Field({ description: "The password." })
  password!: string;
}

@InputType({ description: "A new password for the caller." })
export class ChangePasswordInput implements ChangePassword {
  @Field({ description: "The current password." })
  currentPassword!: string;
  @Field({ description: "Hard to guess, at most 1024 bytes." })
  newPassword!: string;
}

@Resolver()
export class LoginResolver {
  @Mutates(
    "Signs in with email and password.",
    {
      sessionToken: { type: () => String, description: "The token for further requests. It cannot be read again." },
      user: { type: () => UserType, description: "The user who signed in.", covers: "everything" },
    },
    "A session.",
  )
  @Access({ open: true, tries: { secrets: "passwords", accountOf: ({ input }: { input: LoginInput }) => input.email } })
  async login(@Arg("input", { description: "Email and password." }) input: LoginInput, @Ctx() ctx: Context) {
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
    tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
  })
  async changePassword(
    @Arg("input", { description: "The current and the new password." })
    input: ChangePasswordInput,
    @Ctx() ctx: Context,
  ) {
    const id = await changePassword(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }
}
