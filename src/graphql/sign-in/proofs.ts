import { Arg, Ctx, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { proveIdentity, ProveIdentity } from "../../domain/sign-in/proofs.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";

const ProveIdentityInput = inputType("ProveIdentityInput", ProveIdentity);

@Resolver()
export class ProofsResolver {
  @Mutates(
    "Proves again who the caller is, for what fails with STEP_UP_REQUIRED otherwise. Accounts with a second factor give a code or a passkey, others the password. Requires a session.",
    { proven: { type: () => Boolean, description: "Always true." } },
  )
  @Access({
    needs: ["user:update_personal"],
    openTo: ["session"],
    tries: { secrets: "passwords", accountOf: (_, actor) => userIdOf(actor) },
  })
  async proveIdentity(
    @Arg("input", () => ProveIdentityInput, { description: "A code, a passkey, or the password." })
    input: ProveIdentity,
    @Ctx() ctx: Context,
  ) {
    return { proven: await proveIdentity(ctx, input) };
  }
}
