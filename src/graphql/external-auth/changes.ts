import { Arg, Ctx, Field, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import type { CheckedLink } from "../../domain/external-auth/checks.js";
import { completeDevice, startDevice } from "../../domain/external-auth/device-flow.js";
import { linkAt } from "../../domain/external-auth/external-auth.js";
import { findProvider } from "../../domain/external-auth/providers.js";
import { deleteExternalAuth, type Unlinked } from "../../domain/external-auth/unlinking.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import {
  CompleteExternalAuthDeviceInput,
  DeleteExternalAuthInput,
  DeleteExternalAuthPayload,
  ExternalAuthLinkObject,
  StartExternalAuthDeviceInput,
  StartExternalAuthDevicePayload,
} from "./types.js";

@ObjectType({ description: "Payload of `completeExternalAuthDevice`." })
class CompleteExternalAuthDevicePayload {
  @Field({ description: "ID of the provider.", simple: true }) providerId!: string;

  @Field(() => ExternalAuthLinkObject, { nullable: true, description: "The linked account; null if it was unlinked." })
  link(@Root() { providerId }: { providerId: string }, @Ctx() ctx: Context): Promise<CheckedLink | null> {
    return linkAt(ctx, findProvider(ctx, providerId), false);
  }
}

@Resolver()
export class ExternalAuthChangesResolver {
  @Access({ needs: ["external_auth_link:delete"] })
  @Mutation(() => DeleteExternalAuthPayload, {
    description: "Unlinks the caller's account at a provider, then revokes its tokens for up to 10 seconds.",
  })
  deleteExternalAuth(
    @Arg("input", () => DeleteExternalAuthInput, { description: "The link to delete." })
    { providerId }: DeleteExternalAuthInput,
    @Ctx() ctx: Context,
  ): Promise<Unlinked> {
    return deleteExternalAuth(ctx, providerId);
  }

  @Access({ needs: ["external_auth_link:update"] })
  @Mutation(() => StartExternalAuthDevicePayload, {
    description: "Requests a device code, with which the caller links an account. At most 60 per minute.",
  })
  async startExternalAuthDevice(
    @Arg("input", () => StartExternalAuthDeviceInput, { description: "The provider." })
    { providerId }: StartExternalAuthDeviceInput,
    @Ctx() ctx: Context,
  ): Promise<StartExternalAuthDevicePayload> {
    return { device: await startDevice(ctx, providerId) };
  }

  @Access({ needs: ["external_auth_link:update"] })
  @Mutation(() => CompleteExternalAuthDevicePayload, {
    description:
      "Links the account of a device code once the user has confirmed it. Until then, fails with BAD_USER_INPUT and the code of RFC 8628 in `extensions.reason`, such as `authorization_pending`.",
  })
  async completeExternalAuthDevice(
    @Arg("input", () => CompleteExternalAuthDeviceInput, { description: "The device code." })
    input: CompleteExternalAuthDeviceInput,
    @Ctx() ctx: Context,
  ): Promise<Pick<CompleteExternalAuthDevicePayload, "providerId">> {
    return { providerId: await completeDevice(ctx, input) };
  }
}
