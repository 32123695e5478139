import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  changePasswordWithPasscode,
  ChangePasswordWithPasscode,
  requestOneTimePasscode,
  RequestOneTimePasscode,
} from "../../domain/sign-in/passcodes.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";

export const RequestOneTimePasscodeInput = inputType("RequestOneTimePasscodeInput", RequestOneTimePasscode, {
  description: "The account whose password is forgotten.",
});

export const ChangePasswordWithPasscodeInput = inputType(
  "ChangePasswordWithPasscodeInput",
  ChangePasswordWithPasscode,
  { description: "A new password, and the passcode that permits it." },
);

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
    tries: { secrets: "passwords", accountOf: ({ input }: { input: RequestOneTimePasscode }) => input.email },
  })
  async requestOneTimePasscode(
    @Arg("input", () => RequestOneTimePasscodeInput, { description: "The email." }) input: RequestOneTimePasscode,
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
    tries: { secrets: "passwords", accountOf: ({ input }: { input: ChangePasswordWithPasscode }) => input.email },
  })
  async changePasswordWithPasscode(
    @Arg("input", () => ChangePasswordWithPasscodeInput, { description: "Email, passcode and password." })
    input: ChangePasswordWithPasscode,
    @Ctx() ctx: Context,
  ) {
    return { changed: await changePasswordWithPasscode(ctx, input) };
  }
}
