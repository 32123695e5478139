import { Arg, Ctx, Field, InputType, Int, Resolver } from "type-graphql";
import { AgentLifecycle, agentsById } from "../../domain/agents/agents.js";
import { AppHealth, AppState } from "../../domain/agents/agent-apps.js";
import { type AppStatusReport, reportAppHealth, reportAppStatus } from "../../domain/agents/app-reports.js";
import {
  type AgentResources,
  type AgentStartup,
  disconnectAgent,
  heartbeatAgent,
  reportAgentLifecycle,
  reportAgentResources,
  reportAgentStartup,
} from "../../domain/agents/agent-reports.js";
import { reportScriptResult, type ScriptResult, ScriptStatus } from "../../domain/agents/scripts.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { BigInt, DateTime, UUID } from "../engine/scalars.js";
import { WorkspaceAgentType } from "./agents.js";
import { AgentSubsystem } from "./kinds.js";

/** The states of apps as programs report them. */
const ReportedAppState = { WORKING: "working", IDLE: "idle", COMPLETE: "complete", FAILURE: "failed" } as const;

enumType({ ReportedAppState }, "The state of a program in a workspace app, as it reports it.", {
  WORKING: "It works.",
  IDLE: "It waits for input.",
  COMPLETE: "It has completed its work.",
  FAILURE: "It could not complete its work. Read back as FAILED.",
});

@InputType({ description: "Input of `reportAgentStartup`." })
class ReportAgentStartupInput implements AgentStartup {
  @Field({ description: "Version of the program, at most 64 characters." }) version!: string;
  @Field(() => String, {
    nullable: true,
    description: "Version of the interface that it uses, at most 16 characters. Default: empty.",
  })
  apiVersion?: string | null;
  @Field({ description: "Its working directory, at most 4096 characters." }) expandedDirectory!: string;
  @Field(() => [AgentSubsystem], { nullable: true, description: "Parts of its environment. Default: none." })
  subsystems?: AgentSubsystem[] | null;
}

@InputType({ description: "Input of `reportAgentLifecycle`." })
class ReportAgentLifecycleInput {
  @Field(() => AgentLifecycle, { description: "The state: a later one than before, or STARTING." })
  state!: AgentLifecycle;
}

@InputType({ description: "Health of an app of the calling agent." })
class ReportedAppHealthInput {
  @Field({ description: "Slug of the app." }) slug!: string;
  @Field(() => AppHealth, { description: "Its health; not DISABLED. Ignored for apps without a health check." })
  health!: AppHealth;
}

@InputType({ description: "Input of `reportAppHealth`." })
class ReportAppHealthInput {
  @Field(() => [ReportedAppHealthInput], { description: "The apps, at most 50." }) apps!: ReportedAppHealthInput[];
}

@InputType({ description: "Input of `reportAppStatus`." })
class ReportAppStatusInput implements AppStatusReport {
  @Field({ description: "Slug of an app of the agent." }) appSlug!: string;
  @Field(() => ReportedAppState, { description: "The state of the program." }) state!: AppState;
  @Field({ description: "Message for people, at most 160 bytes; may be empty." }) message!: string;
  @Field(() => String, {
    nullable: true,
    description: "URI of what the message is about: http, https or file, at most 2048 bytes. Default: none.",
  })
  uri?: string | null;
}

@InputType({ description: "Input of `reportScriptResult`." })
class ReportScriptResultInput implements ScriptResult {
  @Field(() => UUID, { description: "ID of a script of the agent." }) scriptId!: string;
  @Field(() => Int, { description: "Exit code of the script." }) exitCode!: number;
  @Field(() => ScriptStatus, { description: "How the run ended." }) status!: ScriptStatus;
  @Field(() => DateTime, { nullable: true, description: "When the run began." }) startedAt?: string | null;
  @Field(() => DateTime, { nullable: true, description: "When the run ended." }) endedAt?: string | null;
}

@InputType({ description: "Input of `reportAgentResources`. Absent values are unknown." })
class ReportAgentResourcesInput implements AgentResources {
  @Field(() => Int, {
    nullable: true,
    description: "Processors in use, in thousandths of one, since the report before.",
  })
  cpuUsedMillicores?: number | null;
  @Field(() => Int, { nullable: true, description: "All processors, in thousandths of one: 1000 for each." })
  cpuTotalMillicores?: number | null;
  @Field(() => BigInt, { nullable: true, description: "Memory in use, in bytes." }) memoryUsedBytes?: number | null;
  @Field(() => BigInt, { nullable: true, description: "All memory, in bytes." }) memoryTotalBytes?: number | null;
  @Field(() => BigInt, { nullable: true, description: "Disk space in use, in bytes." }) diskUsedBytes?: number | null;
  @Field(() => BigInt, { nullable: true, description: "All disk space, in bytes." }) diskTotalBytes?: number | null;
}

const reportedAgent = { agent: { type: () => WorkspaceAgentType, description: "The agent after the report." } };

/** The payload of a report of an agent, which is read if selected. */
const reported = (ctx: Context, id: string) => ({ agent: () => ctx.load(agentsById, id) });

@Resolver()
export class AgentReportsResolver {
  @Access({ openTo: ["agent"] })
  @Mutates("Records that the calling agent is connected. To be called every 10 seconds.", {
    shutdown: {
      type: () => Boolean,
      description: "Whether the agent must end, because a stop or a deletion of the workspace has begun.",
    },
  })
  async agentHeartbeat(@Ctx() ctx: Context) {
    return { shutdown: await heartbeatAgent(ctx) };
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records what the calling agent is, when it starts.", reportedAgent)
  async reportAgentStartup(
    @Arg("input", { description: "The agent." }) input: ReportAgentStartupInput,
    @Ctx() ctx: Context,
  ) {
    return reported(ctx, await reportAgentStartup(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates(
    "Records the state of the calling agent. Fails with CONFLICT for an earlier state than the current one.",
    reportedAgent,
  )
  async reportAgentLifecycle(
    @Arg("input", { description: "The state." }) { state }: ReportAgentLifecycleInput,
    @Ctx() ctx: Context,
  ) {
    return reported(ctx, await reportAgentLifecycle(ctx, state));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records the health of apps of the calling agent.", reportedAgent)
  async reportAppHealth(
    @Arg("input", { description: "The apps." }) { apps }: ReportAppHealthInput,
    @Ctx() ctx: Context,
  ) {
    return reported(ctx, await reportAppHealth(ctx, apps));
  }

  @Access({ openTo: ["agent"] })
  @Mutates(
    "Records what a program does in an app of the calling agent. Work moves the deadline of the workspace.",
    reportedAgent,
  )
  async reportAppStatus(
    @Arg("input", { description: "The status." }) input: ReportAppStatusInput,
    @Ctx() ctx: Context,
  ) {
    return reported(ctx, await reportAppStatus(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records the result of a script of the calling agent.", reportedAgent)
  async reportScriptResult(
    @Arg("input", { description: "The result." }) input: ReportScriptResultInput,
    @Ctx() ctx: Context,
  ) {
    return reported(ctx, await reportScriptResult(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records memory and disk of the machine of the calling agent.", reportedAgent)
  async reportAgentResources(
    @Arg("input", { description: "Memory and disk." })
    input: ReportAgentResourcesInput,
    @Ctx() ctx: Context,
  ) {
    return reported(ctx, await reportAgentResources(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records that the calling agent ends its connection. The next heartbeat begins another.", reportedAgent)
  async disconnectAgent(@Ctx() ctx: Context) {
    return reported(ctx, await disconnectAgent(ctx));
  }
}
