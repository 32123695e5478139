import { Arg, Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  ApplicationReference,
  type ApplicationTarget,
  readApplicationTarget,
} from "../../domain/applications/application-access.js";
import { Mutates } from "../engine/declarations.js";
import type { AppConnectKey } from "../../domain/applications/key-ring.js";
import {
  deregisterWorkspaceProxy,
  DeregisterWorkspaceProxy,
  heartbeatWorkspaceProxy,
  HeartbeatWorkspaceProxy,
  registerWorkspaceProxy,
  RegisterWorkspaceProxy,
} from "../../domain/workspace-proxies/proxy-registration.js";
import { Access } from "../engine/access.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { readChangedProxy, changedProxy } from "./workspace-proxies.js";

@ObjectType("AppConnectKey", {
  simpleResolvers: true,
  description: "A symmetric key that decrypts the application keys handed to this workspace proxy, and to no other.",
})
class AppConnectKeyType implements AppConnectKey {
  @Field(() => UUID, { description: "ID of the key, the `kid` header of messages." }) kid!: string;
  @Field({ description: "32 bytes for A256GCM, base64url-encoded." }) key!: string;
  @Field(() => DateTime, { description: "When the key comes into use." }) usableFrom!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the key is superseded by the next one; null if it is not yet.",
  })
  retiredAt!: string | null;
}

const RegisterWorkspaceProxyInput = inputType("RegisterWorkspaceProxyInput", RegisterWorkspaceProxy);

const HeartbeatWorkspaceProxyInput = inputType("HeartbeatWorkspaceProxyInput", HeartbeatWorkspaceProxy);

const DeregisterWorkspaceProxyInput = inputType("DeregisterWorkspaceProxyInput", DeregisterWorkspaceProxy);

const welcomedProxy = {
  ...changedProxy,
  appConnectKeys: {
    type: () => [AppConnectKeyType],
    description: "The proxy's keys, oldest first: recently superseded, current, and upcoming ones.",
  },
};

@ObjectType("ApplicationTarget", {
  simpleResolvers: true,
  description: "A workspace application, and whether the visitor may open it.",
})
class ApplicationTargetType implements ApplicationTarget {
  @Field(() => UUID, { description: "ID of the workspace." }) workspaceId!: string;
  @Field(() => UUID, { description: "ID of the workspace agent that serves the application." }) agentId!: string;
  @Field(() => UUID, { description: "ID of the application." }) appId!: string;
  @Field(() => Url, {
    nullable: true,
    description: "URL at which the agent reaches the application; null unless the visitor may open it.",
  })
  url!: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of the visitor; null unless the application key is valid." })
  userId!: string | null;
  @Field({ description: "Whether the visitor may open the application." }) allowed!: boolean;
}

const ApplicationTargetArgs = argumentsOf(ApplicationReference);

@Resolver()
export class ProxyReportsResolver {
  @Access({ openTo: ["proxy"] })
  @Mutates(
    "Registers a replica of the calling workspace proxy. The replica must send a heartbeat every 30 seconds.",
    welcomedProxy,
  )
  async registerWorkspaceProxy(
    @Arg("input", () => RegisterWorkspaceProxyInput, { description: "The replica." })
    input: RegisterWorkspaceProxy,
    @Ctx() ctx: Context,
  ) {
    const { id, appConnectKeys } = await registerWorkspaceProxy(ctx, input);
    return { ...readChangedProxy(ctx, id), appConnectKeys };
  }

  @Access({ openTo: ["proxy"] })
  @Mutates(
    "Records a heartbeat of a replica of the calling workspace proxy. Fails with NOT_FOUND if the replica was silent for too long; it must then register again.",
    welcomedProxy,
  )
  async heartbeatWorkspaceProxy(
    @Arg("input", () => HeartbeatWorkspaceProxyInput, { description: "The replica." })
    input: HeartbeatWorkspaceProxy,
    @Ctx() ctx: Context,
  ) {
    const { id, appConnectKeys } = await heartbeatWorkspaceProxy(ctx, input);
    return { ...readChangedProxy(ctx, id), appConnectKeys };
  }

  @Access({ openTo: ["proxy"] })
  @Mutates("Deregisters a replica of the calling workspace proxy.", changedProxy)
  async deregisterWorkspaceProxy(
    @Arg("input", () => DeregisterWorkspaceProxyInput, { description: "The replica." })
    input: DeregisterWorkspaceProxy,
    @Ctx() ctx: Context,
  ) {
    return readChangedProxy(ctx, await deregisterWorkspaceProxy(ctx, input.replicaId));
  }

  @Access({ openTo: ["proxy"] })
  @Query(() => ApplicationTargetType, {
    nullable: true,
    description:
      "Resolves a workspace application for the calling workspace proxy, and whether the visitor may open it.",
  })
  applicationTarget(
    @Args(() => ApplicationTargetArgs) args: ApplicationReference,
    @Ctx() ctx: Context,
  ): Promise<ApplicationTarget> {
    return readApplicationTarget(ctx, args);
  }
}
