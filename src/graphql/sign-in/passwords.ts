import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type PasswordCheck, validatePassword } from "../../domain/sign-in/passwords.js";
import { AnyScope, RateLimit } from "../engine/access.js";

@InputType({ description: "A password somebody thinks of." })
export class ValidatePasswordInput {
  @Field(() => String, { nullable: true, description: "Required. The password." }) password?: string;
}

@ObjectType("PasswordValidation", { simpleResolvers: true, description: "How good a password is." })
export class PasswordValidationType implements PasswordCheck {
  @Field(() => Boolean, { description: "Whether the caller could take it." }) valid!: boolean;
  @Field(() => String, { description: "What would be better, in sentences; empty when it is valid." }) details!: string;
}

@ObjectType({ simpleResolvers: true, description: "A password that was looked at." })
export class ValidatePasswordPayload {
  @Field(() => PasswordValidationType, { description: "How good it is." }) validation!: PasswordCheck;
}

@Resolver()
export class PasswordsResolver {
  @AnyScope()
  @Mutation(() => ValidatePasswordPayload, {
    description: "Looks at a password as if the caller wanted to take it. Nothing changes.",
  })
  @RateLimit("credential", (_, { userId }) => userId)
  async validatePassword(
    @Arg("input", () => ValidatePasswordInput, { description: "The password." }) input: ValidatePasswordInput,
    @Ctx() ctx: Context,
  ) {
    return { validation: await validatePassword(ctx, input) };
  }
}
