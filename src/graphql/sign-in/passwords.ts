import { Arg, Ctx, Field, InputType, ObjectType, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { type PasswordCheck, validatePassword } from "../../domain/sign-in/passwords.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";

@InputType({ description: "A password to check." })
export class ValidatePasswordInput {
  @Field({ description: "The password." })
  password!: string;
}

@ObjectType("PasswordValidation", { simpleResolvers: true, description: "The result of a password check." })
export class PasswordValidationType implements PasswordCheck {
  @Field({ description: "Whether the caller may use it." }) valid!: boolean;
  @Field({ description: "Advice in sentences; empty for a valid password." }) details!: string;
}

@Resolver()
export class PasswordsResolver {
  @Access({
    anyScope: true,
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
    @Arg("input", { description: "The password." }) input: ValidatePasswordInput,
    @Ctx() ctx: Context,
  ) {
    return { validation: await validatePassword(ctx, input.password) };
  }
}
