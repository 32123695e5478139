import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  changePasswordWithPasscode,
  type ChangePasswordWithPasscode,
  requestOneTimePasscode,
  type RequestOneTimePasscode,
} from "../../domain/sign-in/passcodes.js";
import { Open, RateLimit } from "../engine/access.js";

@InputType({ description: "Who cannot sign in any more." })
export class RequestOneTimePasscodeInput implements RequestOneTimePasscode {
  @Field(() => String, { nullable: true, description: "Required. The e-mail of the account, in any letter case." })
  email?: string;
}

@InputType({ description: "A new password for whoever has the passcode." })
export class ChangePasswordWithPasscodeInput implements ChangePasswordWithPasscode {
  @Field(() => String, { nullable: true, description: "Required. The e-mail of the account, in any letter case." })
  email?: string;
  @Field(() => String, { nullable: true, description: "Required. The passcode from the last mail." })
  oneTimePasscode?: string;
  @Field(() => String, {
    nullable: true,
    description: "Required. The new password: hard to guess, at most 1024 bytes.",
  })
  password?: string;
}

@ObjectType({ simpleResolvers: true, description: "A request that is looked into." })
export class RequestOneTimePasscodePayload {
  @Field(() => Boolean, { description: "Always true, whether there is such an account or not." }) accepted!: boolean;
}

@ObjectType({ simpleResolvers: true, description: "A changed password." })
export class ChangePasswordWithPasscodePayload {
  @Field(() => Boolean, { description: "Always true: what does not work is an error." }) changed!: boolean;
}

@Resolver()
export class OneTimePasscodesResolver {
  @Mutation(() => RequestOneTimePasscodePayload, {
    description: "Sends a one-time passcode to the e-mail, if somebody signs in with it and a password.",
  })
  @Open()
  @RateLimit<{ input: RequestOneTimePasscodeInput }>("credential", ({ input }) => input.email)
  async requestOneTimePasscode(
    @Arg("input", () => RequestOneTimePasscodeInput, { description: "The e-mail." }) input: RequestOneTimePasscodeInput,
    @Ctx() ctx: Context,
  ) {
    return { accepted: await requestOneTimePasscode(ctx, input) };
  }

  @Mutation(() => ChangePasswordWithPasscodePayload, {
    description: "Changes a password with a one-time passcode. All sessions and tokens of the user end.",
  })
  @Open()
  @RateLimit<{ input: ChangePasswordWithPasscodeInput }>("credential", ({ input }) => input.email)
  async changePasswordWithPasscode(
    @Arg("input", () => ChangePasswordWithPasscodeInput, { description: "E-mail, passcode and password." })
    input: ChangePasswordWithPasscodeInput,
    @Ctx() ctx: Context,
  ) {
    return { changed: await changePasswordWithPasscode(ctx, input) };
  }
}
