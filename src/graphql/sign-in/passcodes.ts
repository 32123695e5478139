import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  changePasswordWithPasscode,
  type ChangePasswordWithPasscode,
  requestOneTimePasscode,
  type RequestOneTimePasscode,
} from "../../domain/sign-in/passcodes.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";

@InputType({ description: "The account whose password is forgotten." })
export class RequestOneTimePasscodeInput implements RequestOneTimePasscode {
  @Access({ pasted: true })
  @Field({ description: "The email of the account, in any letter case." })
  email!: string;
}

@InputType({ description: "A new password, and the passcode that permits it." })
export class ChangePasswordWithPasscodeInput implements ChangePasswordWithPasscode {
  @Access({ pasted: true })
  @Field({ description: "The email of the account, in any letter case." })
  email!: string;
  @Access({ pasted: true })
  @Field({ description: "The passcode from the latest email." })
  oneTimePasscode!: string;
  @Field({
    description: "The new password: hard to guess, at most 1024 bytes.",
  })
  password!: string;
}

@Resolver()
export class OneTimePasscodesResolver {
  @Mutates(
    "Sends a one-time passcode to the email, if it belongs to an account with a password.",
    {
      accepted: { type: () => Boolean, description: "Always true, whether the account exists or not." },
    },
    "An accepted request.",
  )
  @Access({
    open: true,
    tries: { secrets: "passwords", accountOf: ({ input }: { input: RequestOneTimePasscodeInput }) => input.email },
  })
  async requestOneTimePasscode(
    @Arg("input", { description: "The email." }) input: RequestOneTimePasscodeInput,
    @Ctx() ctx: Context,
  ) {
    return { accepted: await requestOneTimePasscode(ctx, input) };
  }

  @Mutates(
    "Changes a password with a one-time passcode. All sessions and tokens of the user end.",
    {
      changed: { type: () => Boolean, description: "Always true: failures are errors." },
    },
    "A changed password.",
  )
  @Access({
    open: true,
    tries: { secrets: "passwords", accountOf: ({ input }: { input: ChangePasswordWithPasscodeInput }) => input.email },
  })
  async changePasswordWithPasscode(
    @Arg("input", { description: "Email, passcode and password." })
    input: ChangePasswordWithPasscodeInput,
    @Ctx() ctx: Context,
  ) {
    return { changed: await changePasswordWithPasscode(ctx, input) };
  }
}
