import { Arg, Ctx, Resolver } from "type-graphql";
import {
  completeDevice,
  startDevice,
  CompleteDevice,
  StartExternalAuthDevice,
} from "../../domain/external-auth/device-flow.js";
import { linkAt } from "../../domain/external-auth/external-auth.js";
import { findProvider } from "../../domain/external-auth/providers.js";
import { deleteExternalAuth, type Unlinked, DeleteExternalAuth } from "../../domain/external-auth/unlinking.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import {
  CompleteExternalAuthDeviceInput,
  DeleteExternalAuthInput,
  ExternalAuthDevice,
  ExternalAuthLinkObject,
  StartExternalAuthDeviceInput,
} from "./external-auth-types.js";

@Resolver()
export class ExternalAuthChangesResolver {
  @Access({ needs: ["external_auth_link:delete"] })
  @Mutates("Unlinks the caller's account at a provider, then revokes its tokens for up to 10 seconds.", {
    providerId: { type: () => String, description: "ID of the provider." },
    tokenRevoked: { type: () => Boolean, description: "Whether the provider has revoked the tokens." },
    tokenRevocationError: {
      type: () => String,
      nullable: true,
      description: "Why the provider has not revoked them; null if it has, or if it revokes none.",
    },
  })
  deleteExternalAuth(
    @Arg("input", () => DeleteExternalAuthInput, { description: "The link to delete." })
    { providerId }: DeleteExternalAuth,
    @Ctx() ctx: Context,
  ): Promise<Unlinked> {
    return deleteExternalAuth(ctx, providerId);
  }

  @Access({ needs: ["external_auth_link:update"] })
  @Mutates("Requests a device code, with which the caller links an account. At most 60 per minute.", {
    device: { type: () => ExternalAuthDevice, description: "The device code." },
  })
  async startExternalAuthDevice(
    @Arg("input", () => StartExternalAuthDeviceInput, { description: "The provider." })
    { providerId }: StartExternalAuthDevice,
    @Ctx() ctx: Context,
  ) {
    return { device: await startDevice(ctx, providerId) };
  }

  @Access({ needs: ["external_auth_link:update"] })
  @Mutates(
    "Links the account of a device code once the user has confirmed it. Until then, fails with BAD_USER_INPUT and the code of RFC 8628 in `extensions.reason`, such as `authorization_pending`.",
    {
      providerId: { type: () => String, description: "ID of the provider." },
      link: {
        type: () => ExternalAuthLinkObject,
        nullable: true,
        description: "The linked account; null if it was unlinked.",
      },
    },
  )
  async completeExternalAuthDevice(
    @Arg("input", () => CompleteExternalAuthDeviceInput, { description: "The device code." })
    input: CompleteDevice,
    @Ctx() ctx: Context,
  ) {
    const providerId = await completeDevice(ctx, input);
    return { providerId, link: () => linkAt(ctx, findProvider(ctx, providerId), false) };
  }
}
