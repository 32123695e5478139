import { Arg, Args, ArgsType, Ctx, Field, InputType, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type ApplicationReference,
  type ApplicationTarget,
  readApplicationTarget,
} from "../../domain/applications/access.js";
import type { AppConnectKey } from "../../domain/applications/key-ring.js";
import {
  deregisterWorkspaceProxy,
  heartbeatWorkspaceProxy,
  type ProxyHeartbeat,
  type ProxyReported,
  registerWorkspaceProxy,
  type RegisterWorkspaceProxy,
} from "../../domain/workspace-proxies/registration.js";
import { OpenTo } from "../engine/access.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { ChangedWorkspaceProxy } from "./workspace-proxies.js";

@ObjectType("AppConnectKey", {
  simpleResolvers: true,
  description: "Opens what is handed to this proxy, and nothing that is handed to others.",
})
class AppConnectKeyType implements AppConnectKey {
  @Field(() => UUID, { description: "What messages name it by." }) kid!: string;
  @Field(() => String, { description: "32 bytes for A256GCM, base64url." }) key!: string;
  @Field(() => DateTime, { description: "From when on it is used." }) usableFrom!: string;
  @Field(() => DateTime, { nullable: true, description: "From when on another one is used." })
  retiredAt!: string | null;
}

const replicaId = "The process, by an id of its own choice.";
const version = "Which version the process is, at most 64 characters.";

@InputType({ description: "What a process of a proxy says when it starts." })
class RegisterWorkspaceProxyInput implements RegisterWorkspaceProxy {
  @Field(() => String, {
    nullable: true,
    description: "Required. Where it is reached: an http or https URL without path.",
  })
  accessUrl?: string;
  @Field(() => String, {
    nullable: true,
    description: "The names that it serves applications at, such as `*.eu.example.com`. Default: none.",
  })
  wildcardHostname?: string;
  @Field(() => Boolean, { nullable: true, description: "Whether it relays connections. Default: true." })
  derpEnabled?: boolean;
  @Field(() => Boolean, { nullable: true, description: "Whether it does nothing else. Default: false." })
  derpOnly?: boolean;
  @Field(() => String, { nullable: true, description: `${version} Default: empty.` }) version?: string;
  @Field(() => UUID, { description: replicaId }) replicaId!: string;
  @Field(() => String, {
    nullable: true,
    description: "Where the process runs, at most 255 characters. Default: empty.",
  })
  hostname?: string;
}

@InputType({ description: "A sign of life of a process of a proxy." })
class HeartbeatWorkspaceProxyInput implements ProxyHeartbeat {
  @Field(() => UUID, { description: replicaId }) replicaId!: string;
  @Field(() => String, { nullable: true, description: `${version} What is absent stays.` }) version?: string;
}

@InputType({ description: "A process of a proxy that ends." })
class DeregisterWorkspaceProxyInput {
  @Field(() => UUID, { description: replicaId }) replicaId!: string;
}

@ObjectType()
abstract class WelcomedWorkspaceProxy extends ChangedWorkspaceProxy {
  @Field(() => [AppConnectKeyType], {
    description: "The keys of this proxy, oldest first: those in use, just retired, and soon to be used.",
    simple: true,
  })
  appConnectKeys!: AppConnectKey[];
}

@ObjectType({ description: "A registered process of a proxy." })
class RegisterWorkspaceProxyPayload extends WelcomedWorkspaceProxy {}

@ObjectType({ description: "A process of a proxy that was heard of." })
class HeartbeatWorkspaceProxyPayload extends WelcomedWorkspaceProxy {}

@ObjectType({ description: "A process of a proxy that is gone." })
class DeregisterWorkspaceProxyPayload extends ChangedWorkspaceProxy {}

@ObjectType("ApplicationTarget", {
  simpleResolvers: true,
  description: "An application, and whether its visitor may open it.",
})
class ApplicationTargetType implements ApplicationTarget {
  @Field(() => UUID, { description: "The workspace." }) workspaceId!: string;
  @Field(() => UUID, { description: "The agent that offers it." }) agentId!: string;
  @Field(() => UUID, { description: "The application." }) appId!: string;
  @Field(() => Url, { nullable: true, description: "Where the agent reaches it; only if the visitor may open it." })
  url!: string | null;
  @Field(() => UUID, { nullable: true, description: "The visitor, if the key counts." }) userId!: string | null;
  @Field(() => Boolean, { description: "Whether the visitor may open it." }) allowed!: boolean;
}

@ArgsType()
class ApplicationTargetArgs implements ApplicationReference {
  @Field(() => String, { description: "The username of the workspace's owner." }) owner!: string;
  @Field(() => String, { description: "The name of the workspace." }) workspace!: string;
  @Field(() => String, { description: "The name of the agent." }) agent!: string;
  @Field(() => String, { description: "The application's." }) slug!: string;
  @Field(() => String, { nullable: true, description: "The application key that the visitor shows, if any." })
  apiKey?: string;
}

@Resolver()
export class ProxyReportsResolver {
  @OpenTo("proxy")
  @Mutation(() => RegisterWorkspaceProxyPayload, {
    description: "A process of the proxy starts. It gives signs of life every 30 seconds from then on.",
  })
  registerWorkspaceProxy(
    @Arg("input", () => RegisterWorkspaceProxyInput, { description: "What it says of itself." })
    input: RegisterWorkspaceProxyInput,
    @Ctx() ctx: Context,
  ): Promise<ProxyReported> {
    return registerWorkspaceProxy(ctx, input);
  }

  @OpenTo("proxy")
  @Mutation(() => HeartbeatWorkspaceProxyPayload, {
    description: "A process of the proxy is there. NOT_FOUND: it was silent for too long, and registers again.",
  })
  heartbeatWorkspaceProxy(
    @Arg("input", () => HeartbeatWorkspaceProxyInput, { description: "Which one." })
    input: HeartbeatWorkspaceProxyInput,
    @Ctx() ctx: Context,
  ): Promise<ProxyReported> {
    return heartbeatWorkspaceProxy(ctx, input);
  }

  @OpenTo("proxy")
  @Mutation(() => DeregisterWorkspaceProxyPayload, { description: "A process of the proxy ends." })
  async deregisterWorkspaceProxy(
    @Arg("input", () => DeregisterWorkspaceProxyInput, { description: "Which one." })
    input: DeregisterWorkspaceProxyInput,
    @Ctx() ctx: Context,
  ): Promise<{ id: string }> {
    return { id: await deregisterWorkspaceProxy(ctx, input.replicaId) };
  }

  @OpenTo("proxy")
  @Query(() => ApplicationTargetType, { description: "Where an application is, and whether its visitor may open it." })
  applicationTarget(@Args() args: ApplicationTargetArgs, @Ctx() ctx: Context): Promise<ApplicationTarget> {
    return readApplicationTarget(ctx, args);
  }
}
