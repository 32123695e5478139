import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  findWorkspaceProxy,
  listWorkspaceProxies,
  readWorkspaceProxy,
} from "../../domain/workspace-proxies/workspace-proxies.js";
import {
  type ProxyReport,
  ProxyStatus,
  type WorkspaceProxyRow,
  type WorkspaceProxyStatus,
} from "../../domain/workspace-proxies/row.js";
import {
  type ChangedProxy,
  createWorkspaceProxy,
  deleteWorkspaceProxy,
  type ProxyFields,
  updateWorkspaceProxy,
  type UpdateWorkspaceProxy,
} from "../../domain/workspace-proxies/changes.js";
import { type ProxyReplica, replicasOf } from "../../domain/workspace-proxies/registration.js";
import { CountsAs, Needs, ReadWith } from "../engine/access.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";

registerEnumType(ProxyStatus, {
  name: "ProxyStatus",
  description: "What the last check of a proxy found.",
  valuesConfig: {
    OK: { description: "It reports no errors." },
    UNHEALTHY: { description: "It reports errors, or answers something else than a report." },
    UNREACHABLE: { description: "It does not answer." },
    UNREGISTERED: { description: "It has not registered yet, or was not asked since." },
  },
});

@ObjectType("WorkspaceProxyReport", { simpleResolvers: true, description: "What a proxy says of itself." })
class WorkspaceProxyReportType implements ProxyReport {
  @Field(() => [String], { description: "What is wrong, or why it could not be asked." }) errors!: string[];
  @Field(() => [String], { description: "What may go wrong." }) warnings!: string[];
}

@ObjectType("WorkspaceProxyStatus", {
  simpleResolvers: true,
  description: "How a proxy was when it was last asked. Of a deleted proxy, nothing is known.",
})
class WorkspaceProxyStatusType implements WorkspaceProxyStatus {
  @Field(() => DateTime, { nullable: true, description: "When it was asked; none before the first time." })
  checkedAt!: string | null;
  @Field(() => WorkspaceProxyReportType, { nullable: true, description: "What it said." }) report!: ProxyReport | null;
  @Field(() => ProxyStatus, { nullable: true, description: "What that means." }) status!: ProxyStatus | null;
}

@ReadWith("system:read")
@ObjectType("WorkspaceProxyReplica", {
  simpleResolvers: true,
  description: "A process of a proxy. One that is silent for 90 seconds is gone.",
})
class WorkspaceProxyReplicaType implements ProxyReplica {
  @Field(() => UUID, { description: "Chosen by the process." }) id!: string;
  @Field(() => String, { description: "Where it runs; may be empty." }) hostname!: string;
  @Field(() => String, { description: "Which version it is; may be empty." }) version!: string;
  @Field(() => DateTime, { description: "When it registered first." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last heard of." }) lastSeenAt!: string;
}

@ReadWith("workspace_proxy:read", "id", "name", "displayName", "icon")
@ObjectType("WorkspaceProxy", {
  simpleResolvers: true,
  description: "A server that carries the traffic of applications. The first one, `primary`, is the deployment itself.",
})
export class WorkspaceProxyType implements WorkspaceProxyRow {
  @Field(() => UUID, { description: "Unique id. That of the primary is the deployment's." }) id!: string;
  @Field(() => String, { description: "Unique among living proxies, in any letter case." }) name!: string;
  @Field(() => String, { description: "What people see; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) icon!: string;
  @Field(() => Url, { description: "Where applications are served by path; empty before it registers." })
  pathAppUrl!: string;
  @Field(() => String, {
    description:
      "The names that applications are served at as hosts of their own, such as `*.eu.example.com`; may be empty.",
  })
  wildcardHostname!: string;
  @Field(() => Boolean, { description: "Whether the proxy says that it relays connections." }) derpEnabled!: boolean;
  @Field(() => Boolean, { description: "Whether the proxy says that it does nothing else." }) derpOnly!: boolean;
  @Field(() => String, { description: "As the proxy says; empty before it registers." }) version!: string;
  @Field(() => Boolean, { description: "Whether the last check found nothing wrong." }) healthy!: boolean;
  @Field(() => Boolean, { description: "Whether it was deleted." }) deleted!: boolean;
  @Field(() => WorkspaceProxyStatusType, { description: "What the last check found." }) status!: WorkspaceProxyStatus;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last changed, or said something new of itself." })
  updatedAt!: string;
}

@ReadWith("workspace_proxy:read", "id", "name", "displayName", "icon")
@ObjectType("Region", {
  simpleResolvers: true,
  description: "Somewhere to open applications at: the deployment itself, or a proxy.",
})
class RegionType implements Pick<
  WorkspaceProxyRow,
  "id" | "name" | "displayName" | "icon" | "healthy" | "pathAppUrl" | "wildcardHostname"
> {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => String, { description: "Unique name." }) name!: string;
  @Field(() => String, { description: "What people see; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) icon!: string;
  @Field(() => Boolean, { description: "Whether the last check found nothing wrong." }) healthy!: boolean;
  @Field(() => Url, { description: "Where applications are served by path; empty before it registers." })
  pathAppUrl!: string;
  @Field(() => String, { description: "The names that applications are served at as hosts; may be empty." })
  wildcardHostname!: string;
}

const idOrName = "Id, name in any letter case, or `primary`.";

@InputType({ description: "A proxy to be created." })
class CreateWorkspaceProxyInput implements ProxyFields {
  @Field(() => String, { nullable: true, description: "Required. At most 32 characters, and not `primary`." })
  name?: string;
  @Field(() => String, { nullable: true, description: "What people see, at most 64 characters. Default: empty." })
  displayName?: string;
  @Field(() => String, {
    nullable: true,
    description: "A picture: URL, path on this server, or empty. Default: empty.",
  })
  icon?: string;
}

@InputType({ description: "What to change about a proxy. What is absent stays." })
class UpdateWorkspaceProxyInput implements UpdateWorkspaceProxy {
  @Field(() => String, { description: `${idOrName} The primary keeps its name, and has no token.` })
  workspaceProxy!: string;
  @Field(() => UUID, { nullable: true, description: "If given, the id of this very proxy." }) id?: string;
  @Field(() => String, { nullable: true, description: "At most 32 characters, and not `primary`; empty keeps it." })
  name?: string;
  @Field(() => String, { nullable: true, description: "What people see, at most 64 characters." }) displayName?: string;
  @Field(() => String, { nullable: true, description: "A picture: URL, path on this server, or empty." }) icon?: string;
  @Field(() => Boolean, { nullable: true, description: "Whether to end the token and make another one." })
  regenerateToken?: boolean;
}

@InputType({ description: "A proxy to be deleted." })
class DeleteWorkspaceProxyInput {
  @Field(() => String, { description: idOrName }) workspaceProxy!: string;
}

/** Holds the id; the proxy is read in the transaction of the verb. */
@ObjectType()
export abstract class ChangedWorkspaceProxy {
  id!: string;

  @Field(() => WorkspaceProxyType, { description: "The proxy." })
  workspaceProxy(@Ctx() ctx: Context): Promise<WorkspaceProxyRow> {
    return readWorkspaceProxy(ctx, this.id);
  }
}

@ObjectType({ description: "A created proxy." })
class CreateWorkspaceProxyPayload extends ChangedWorkspaceProxy {
  @Field(() => String, { description: "What it signs in with. It is shown this once.", simple: true })
  proxyToken!: string;
}

@ObjectType({ description: "A changed proxy." })
class UpdateWorkspaceProxyPayload extends ChangedWorkspaceProxy {
  @Field(() => String, {
    nullable: true,
    description: "The new token, if one was made. It is shown this once.",
    simple: true,
  })
  proxyToken?: string | null;
}

@ObjectType({ description: "A deleted proxy." })
class DeleteWorkspaceProxyPayload extends ChangedWorkspaceProxy {}

@Resolver(() => WorkspaceProxyType)
export class WorkspaceProxiesResolver {
  @Needs("workspace_proxy:read")
  @CountsAs(100)
  @Query(() => [WorkspaceProxyType], { description: "The primary, then all proxies by name." })
  workspaceProxies(@Ctx() ctx: Context): Promise<WorkspaceProxyRow[]> {
    return listWorkspaceProxies(ctx);
  }

  @Needs("workspace_proxy:read")
  @Query(() => WorkspaceProxyType, { description: "One proxy; by its id, also a deleted one." })
  workspaceProxy(
    @Arg("idOrName", () => String, { description: idOrName }) ref: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceProxyRow> {
    return findWorkspaceProxy(ctx, ref);
  }

  @Needs("workspace_proxy:read")
  @CountsAs(100)
  @Query(() => [RegionType], {
    description: "Where applications can be opened: at the primary, then at proxies by name.",
  })
  regions(@Ctx() ctx: Context): Promise<WorkspaceProxyRow[]> {
    return listWorkspaceProxies(ctx);
  }

  @Needs("system:read")
  @CountsAs(10)
  @FieldResolver(() => [WorkspaceProxyReplicaType], { description: "Its processes, oldest first: for administrators." })
  replicas(@Root() proxy: WorkspaceProxyRow, @Ctx() ctx: Context): Promise<ProxyReplica[]> {
    return replicasOf(ctx, proxy);
  }

  @Needs("workspace_proxy:create")
  @Mutation(() => CreateWorkspaceProxyPayload, { description: "Creates a proxy, which registers by itself." })
  createWorkspaceProxy(
    @Arg("input", () => CreateWorkspaceProxyInput, { description: "The proxy." }) input: CreateWorkspaceProxyInput,
    @Ctx() ctx: Context,
  ): Promise<ChangedProxy> {
    return createWorkspaceProxy(ctx, input);
  }

  @Needs("workspace_proxy:update")
  @Mutation(() => UpdateWorkspaceProxyPayload, {
    description: "Changes what people read about a proxy, or ends its token and makes another one.",
  })
  updateWorkspaceProxy(
    @Arg("input", () => UpdateWorkspaceProxyInput, { description: "What to change." }) input: UpdateWorkspaceProxyInput,
    @Ctx() ctx: Context,
  ): Promise<ChangedProxy> {
    return updateWorkspaceProxy(ctx, input);
  }

  @Needs("workspace_proxy:delete")
  @Mutation(() => DeleteWorkspaceProxyPayload, { description: "Deletes a proxy. Its token ends at once." })
  async deleteWorkspaceProxy(
    @Arg("input", () => DeleteWorkspaceProxyInput, { description: "The proxy." })
    { workspaceProxy }: DeleteWorkspaceProxyInput,
    @Ctx() ctx: Context,
  ): Promise<ChangedProxy> {
    return { id: await deleteWorkspaceProxy(ctx, workspaceProxy) };
  }
}
