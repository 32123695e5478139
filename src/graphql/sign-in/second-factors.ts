import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import {
  beginAuthenticator,
  BeginAuthenticator,
  confirmAuthenticator,
  ConfirmAuthenticator,
  readSecondFactors,
  regenerateRecoveryCodes,
  RegenerateRecoveryCodes,
  removeAuthenticator,
  RemoveAuthenticator,
  resetSecondFactors,
  ResetSecondFactors,
  type SecondFactors,
} from "../../domain/sign-in/second-factors.js";
import { usersById } from "../../domain/users/users.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { DateTime } from "../engine/scalars.js";
import { UserType } from "../users/users.js";

@Access({ readWith: "user:read_personal" })
@ObjectType("SecondFactors", {
  simpleResolvers: true,
  description: "The authenticator and the recovery codes that complete the sign-in of a user after the password.",
})
class SecondFactorsType implements Omit<SecondFactors, "userId"> {
  @Field(() => DateTime, {
    nullable: true,
    description: "When the authenticator was confirmed. Null without one: then sign-in asks for the password alone.",
  })
  authenticatorConfirmedAt!: string | null;
  @Field(() => Int, { description: "How many recovery codes are left." }) recoveryCodesLeft!: number;
}

const BeginAuthenticatorInput = inputType("BeginAuthenticatorInput", BeginAuthenticator);
const ConfirmAuthenticatorInput = inputType("ConfirmAuthenticatorInput", ConfirmAuthenticator);
const RegenerateRecoveryCodesInput = inputType("RegenerateRecoveryCodesInput", RegenerateRecoveryCodes);
const RemoveAuthenticatorInput = inputType("RemoveAuthenticatorInput", RemoveAuthenticator);
const ResetSecondFactorsInput = inputType("ResetSecondFactorsInput", ResetSecondFactors);

/** Changes of the own second factors: with a session, and with a secret that must not be guessed. */
const ownFactors: AccessOptions = {
  needs: ["user:update_personal"],
  openTo: ["session"],
  tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
};

const recoveryCodes = {
  type: () => [String],
  description:
    "The new recovery codes. Each signs in once in place of a code of the authenticator. They cannot be read again.",
};

const changedUser = { type: () => UserType, description: "The user after the change.", covers: "everything" } as const;

@Resolver()
export class SecondFactorsResolver {
  @Access({ needs: ["user:read_personal"] })
  @Query(() => SecondFactorsType, { nullable: true, description: "Reads the second factors of a user." })
  secondFactors(
    @Arg("user", { defaultValue: "me", description: "The user: ID, username, or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<SecondFactorsType> {
    return readSecondFactors(ctx, user);
  }

  @Mutates(
    "Begins to add an authenticator to the caller's account, or to replace its authenticator. Nothing changes until `confirmAuthenticator`. Requires a session.",
    {
      secret: {
        type: () => String,
        description: "The secret of RFC 6238, in Base32: SHA-1, 6 digits, 30 seconds. It cannot be read again.",
      },
      uri: { type: () => String, description: "The same as an `otpauth` URI, for a QR code." },
      expiresAt: { type: () => DateTime, description: "Until when it can be confirmed." },
    },
    "A new authenticator that its first code has to confirm.",
  )
  @Access({ ...ownFactors, addsFactor: true })
  beginAuthenticator(
    @Arg("input", () => BeginAuthenticatorInput, { description: "The password, and a code if there is a factor." })
    input: BeginAuthenticator,
    @Ctx() ctx: Context,
  ) {
    return beginAuthenticator(ctx, input);
  }

  @Mutates(
    "Confirms the caller's new authenticator, which replaces the former one. Sign-in asks for its code from now on. All other sessions of the caller end. Requires a session.",
    { recoveryCodes, user: changedUser },
  )
  @Access({ ...ownFactors, addsFactor: true })
  async confirmAuthenticator(
    @Arg("input", () => ConfirmAuthenticatorInput, { description: "The first code." }) input: ConfirmAuthenticator,
    @Ctx() ctx: Context,
  ) {
    const { userId, ...codes } = await confirmAuthenticator(ctx, input);
    return { ...codes, user: () => ctx.load(usersById, userId) };
  }

  @Mutates("Replaces the caller's recovery codes. Requires a session.", { recoveryCodes, user: changedUser })
  @Access(ownFactors)
  async regenerateRecoveryCodes(
    @Arg("input", () => RegenerateRecoveryCodesInput, { description: "A code." }) input: RegenerateRecoveryCodes,
    @Ctx() ctx: Context,
  ) {
    const { userId, ...codes } = await regenerateRecoveryCodes(ctx, input);
    return { ...codes, user: () => ctx.load(usersById, userId) };
  }

  @Mutates("Removes the caller's authenticator with its recovery codes. Requires a session.", { user: changedUser })
  @Access(ownFactors)
  async removeAuthenticator(
    @Arg("input", () => RemoveAuthenticatorInput, { description: "A code." }) input: RemoveAuthenticator,
    @Ctx() ctx: Context,
  ) {
    const id = await removeAuthenticator(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }

  @Mutates(
    "Removes the second factors of another user, who has lost them, and ends the user's sessions. The user is told. Requires a session.",
    { user: { type: () => UserType, description: "The user after the change." } },
  )
  @Access({ needs: ["user:update"], openTo: ["session"] })
  async resetSecondFactors(
    @Arg("input", () => ResetSecondFactorsInput, { description: "The user." }) input: ResetSecondFactors,
    @Ctx() ctx: Context,
  ) {
    const id = await resetSecondFactors(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }
}
