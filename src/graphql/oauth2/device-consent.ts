import { Arg, Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import { userIdOf } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import {
  approveDevice,
  denyDevice,
  DeviceDecision,
  type DeviceRequest,
  readDeviceRequest,
} from "../../domain/oauth2/device-codes.js";
import { Access, type AccessOptions } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { DateTime } from "../engine/scalars.js";
import { PresentedRequestType } from "./consent.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

export const ApproveOAuth2DeviceInput = inputType("ApproveOAuth2DeviceInput", DeviceDecision, {
  description: "The request of a device that the caller allows.",
});

export const DenyOAuth2DeviceInput = inputType("DenyOAuth2DeviceInput", DeviceDecision, {
  description: "The request of a device that the caller denies.",
});

@ObjectType("OAuth2DeviceRequest", {
  simpleResolvers: true,
  description: "A request of an application on a device, for the user who decides on it.",
})
export class DeviceRequestType extends PresentedRequestType implements DeviceRequest {
  @Field({ description: "The code, as the device shows it." }) userCode!: string;
  @Field(() => String, { nullable: true, description: "IP address of the device." }) ip!: string | null;
  @Field(() => DateTime, { description: "When the device made the request." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the code expires." }) expiresAt!: string;
}

/** The payload of decisions on the request of a device. */
const decision = { appName: { type: () => String, description: "Name of the application." } };

const access: AccessOptions = {
  needs: ["all"],
  openTo: ["session", "token"],
  tries: { secrets: "tokens", accountOf: (_, actor) => userIdOf(actor) },
};

const limits =
  "After ten wrong codes within ten minutes, further ones fail with RATE_LIMITED. Takes a session or an API token with all scopes.";

const DeviceArgs = argumentsOf(DeviceDecision);

@Resolver()
export class OAuth2DeviceConsentResolver {
  @Query(() => DeviceRequestType, {
    nullable: true,
    description: `Returns the request of a device by the code that it shows. ${limits}`,
  })
  @Access(access)
  oauth2DeviceRequest(
    @Args(() => DeviceArgs) { userCode }: DeviceDecision,
    @Ctx() ctx: Context,
  ): Promise<DeviceRequest> {
    return readDeviceRequest(ctx, userCode);
  }

  @Mutates(
    `Grants the application on a device the access that it requests, in the name of the caller. ${limits}`,
    decision,
    "An allowed request: the device gets access when it polls next.",
  )
  @Access(access)
  async approveOAuth2Device(
    @Arg("input", () => ApproveOAuth2DeviceInput, { description: "The code." }) { userCode }: DeviceDecision,
    @Ctx() ctx: Context,
  ) {
    return { appName: await approveDevice(ctx, userCode) };
  }

  @Mutates(`Denies the application on a device the access that it requests. ${limits}`, decision, "A denied request.")
  @Access(access)
  async denyOAuth2Device(
    @Arg("input", () => DenyOAuth2DeviceInput, { description: "The code." }) { userCode }: DeviceDecision,
    @Ctx() ctx: Context,
  ) {
    return { appName: await denyDevice(ctx, userCode) };
  }
}
