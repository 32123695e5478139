import { Ctx, Field, FieldResolver, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { readServerInfo, type ServerInfo } from "../domain/deployment/deployment.js";
import { sendsPasscodes } from "../domain/sign-in/passcodes.js";
import { Open } from "./engine/access.js";
import { Url, UUID } from "./engine/scalars.js";

@ObjectType("ServerInfo", { simpleResolvers: true, description: "Public information about this server." })
class ServerInfoType implements ServerInfo {
  @Field(() => String, { description: "Version of the server software." }) version!: string;
  @Field(() => Url, { description: "External URL of the deployment; the base of every link it generates." })
  accessUrl!: string;
  @Field(() => UUID, { description: "Unique ID of the deployment, shared by all of its replicas." })
  deploymentId!: string;
}

@Resolver(() => ServerInfoType)
export class DeploymentResolver {
  @FieldResolver(() => Boolean, {
    description:
      "Whether users who forgot their password can request a one-time passcode: passwords are in use, and there is a way to deliver passcodes.",
  })
  sendsPasscodes(@Ctx() ctx: Context): Promise<boolean> {
    return sendsPasscodes(ctx);
  }

  @Open()
  @Query(() => ServerInfoType, {
    description: "Returns public information about this server. Requires no authentication.",
  })
  serverInfo(@Ctx() ctx: Context): Promise<ServerInfo> {
    return readServerInfo(ctx);
  }
}
