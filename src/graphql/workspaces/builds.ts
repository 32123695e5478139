import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  Int,
  ObjectType,
  Query,
  Resolver,
  Root,
  Subscription,
} from "type-graphql";
import { type AgentRow, agentsByResource } from "../../domain/agents/agents.js";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import { type JobRow, jobsByIds } from "../../domain/provisioners/provisioner-jobs.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import {
  BuildReason,
  buildsByIds,
  buildsOf,
  type BuildRow,
  findBuild,
  metadataOf,
  type ResourceRow,
  resourcesOf,
  watchBuilds,
} from "../../domain/workspaces/builds.js";
import { type WorkspaceRow, workspacesById, WorkspaceStatus } from "../../domain/workspaces/workspaces.js";
import { WorkspaceAgentType } from "../agents/agents.js";
import { Access, watchedBy } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf, PageArgs } from "../engine/lists.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";
import { ProvisionerJobObject } from "../provisioners/provisioner-jobs.js";
import { PublicUserType } from "../users/users.js";
import { WorkspaceTransition } from "./transitions.js";
import { WorkspaceType } from "./workspaces.js";

enumType({ WorkspaceBuildReason: BuildReason }, "Why a build was created.", {
  INITIATOR: "A user requested it.",
  AUTOSTART: "The schedule of the workspace was due.",
  AUTOSTOP: "The deadline of the workspace passed.",
  DORMANCY: "The workspace was not used and became dormant.",
  AUTODELETE: "The workspace was dormant for too long.",
  OWNER_SUSPENDED: "The owner of the workspace was suspended.",
  TASK_MANUAL_PAUSE: "A user paused the task.",
  TASK_AUTO_PAUSE: "The deadline of the workspace of a task passed.",
  TASK_RESUME: "A user resumed the task.",
  DASHBOARD: "A user requested it in a dashboard.",
  CLI: "A user requested it in a command line.",
  SSH_CONNECTION: "An SSH client connected.",
  VSCODE_CONNECTION: "Visual Studio Code connected.",
  JETBRAINS_CONNECTION: "A JetBrains IDE connected.",
});

@Access({ entryKey: "name" })
@ObjectType("WorkspaceParameter", { simpleResolvers: true, description: "The value of a parameter of a build." })
class WorkspaceParameterType {
  @Field({ description: "Name of the parameter." }) name!: string;
  @Field({ description: "Value, as text." }) value!: string;
}

@Access({ readWith: "workspace:read", references: ["id", "buildNumber"] })
@ObjectType("WorkspaceBuild", {
  simpleResolvers: true,
  description: "A start, stop, or deletion of a workspace by a provisioner daemon.",
})
export class WorkspaceBuildType implements Partial<Omit<BuildRow, "parameters">> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => Int, { description: "Number among the builds of the workspace, from 1." }) buildNumber!: number;
  @Field(() => WorkspaceTransition, { description: "The transition of the workspace." })
  transition!: WorkspaceTransition;
  @Field(() => BuildReason, { description: "Why it was created." }) reason!: BuildReason;
  @Field(() => WorkspaceStatus, { description: "Status of the build." }) status!: WorkspaceStatus;
  @Field(() => Int, { description: "Credits a day that its resources cost." }) dailyCost!: number;
  @Field(() => DateTime, { nullable: true, description: "When a started workspace is stopped; null for never." })
  deadline!: string | null;
  @Field(() => DateTime, { nullable: true, description: "The latest value of `deadline`; null if there is none." })
  maxDeadline!: string | null;
  @Field({ description: "Whether it handed a prebuilt workspace to its owner." }) isClaim!: boolean;
  @Field({ description: "Whether the template version has an AI task." }) hasAiTask!: boolean;
  @Field({ description: "Whether an agent of the version runs outside of provisioner daemons." })
  hasExternalAgent!: boolean;
  @Field(() => DateTime, { description: "When the build was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the build was last changed." }) updatedAt!: string;
}

const WorkspaceBuildConnection = connectionOf("WorkspaceBuild", () => WorkspaceBuildType, {
  most: mostCounted,
  description: "A page of builds.",
});

@ObjectType("WorkspaceResourceMetadata", {
  simpleResolvers: true,
  description: "A value that describes a resource.",
})
class ResourceMetadataType {
  @Field({ description: "Name of the value." }) key!: string;
  @Field({ description: "The value; empty if it is sensitive, for all but the workspace owner." })
  value!: string;
  @Field({ description: "Whether only the workspace owner may read the value." }) sensitive!: boolean;
}

@Access({ readWith: "workspace:read", references: ["id", "name"] })
@ObjectType("WorkspaceResource", {
  simpleResolvers: true,
  description: "Something that a build created or kept, such as a machine.",
})
export class WorkspaceResourceType implements Partial<Omit<ResourceRow, "metadata">> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => UUID, { description: "ID of the job that reported it." }) jobId!: string;
  @Field({ description: "Name, unique in the build." }) name!: string;
  @Field({ description: "Type; may be empty." }) type!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field({ description: "Whether clients hide it." }) hide!: boolean;
  @Field(() => Int, { description: "Credits a day that it costs." }) dailyCost!: number;
  @Field(() => WorkspaceTransition, { description: "The transition of the workspace." })
  transition!: WorkspaceTransition;
  @Field(() => DateTime, { description: "When it was reported." }) createdAt!: string;
}

@Resolver(() => WorkspaceResourceType)
export class WorkspaceResourcesResolver {
  @Access({ countsAs: 10 })
  @FieldResolver(() => [ResourceMetadataType], {
    description: "Values that describe it, in the order of the template.",
  })
  metadata(@Root() resource: ResourceRow, @Ctx() ctx: Context): ResourceMetadataType[] {
    return metadataOf(ctx, resource);
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => [WorkspaceAgentType], {
    description: "Agents that run on it; none unless the build is a start.",
  })
  agents(@Root() { id }: ResourceRow, @Ctx() ctx: Context): Promise<AgentRow[]> {
    return ctx.load(agentsByResource, id);
  }
}

@Resolver(() => WorkspaceType)
export class BuildsOfWorkspacesResolver {
  @FieldResolver(() => WorkspaceBuildType, {
    nullable: true,
    description: "The latest build; null while there is none.",
  })
  latestBuild(@Root() { latestBuildId }: WorkspaceRow, @Ctx() ctx: Context): Promise<BuildRow | undefined> | null {
    return latestBuildId === null ? null : ctx.load(buildsByIds, latestBuildId);
  }

  @FieldResolver(() => WorkspaceBuildConnection, { description: "Its builds, the latest first." })
  builds(
    @Root() workspace: WorkspaceRow,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<BuildRow>> {
    return buildsOf(ctx, workspace, page);
  }
}

@Resolver(() => WorkspaceBuildType)
export class WorkspaceBuildsResolver {
  @Access({ needs: ["workspace:read"] })
  @Query(() => WorkspaceBuildType, { nullable: true, description: "Returns a build of a workspace." })
  workspaceBuild(
    @Arg("id", () => UUID, { description: "ID of the build." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<BuildRow> {
    return findBuild(ctx, id);
  }

  @FieldResolver(() => WorkspaceType, { description: "Workspace that was built." })
  workspace(@Root() { workspaceId }: BuildRow, @Ctx() ctx: Context): Promise<WorkspaceRow | undefined> {
    return ctx.load(workspacesById, workspaceId);
  }

  @FieldResolver(() => PublicUserType, { description: "User who requested the build, or a user of the system." })
  initiator(@Root() { initiatorId }: BuildRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, initiatorId);
  }

  @FieldResolver(() => ProvisionerJobObject, { description: "Job of the daemon that does the build." })
  job(@Root() { jobId }: BuildRow, @Ctx() ctx: Context): Promise<JobRow | undefined> {
    return ctx.load(jobsByIds, jobId);
  }

  @FieldResolver(() => UUID, { description: "ID of the template version." })
  templateVersionId(@Root() { versionId }: BuildRow): string {
    return versionId;
  }

  @FieldResolver(() => String, { description: "Name of the template version." })
  templateVersionName(@Root() { versionName }: BuildRow): string {
    return versionName;
  }

  @FieldResolver(() => UUID, { nullable: true, description: "ID of the chosen preset of the version; null if none." })
  templateVersionPresetId(@Root() { presetId }: BuildRow): string | null {
    return presetId;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [WorkspaceParameterType], {
    description: "Values of the parameters, in the order of the template.",
  })
  parameters(@Root() { parameters }: BuildRow): WorkspaceParameterType[] {
    return Object.entries(parameters).map(([name, value]) => ({ name, value }));
  }

  @Access({ countsAs: 5 })
  @FieldResolver(() => [WorkspaceResourceType], {
    description: "The resources that it created or kept; empty until they are reported.",
  })
  resources(@Root() build: BuildRow, @Ctx() ctx: Context): Promise<ResourceRow[]> {
    return resourcesOf(ctx, build);
  }

  @Access({ needs: ["workspace:read"] })
  @Subscription(() => WorkspaceBuildType, {
    description:
      "Streams the latest build of a workspace: first as it is, then after every change of the build or the workspace.",
    subscribe: watchedBy(watchBuilds),
  })
  workspaceBuildUpdated(
    @Root() build: BuildRow,
    @Arg("workspaceId", () => UUID, { description: "ID of the workspace." }) _workspaceId: string,
  ): BuildRow {
    return build;
  }
}
