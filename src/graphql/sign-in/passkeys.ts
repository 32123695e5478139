import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  beginPasskey,
  BeginPasskey,
  confirmPasskey,
  ConfirmPasskey,
  removePasskey,
  RemovePasskey,
  updatePasskey,
  UpdatePasskey,
} from "../../domain/sign-in/passkeys.js";
import {
  beginPasskeyLogin,
  BeginPasskeyLogin,
  loginWithPasskey,
  LoginWithPasskey,
} from "../../domain/sign-in/passkey-sign-in.js";
import { beginPasskeyProof } from "../../domain/sign-in/proofs.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { UserType } from "../users/users.js";
import { changedUser, ownFactors, recoveryCodes } from "./second-factors.js";

const BeginPasskeyInput = inputType("BeginPasskeyInput", BeginPasskey);
const ConfirmPasskeyInput = inputType("ConfirmPasskeyInput", ConfirmPasskey);
const UpdatePasskeyInput = inputType("UpdatePasskeyInput", UpdatePasskey);
const RemovePasskeyInput = inputType("RemovePasskeyInput", RemovePasskey);
const BeginPasskeyLoginInput = inputType("BeginPasskeyLoginInput", BeginPasskeyLogin);
const LoginWithPasskeyInput = inputType("LoginWithPasskeyInput", LoginWithPasskey);

const creation = {
  type: () => JSONObject,
  description:
    "The options for `navigator.credentials.create`, as `PublicKeyCredential.parseCreationOptionsFromJSON` reads them. Their challenge counts once, within five minutes.",
};

const request = {
  type: () => JSONObject,
  description:
    "The options for `navigator.credentials.get`, as `PublicKeyCredential.parseRequestOptionsFromJSON` reads them. Their challenge counts once, within five minutes.",
};

@Resolver()
export class PasskeysResolver {
  @Mutates(
    "Begins to add a passkey to the caller's account. Nothing changes until `confirmPasskey`. Takes the password, or a recent proof from holders of a second factor. Requires a session.",
    { options: creation },
  )
  @Access({ ...ownFactors, addsFactor: true })
  async beginPasskey(
    @Arg("input", () => BeginPasskeyInput, { description: "The password, if there is no second factor." })
    input: BeginPasskey,
    @Ctx() ctx: Context,
  ) {
    return { options: await beginPasskey(ctx, input) };
  }

  @Mutates(
    "Adds a passkey to the caller's account. Sign-in asks for it after the password from now on, or for another factor, and takes it without the password if its authenticator knows who uses it. With the first factor, all other sessions of the caller end. Requires a session.",
    {
      passkeyId: { type: () => UUID, description: "ID of the passkey." },
      recoveryCodes: {
        ...recoveryCodes,
        nullable: true,
        description: `${recoveryCodes.description} Null if the account had a factor before.`,
      },
      user: changedUser,
    },
  )
  @Access({ ...ownFactors, addsFactor: true })
  async confirmPasskey(
    @Arg("input", () => ConfirmPasskeyInput, { description: "The credential of the browser." }) input: ConfirmPasskey,
    @Ctx() ctx: Context,
  ) {
    const { userId, id, recoveryCodes: codes } = await confirmPasskey(ctx, input);
    return { passkeyId: id, recoveryCodes: codes, user: () => ctx.load(usersById, userId) };
  }

  @Mutates("Renames a passkey of the caller. Requires a session.", { user: changedUser })
  @Access({ needs: ["user:update_personal"], openTo: ["session"] })
  async updatePasskey(
    @Arg("input", () => UpdatePasskeyInput, { description: "The passkey and its new name." }) input: UpdatePasskey,
    @Ctx() ctx: Context,
  ) {
    const id = await updatePasskey(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }

  @Mutates(
    "Removes a passkey of the caller, and the recovery codes if no other factor is left. Takes a recent proof. Requires a session.",
    { user: changedUser },
  )
  @Access({ needs: ["user:update_personal"], openTo: ["session"] })
  async removePasskey(
    @Arg("input", () => RemovePasskeyInput, { description: "The passkey." }) input: RemovePasskey,
    @Ctx() ctx: Context,
  ) {
    const id = await removePasskey(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }

  @Mutates(
    "Begins to prove again who the caller is with a passkey. `proveIdentity` takes its use. Requires a session.",
    { options: request },
  )
  @Access({ needs: ["user:update_personal"], openTo: ["session"] })
  async beginPasskeyProof(@Ctx() ctx: Context) {
    return { options: await beginPasskeyProof(ctx) };
  }

  @Mutates(
    "Begins to sign in with a passkey. Without an input of email and password, `loginWithPasskey` takes its use; with those of an account, `login` does, in place of a code.",
    { options: request },
  )
  @Access({
    open: true,
    tries: { secrets: "passwords", accountOf: ({ input }: { input: BeginPasskeyLogin }) => input.email },
  })
  async beginPasskeyLogin(
    @Arg("input", () => BeginPasskeyLoginInput, { description: "Email and password, or neither." })
    input: BeginPasskeyLogin,
    @Ctx() ctx: Context,
  ) {
    return { options: await beginPasskeyLogin(ctx, input) };
  }

  @Mutates(
    "Signs in with a passkey alone, whose authenticator knows who uses it. It takes the place of the password and of the second factor.",
    {
      sessionToken: { type: () => String, description: "The token for further requests. It cannot be read again." },
      user: { type: () => UserType, description: "The user who signed in.", covers: "everything" },
    },
    "A session.",
  )
  @Access({ open: true, tries: { secrets: "passwords", accountOf: () => undefined } })
  async loginWithPasskey(
    @Arg("input", () => LoginWithPasskeyInput, { description: "The use of a passkey." }) input: LoginWithPasskey,
    @Ctx() ctx: Context,
  ) {
    const { userId, sessionToken } = await loginWithPasskey(ctx, input);
    return { sessionToken, user: () => ctx.load(usersById, userId) };
  }
}
