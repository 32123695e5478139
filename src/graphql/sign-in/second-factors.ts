import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { passkeysPerUser } from "../../domain/sign-in/passkeys.js";
import { devicesPerUser, type RememberedDeviceRow } from "../../domain/sign-in/remembered-devices.js";
import {
  beginAuthenticator,
  BeginAuthenticator,
  confirmAuthenticator,
  ConfirmAuthenticator,
  type PasskeyRow,
  readSecondFactors,
  regenerateRecoveryCodes,
  RegenerateRecoveryCodes,
  removeAuthenticator,
  RemoveAuthenticator,
  resetSecondFactors,
  ResetSecondFactors,
  type SecondFactors,
} from "../../domain/sign-in/second-factors.js";
import { FactorLevel } from "../../domain/sign-in/factor-demands.js";
import { usersById } from "../../domain/users/users.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { UserType } from "../users/users.js";

@Access({ readWith: "user:read_personal" })
@ObjectType("Passkey", {
  simpleResolvers: true,
  description: "A public key of WebAuthn whose private key is in an authenticator of the user.",
})
export class PasskeyType implements PasskeyRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name by which the user knows it." }) name!: string;
  @Field(() => [String], {
    description: "How browsers reach the authenticator, such as `usb` or `internal`, as far as they say.",
  })
  transports!: string[];
  @Field({ description: "Whether copies of the private key exist, such as in the account of a platform." })
  isBackedUp!: boolean;
  @Field(() => DateTime, { description: "When it was added." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it was last used; null if never." })
  lastUsedAt!: string | null;
}

@Access({ readWith: "user:read_personal" })
@ObjectType("RememberedDevice", {
  simpleResolvers: true,
  description: "A browser in which sign-in takes the password of a user without the second factor.",
})
class RememberedDeviceType implements RememberedDeviceRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => String, { nullable: true, description: "User-Agent header of the browser." }) userAgent!: string | null;
  @Field(() => DateTime, { description: "When it was remembered." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it last signed in; null if it has not since." })
  lastUsedAt!: string | null;
}

@Access({ readWith: "user:read_personal" })
@ObjectType("SecondFactors", {
  simpleResolvers: true,
  description:
    "The authenticator, the passkeys, and the recovery codes that complete the sign-in of a user after the password. A passkey also signs in without it.",
})
class SecondFactorsType implements Omit<SecondFactors, "userId"> {
  @Field(() => FactorLevel, {
    description: "How far the user may, or must, have a second factor, by the setting of the server and all rules.",
  })
  level!: FactorLevel;
  @Field(() => DateTime, {
    nullable: true,
    description:
      "Until when the user has to add one. After it, sessions can do nothing else. Null if there is one, or if none is required.",
  })
  addBy!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description:
      "When the authenticator was confirmed. Null without one: if there is no passkey either, sign-in asks for the password alone.",
  })
  authenticatorConfirmedAt!: string | null;
  @Access({ countsAs: passkeysPerUser })
  @Field(() => [PasskeyType], { description: "The passkeys, the oldest first." })
  passkeys!: PasskeyType[];
  @Field(() => Int, { description: "How many recovery codes are left." }) recoveryCodesLeft!: number;
  @Access({ countsAs: devicesPerUser })
  @Field(() => [RememberedDeviceType], {
    description: "The browsers in which sign-in takes no second factor, the newest first.",
  })
  rememberedDevices!: RememberedDeviceType[];
}

const BeginAuthenticatorInput = inputType("BeginAuthenticatorInput", BeginAuthenticator);
const ConfirmAuthenticatorInput = inputType("ConfirmAuthenticatorInput", ConfirmAuthenticator);
const RegenerateRecoveryCodesInput = inputType("RegenerateRecoveryCodesInput", RegenerateRecoveryCodes);
const RemoveAuthenticatorInput = inputType("RemoveAuthenticatorInput", RemoveAuthenticator);
const ResetSecondFactorsInput = inputType("ResetSecondFactorsInput", ResetSecondFactors);

/** Changes of the own second factors: with a session, and with a secret that must not be guessed. */
export const ownFactors: AccessOptions = {
  needs: ["user:update_personal"],
  openTo: ["session"],
  tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
};

export const recoveryCodes = {
  type: () => [String],
  description:
    "The new recovery codes. Each signs in once in place of a code of the authenticator, or of a passkey. They cannot be read again.",
};

export const changedUser = {
  type: () => UserType,
  description: "The user after the change.",
  covers: "everything",
} as const;

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
    @Arg("input", () => RegenerateRecoveryCodesInput, { description: "A code, if there is an authenticator." })
    input: RegenerateRecoveryCodes,
    @Ctx() ctx: Context,
  ) {
    const { userId, ...codes } = await regenerateRecoveryCodes(ctx, input);
    return { ...codes, user: () => ctx.load(usersById, userId) };
  }

  @Mutates("Removes the caller's authenticator, and the recovery codes unless a passkey is left. Requires a session.", {
    user: changedUser,
  })
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
