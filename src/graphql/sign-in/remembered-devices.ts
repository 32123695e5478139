import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { ForgetDevice, forgetDevice, rememberDevice } from "../../domain/sign-in/remembered-devices.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { changedUser } from "./second-factors.js";

const ForgetDeviceInput = inputType("ForgetDeviceInput", ForgetDevice);

@Resolver()
export class RememberedDevicesResolver {
  @Mutates(
    "Remembers the caller's browser, where the deployment allows that: sign-in takes the password with its secret, without the second factor. Takes a recent proof. Requires a session.",
    {
      deviceToken: {
        type: () => String,
        description: "The secret that `login` takes as `deviceToken`. It cannot be read again.",
      },
    },
  )
  @Access({ needs: ["user:update_personal"], openTo: ["session"] })
  async rememberDevice(@Ctx() ctx: Context) {
    return { deviceToken: await rememberDevice(ctx) };
  }

  @Mutates("Forgets a remembered browser of the caller. Requires a session.", { user: changedUser })
  @Access({ needs: ["user:update_personal"], openTo: ["session"] })
  async forgetDevice(
    @Arg("input", () => ForgetDeviceInput, { description: "The browser." }) input: ForgetDevice,
    @Ctx() ctx: Context,
  ) {
    const id = await forgetDevice(ctx, input);
    return { user: () => ctx.load(usersById, id) };
  }
}
