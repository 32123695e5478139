import { Arg, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  findWorkspaceProxy,
  listWorkspaceProxies,
  readWorkspaceProxy,
  type WorkspaceProxyRow,
  type WorkspaceProxyStatus,
  proxyReference,
} from "../../domain/workspace-proxies/workspace-proxies.js";
import { type ProxyReport, ProxyStatus } from "../../domain/workspace-proxies/health.js";
import {
  createWorkspaceProxy,
  CreateWorkspaceProxy,
  deleteWorkspaceProxy,
  DeleteWorkspaceProxy,
  updateWorkspaceProxy,
  UpdateWorkspaceProxy,
} from "../../domain/workspace-proxies/proxy-changes.js";
import { type ProxyReplica, replicasByProxy } from "../../domain/workspace-proxies/proxy-registration.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";

enumType({ ProxyStatus }, "Result of the last health check of a workspace proxy.", {
  OK: "The proxy reported no errors.",
  UNHEALTHY: "The proxy reported errors, or its response was not a health report.",
  UNREACHABLE: "The proxy did not respond.",
  UNREGISTERED: "The proxy has not registered, or has not been checked since it did.",
});

@ObjectType("WorkspaceProxyReport", { simpleResolvers: true, description: "Health report of a workspace proxy." })
class WorkspaceProxyReportType implements ProxyReport {
  @Field(() => [String], { description: "Errors reported by the proxy, or the reason why the check failed." })
  errors!: string[];
  @Field(() => [String], { description: "Warnings reported by the proxy." }) warnings!: string[];
}

@ObjectType("WorkspaceProxyStatus", {
  simpleResolvers: true,
  description: "The last health check of a workspace proxy. All fields are null for deleted proxies.",
})
class WorkspaceProxyStatusType implements WorkspaceProxyStatus {
  @Field(() => DateTime, {
    nullable: true,
    description: "When the proxy was last checked; null before the first check.",
  })
  checkedAt!: string | null;
  @Field(() => WorkspaceProxyReportType, { nullable: true, description: "Report of the proxy." })
  report!: ProxyReport | null;
  @Field(() => ProxyStatus, { nullable: true, description: "Result of the check." }) status!: ProxyStatus | null;
}

@Access({ readWith: "system:read" })
@ObjectType("WorkspaceProxyReplica", {
  simpleResolvers: true,
  description: "A running replica of a workspace proxy. Replicas that send no heartbeat for 90 seconds are removed.",
})
class WorkspaceProxyReplicaType implements Omit<ProxyReplica, "proxyId"> {
  @Field(() => UUID, { description: "ID chosen by the replica." }) id!: string;
  @Field({ description: "Hostname of the replica; may be empty." }) hostname!: string;
  @Field({ description: "Software version of the replica; may be empty." }) version!: string;
  @Field(() => DateTime, { description: "When the replica first registered." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the replica last sent a heartbeat." }) lastSeenAt!: string;
}

@Access({ readWith: "workspace_proxy:read", references: ["id", "name", "displayName", "icon"] })
@ObjectType("WorkspaceProxy", {
  simpleResolvers: true,
  description:
    "A server that carries the traffic of workspace applications. The first one, `primary`, is the deployment itself.",
})
export class WorkspaceProxyType implements WorkspaceProxyRow {
  @Field(() => UUID, { description: "Unique ID. The primary proxy has the ID of the deployment." }) id!: string;
  @Field({ description: "Name, unique among proxies that are not deleted, case-insensitive." })
  name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field(() => Url, { description: "Base URL of applications served by path; empty until the proxy registers." })
  pathAppUrl!: string;
  @Field({
    description: "Wildcard hostname at which applications are served, such as `*.eu.example.com`; may be empty.",
  })
  wildcardHostname!: string;
  @Field({ description: "Whether the proxy relays connections (DERP), as reported by the proxy." })
  derpEnabled!: boolean;
  @Field({
    description: "Whether the proxy relays connections and serves no applications, as reported by the proxy.",
  })
  derpOnly!: boolean;
  @Field({ description: "Software version reported by the proxy; empty until it registers." })
  version!: string;
  @Field({ description: "Whether the last health check succeeded." }) healthy!: boolean;
  @Field({ description: "Whether the proxy was deleted." }) deleted!: boolean;
  @Field(() => WorkspaceProxyStatusType, { description: "The last health check." }) status!: WorkspaceProxyStatus;
  @Field(() => DateTime, { description: "When the proxy was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the proxy was last updated, or last reported different properties." })
  updatedAt!: string;
}

@Access({ readWith: "workspace_proxy:read", references: ["id", "name", "displayName", "icon"] })
@ObjectType("Region", {
  simpleResolvers: true,
  description: "A location at which workspace applications can be opened: the deployment itself or a workspace proxy.",
})
class RegionType implements Pick<
  WorkspaceProxyRow,
  "id" | "name" | "displayName" | "icon" | "healthy" | "pathAppUrl" | "wildcardHostname"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Unique name." }) name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field({ description: "Whether the last health check succeeded." }) healthy!: boolean;
  @Field(() => Url, { description: "Base URL of applications served by path; empty until the proxy registers." })
  pathAppUrl!: string;
  @Field({ description: "Wildcard hostname at which applications are served; may be empty." })
  wildcardHostname!: string;
}

/** Description of arguments that name a workspace proxy. */

const CreateWorkspaceProxyInput = inputType("CreateWorkspaceProxyInput", CreateWorkspaceProxy);

const UpdateWorkspaceProxyInput = inputType("UpdateWorkspaceProxyInput", UpdateWorkspaceProxy, {
  description: "Input of `updateWorkspaceProxy`. Omitted fields keep their value.",
});

const DeleteWorkspaceProxyInput = inputType("DeleteWorkspaceProxyInput", DeleteWorkspaceProxy);

export const changedProxy = {
  workspaceProxy: { type: () => WorkspaceProxyType, description: "The workspace proxy after the change." },
};

/** The payload of a mutation that changes a workspace proxy, which is read if selected. */
export const readChangedProxy = (ctx: Context, id: string) => ({ workspaceProxy: () => readWorkspaceProxy(ctx, id) });

@Resolver(() => WorkspaceProxyType)
export class WorkspaceProxiesResolver {
  @Access({ needs: ["workspace_proxy:read"], countsAs: 100 })
  @Query(() => [WorkspaceProxyType], {
    description: "Lists all workspace proxies: the primary proxy first, then the others by name.",
  })
  workspaceProxies(@Ctx() ctx: Context): Promise<WorkspaceProxyRow[]> {
    return listWorkspaceProxies(ctx);
  }

  @Access({ needs: ["workspace_proxy:read"] })
  @Query(() => WorkspaceProxyType, {
    nullable: true,
    description: "Returns a workspace proxy. Deleted proxies are found by ID.",
  })
  workspaceProxy(
    @Arg("workspaceProxy", { description: proxyReference }) workspaceProxy: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceProxyRow> {
    return findWorkspaceProxy(ctx, workspaceProxy);
  }

  @Access({ needs: ["workspace_proxy:read"], countsAs: 100 })
  @Query(() => [RegionType], {
    description:
      "Lists the locations at which workspace applications can be opened: the primary proxy first, then the others by name.",
  })
  regions(@Ctx() ctx: Context): Promise<WorkspaceProxyRow[]> {
    return listWorkspaceProxies(ctx);
  }

  @Access({ needs: ["system:read"], countsAs: 10 })
  @FieldResolver(() => [WorkspaceProxyReplicaType], {
    description: "Replicas of the proxy, oldest first. Requires the owner role.",
  })
  replicas(@Root() { id }: WorkspaceProxyRow, @Ctx() ctx: Context): Promise<ProxyReplica[]> {
    return ctx.load(replicasByProxy, id);
  }

  @Access({ needs: ["workspace_proxy:create"], openTo: ["session", "token"] })
  @Mutates("Creates a workspace proxy, which then registers itself with its token.", {
    ...changedProxy,
    proxyToken: { type: () => String, description: "Token that the proxy authenticates with. Returned only once." },
  })
  async createWorkspaceProxy(
    @Arg("input", () => CreateWorkspaceProxyInput, { description: "The new proxy." }) input: CreateWorkspaceProxy,
    @Ctx() ctx: Context,
  ) {
    const { id, proxyToken } = await createWorkspaceProxy(ctx, input);
    return { ...readChangedProxy(ctx, id), proxyToken };
  }

  @Access({
    needs: ["workspace_proxy:update"],
    byArguments: ({ input }: { input: UpdateWorkspaceProxy }) =>
      input.regenerateToken ? { openTo: ["session", "token"] } : {},
  })
  @Mutates("Updates a workspace proxy, or replaces its token.", {
    ...changedProxy,
    proxyToken: {
      type: () => String,
      nullable: true,
      description: "The new token, if one was created. Returned only once.",
    },
  })
  async updateWorkspaceProxy(
    @Arg("input", () => UpdateWorkspaceProxyInput, { description: "The changes." }) input: UpdateWorkspaceProxy,
    @Ctx() ctx: Context,
  ) {
    const { id, proxyToken } = await updateWorkspaceProxy(ctx, input);
    return { ...readChangedProxy(ctx, id), proxyToken };
  }

  @Access({ needs: ["workspace_proxy:delete"] })
  @Mutates("Deletes a workspace proxy and revokes its token immediately.", changedProxy)
  async deleteWorkspaceProxy(
    @Arg("input", () => DeleteWorkspaceProxyInput, { description: "The proxy to delete." })
    { workspaceProxy }: DeleteWorkspaceProxy,
    @Ctx() ctx: Context,
  ) {
    return readChangedProxy(ctx, await deleteWorkspaceProxy(ctx, workspaceProxy));
  }
}
