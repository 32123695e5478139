import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { type ChangePassword, changePassword, type Login, login } from "../../domain/sign-in/login.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { UserType } from "../users/users.js";

@InputType({ description: "The credentials of a user." })
export class LoginInput implements Login {
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

/** The payload of these mutations: the user is read in the transaction of the verb. */
interface UserPayload {
  userId: string;
}

@ObjectType({ description: "A session." })
export class LoginPayload {
  @Field({ description: "The token for further requests. It cannot be read again.", simple: true })
  sessionToken!: string;

  @Access({ covers: "everything" })
  @Field(() => UserType, { description: "The user who signed in." })
  user(@Root() { userId }: UserPayload, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }
}

@ObjectType({ description: "A changed password." })
export class ChangePasswordPayload {
  @Access({ covers: "everything" })
  @Field(() => UserType, { description: "The user whose password changed." })
  user(@Root() { userId }: UserPayload, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }
}

@Resolver()
export class LoginResolver {
  @Mutation(() => LoginPayload, { description: "Signs in with email and password." })
  @Access({ open: true, tries: { secrets: "passwords", accountOf: ({ input }: { input: LoginInput }) => input.email } })
  login(@Arg("input", { description: "Email and password." }) input: LoginInput, @Ctx() ctx: Context) {
    return login(ctx, input);
  }

  @Mutation(() => ChangePasswordPayload, {
    description: "Changes the caller's own password. All other sessions of the caller end. Requires a session.",
  })
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
    return { userId: await changePassword(ctx, input) };
  }
}
