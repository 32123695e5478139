import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import { readAgent } from "../../domain/agents/agent-access.js";
import { AgentLifecycle, type AgentRow, AgentStatus, type AgentUsage } from "../../domain/agents/agents.js";
import { type AppRow, appsByAgent } from "../../domain/agents/agent-apps.js";
import { type AgentLogRow, logsOfAgent } from "../../domain/agents/agent-logs.js";
import { type LogSource, logSourcesOf, type ScriptRow, scriptsByAgent } from "../../domain/agents/scripts.js";
import type { Context } from "../../domain/kernel/context.js";
import type { Page } from "../../domain/kernel/paging.js";
import { Access } from "../engine/access.js";
import { BigInt, DateTime, Url, UUID } from "../engine/scalars.js";
import { WorkspaceAppType } from "./agent-apps.js";
import { AgentArchitecture, AgentSubsystem, DisplayApp, OperatingSystem, StartupScriptBehavior } from "./kinds.js";
import { LogArgs, WorkspaceAgentLogConnection } from "./agent-logs.js";
import { WorkspaceAgentLogSourceType, WorkspaceScriptType } from "./scripts.js";
import type { LogArguments } from "../../domain/log-lines.js";

@Access({ entryKey: "name" })
@ObjectType("AgentVariable", { simpleResolvers: true, description: "An environment variable." })
export class AgentVariableType {
  @Field({ description: "Name of the variable." }) name!: string;
  @Field({ description: "Value of the variable; may be empty." }) value!: string;
}

@ObjectType("WorkspaceAgentHealth", { simpleResolvers: true, description: "The health of an agent." })
export class WorkspaceAgentHealthType {
  @Field({ description: "Whether the agent is healthy." }) healthy!: boolean;
  @Field(() => String, { nullable: true, description: "Why the agent is not healthy; null if it is." })
  reason!: string | null;
}

@ObjectType("WorkspaceAgentUsage", {
  simpleResolvers: true,
  description: "Processors, memory, and disk of the machine of an agent. Unknown values are null.",
})
export class WorkspaceAgentUsageType implements AgentUsage {
  @Field(() => Int, {
    nullable: true,
    description: "Processors in use, in thousandths of one, since the report before.",
  })
  cpuUsedMillicores?: number | null;
  @Field(() => Int, { nullable: true, description: "All processors, in thousandths of one: 1000 for each." })
  cpuTotalMillicores?: number | null;
  @Field(() => BigInt, { nullable: true, description: "Memory in use, in bytes." }) memoryUsedBytes!: number | null;
  @Field(() => BigInt, { nullable: true, description: "All memory, in bytes." }) memoryTotalBytes!: number | null;
  @Field(() => BigInt, { nullable: true, description: "Disk space in use, in bytes." }) diskUsedBytes!: number | null;
  @Field(() => BigInt, { nullable: true, description: "All disk space, in bytes." }) diskTotalBytes!: number | null;
  @Field(() => DateTime, { description: "When it was reported." }) reportedAt!: string;
}

@ObjectType("WorkspaceAgentLatency", { simpleResolvers: true, description: "Latency of an agent in a region." })
@Access({ entryKey: "region" })
class WorkspaceAgentLatencyType {
  @Field({ description: "Name of the region." }) region!: string;
  @Field(() => Int, { description: "Milliseconds." }) latencyMs!: number;
  @Field({ description: "Whether the agent prefers the region." }) preferred!: boolean;
}

@Access({ readWith: "workspace_agent:read", references: ["id", "name"] })
@ObjectType("WorkspaceAgent", {
  simpleResolvers: true,
  description: "An agent of a started workspace, which reports its state. Each start creates new ones.",
})
export class WorkspaceAgentType implements Omit<
  AgentRow,
  | "buildId"
  | "environment"
  | "connectionTimeout"
  | "isExternal"
  | "lifecycle"
  | "healthReason"
  | "logSourceId"
  | "logSequence"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last updated. Heartbeats do not count." }) updatedAt!: string;
  @Field(() => UUID, { description: "ID of the workspace." }) workspaceId!: string;
  @Field(() => UUID, { description: "ID of the resource that it belongs to." }) resourceId!: string;
  @Field({ description: "Name, unique in the workspace." }) name!: string;
  @Field(() => OperatingSystem, { description: "Operating system of its machine." })
  operatingSystem!: AgentRow["operatingSystem"];
  @Field(() => AgentArchitecture, { description: "Processor of its machine." }) architecture!: AgentRow["architecture"];
  @Field({ description: "Working directory as the template has it; may be empty." }) directory!: string;
  @Field({ description: "Working directory as the agent reported it; may be empty." })
  expandedDirectory!: string;
  @Field(() => StartupScriptBehavior, { description: "The effect of the start scripts on users." })
  startupScriptBehavior!: AgentRow["startupScriptBehavior"];
  @Field(() => Url, { description: "Page that helps if the agent does not connect; may be empty." })
  troubleshootingUrl!: string;
  @Access({ countsAs: 1 })
  @Field(() => [DisplayApp], { description: "Built-in apps that dashboards show." })
  displayApps!: string[];
  @Field({ description: "Version of its program; empty until it started." }) version!: string;
  @Field({ description: "Version of the interface that it uses; may be empty." }) apiVersion!: string;
  @Access({ countsAs: 1 })
  @Field(() => [AgentSubsystem], { description: "Parts of its environment, as it reported them." })
  subsystems!: string[];
  @Field(() => DateTime, { nullable: true, description: "When it last started; null before." })
  startedAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When its start scripts ended, or failed; null before." })
  readyAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When it first connected; null before." })
  firstConnectedAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When it was last seen; null before it connected." })
  lastConnectedAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "When it disconnected, or was last seen before it fell silent; null while it is connected.",
  })
  disconnectedAt!: string | null;
  @Field(() => Int, { description: "Size of its log in bytes, with one for the end of each line; at most 1 MiB." })
  logsLength!: number;
  @Field({ description: "Whether lines of its log were dropped." }) logsOverflowed!: boolean;
  @Field(() => AgentStatus, { description: "The connection to the server." }) status!: AgentStatus;
  @Field(() => WorkspaceAgentUsageType, {
    nullable: true,
    description: "Processors, memory, and disk of its machine; null until it reported them.",
  })
  usage!: AgentUsage | null;
}

@Resolver(() => WorkspaceAgentType)
export class WorkspaceAgentsResolver {
  @FieldResolver(() => UUID, { nullable: true, description: "ID of the agent that it is a part of. Always null." })
  parentId(): null {
    return null;
  }

  @FieldResolver(() => Boolean, { description: "Whether it runs outside of the provisioner daemon." })
  external(@Root() { isExternal }: AgentRow): boolean {
    return isExternal;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [AgentVariableType], { description: "Variables of the template, by name. Never secrets." })
  environmentVariables(@Root() { environment }: AgentRow): AgentVariableType[] {
    return Object.entries(environment).map(([name, value]) => ({ name, value }));
  }

  @FieldResolver(() => Int, { description: "Seconds in which the agent should connect; 0 for no limit." })
  connectionTimeoutSeconds(@Root() { connectionTimeout }: AgentRow): number {
    return connectionTimeout;
  }

  @FieldResolver(() => AgentLifecycle, { description: "State that the agent reported last." })
  lifecycleState(@Root() { lifecycle }: AgentRow): AgentLifecycle {
    return lifecycle;
  }

  @FieldResolver(() => WorkspaceAgentHealthType, { description: "Its health." })
  health(@Root() { healthReason }: AgentRow): WorkspaceAgentHealthType {
    return { healthy: healthReason === null, reason: healthReason };
  }

  @Access({ countsAs: 1 })
  @FieldResolver(() => [WorkspaceAgentLatencyType], { description: "Latencies by region. Always empty." })
  latency(): WorkspaceAgentLatencyType[] {
    return [];
  }

  @Access({ countsAs: 5 })
  @FieldResolver(() => [WorkspaceAppType], { description: "Its apps in the order of the template, at most 50." })
  apps(@Root() { id }: AgentRow, @Ctx() ctx: Context): Promise<AppRow[]> {
    return ctx.load(appsByAgent, id);
  }

  @Access({ countsAs: 5 })
  @FieldResolver(() => [WorkspaceScriptType], { description: "Its scripts in the order of the template, at most 50." })
  scripts(@Root() { id }: AgentRow, @Ctx() ctx: Context): Promise<ScriptRow[]> {
    return ctx.load(scriptsByAgent, id);
  }

  @Access({ countsAs: 5 })
  @FieldResolver(() => [WorkspaceAgentLogSourceType], {
    description: "The sources of its log: the agent itself, then its scripts.",
  })
  logSources(@Root() agent: AgentRow, @Ctx() ctx: Context): Promise<LogSource[]> {
    return logSourcesOf(ctx, agent);
  }

  @FieldResolver(() => WorkspaceAgentLogConnection, { description: "Its log, oldest lines first." })
  logs(
    @Root() agent: AgentRow,
    @Args(() => LogArgs) args: LogArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<AgentLogRow>> {
    return logsOfAgent(ctx, agent, args);
  }

  @Access({ needs: ["workspace_agent:read"] })
  @Query(() => WorkspaceAgentType, { nullable: true, description: "Returns an agent of a workspace." })
  workspaceAgent(
    @Arg("id", () => UUID, { description: "ID of the agent." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<AgentRow> {
    return readAgent(ctx, id);
  }
}
