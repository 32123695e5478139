import { Arg, Ctx, Field, ObjectType, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { type PasswordCheck, validatePassword, ValidatePassword } from "../../domain/sign-in/password-strength.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";

export const ValidatePasswordInput = inputType("ValidatePasswordInput", ValidatePassword, {
  description: "A password to check.",
});

@ObjectType("PasswordValidation", { simpleResolvers: true, description: "The result of a password check." })
export class PasswordValidationType implements PasswordCheck {
  @Field({ description: "Whether the caller may use it." }) valid!: boolean;
  @Field({ description: "Advice in sentences; empty for a valid password." }) details!: string;
}

@Resolver()
export class PasswordsResolver {
  @Access({
    anyScope: true,
    changesPassword: true,
    addsFactor: true,
    openTo: ["session", "token"],
    tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
  })
  @Mutates(
    "Checks a password as a new one of the caller. Nothing is stored.",
    {
      validation: { type: () => PasswordValidationType, description: "The result of the check." },
    },
    "A checked password.",
  )
  async validatePassword(
    @Arg("input", () => ValidatePasswordInput, { description: "The password." }) input: ValidatePassword,
    @Ctx() ctx: Context,
  ) {
    return { validation: await validatePassword(ctx, input.password) };
  }
}
