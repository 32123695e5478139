import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type ChangePassword, changePassword, type Login, login } from "../../domain/sign-in/login.js";
import { usersById } from "../../domain/users/users.js";
import { Covers, Needs, Open, OpenTo, RateLimit } from "../engine/access.js";
import { UserType } from "../users/users.js";

@InputType({ description: "Who signs in." })
export class LoginInput implements Login {
  @Field(() => String, { nullable: true, description: "Required. The e-mail of the account, in any letter case." })
  email?: string;
  @Field(() => String, { nullable: true, description: "Required. The password." }) password?: string;
}

@InputType({ description: "A new password for the caller." })
export class ChangePasswordInput implements ChangePassword {
  @Field(() => String, { nullable: true, description: "Required. The password until now." }) currentPassword?: string;
  @Field(() => String, { nullable: true, description: "Required. Hard to guess, at most 1024 bytes." })
  newPassword?: string;
}

/** The payload of these mutations: the user is read in the transaction of the verb. */
interface UserPayload {
  userId: string;
}

@ObjectType({ description: "A session." })
export class LoginPayload {
  @Field(() => String, { description: "The token to send with further requests. It is shown this once.", simple: true })
  sessionToken!: string;

  @Covers()
  @Field(() => UserType, { description: "Who signed in." })
  user(@Root() { userId }: UserPayload, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }
}

@ObjectType({ description: "A changed password." })
export class ChangePasswordPayload {
  @Covers()
  @Field(() => UserType, { description: "Whose password it is." })
  user(@Root() { userId }: UserPayload, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }
}

@Resolver()
export class LoginResolver {
  @Mutation(() => LoginPayload, { description: "Signs in with e-mail and password." })
  @Open()
  @RateLimit<{ input: LoginInput }>("credential", ({ input }) => input.email)
  login(
    @Arg("input", () => LoginInput, { description: "E-mail and password." }) input: LoginInput,
    @Ctx() ctx: Context,
  ) {
    return login(ctx, input);
  }

  @Mutation(() => ChangePasswordPayload, {
    description: "Changes the caller's own password. All other sessions of the caller end. Takes a session.",
  })
  @Needs("user:update_personal")
  @OpenTo("session")
  @RateLimit("credential", (_, { userId }) => userId)
  async changePassword(
    @Arg("input", () => ChangePasswordInput, { description: "The old and the new password." })
    input: ChangePasswordInput,
    @Ctx() ctx: Context,
  ) {
    return { userId: await changePassword(ctx, input) };
  }
}
