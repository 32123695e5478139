import { Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { readServerInfo, type ServerInfo } from "../domain/deployment/deployment.js";
import { Open } from "./engine/access.js";
import { Url, UUID } from "./engine/scalars.js";

@ObjectType("ServerInfo", { simpleResolvers: true, description: "What anybody may know of this server." })
class ServerInfoType implements ServerInfo {
  @Field(() => String, { description: "The version of the program." }) version!: string;
  @Field(() => Url, { description: "Where the deployment is reached; the base of all links." }) accessUrl!: string;
  @Field(() => UUID, { description: "Unique id of the deployment, the same on all its servers." })
  deploymentId!: string;
}

@Resolver()
export class DeploymentResolver {
  @Open()
  @Query(() => ServerInfoType, { description: "What anybody may know of this server." })
  serverInfo(@Ctx() ctx: Context): Promise<ServerInfo> {
    return readServerInfo(ctx);
  }
}
