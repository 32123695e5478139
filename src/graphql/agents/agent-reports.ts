import { Arg, Ctx, Resolver } from "type-graphql";
import { agentsById } from "../../domain/agents/agents.js";
import {
  reportAppHealth,
  reportAppStatus,
  ReportedAppState,
  AppStatusReport,
  ReportAppHealth,
  ReportedAppHealth,
} from "../../domain/agents/app-reports.js";
import {
  disconnectAgent,
  heartbeatAgent,
  reportAgentLifecycle,
  reportAgentResources,
  reportAgentStartup,
  AgentStartup,
  ReportAgentLifecycle,
  AgentResources,
} from "../../domain/agents/agent-reports.js";
import { reportScriptResult, ScriptResult } from "../../domain/agents/scripts.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { WorkspaceAgentType } from "./agents.js";
import { inputType } from "../engine/inputs.js";

enumType({ ReportedAppState }, "The state of a program in a workspace app, as it reports it.", {
  WORKING: "It works.",
  IDLE: "It waits for input.",
  COMPLETE: "It has completed its work.",
  FAILURE: "It could not complete its work. Read back as FAILED.",
});

const ReportAgentStartupInput = inputType("ReportAgentStartupInput", AgentStartup);

const ReportAgentLifecycleInput = inputType("ReportAgentLifecycleInput", ReportAgentLifecycle);

inputType("ReportedAppHealthInput", ReportedAppHealth, { description: "Health of an app of the calling agent." });

const ReportAppHealthInput = inputType("ReportAppHealthInput", ReportAppHealth);

const ReportAppStatusInput = inputType("ReportAppStatusInput", AppStatusReport);

const ReportScriptResultInput = inputType("ReportScriptResultInput", ScriptResult);

const ReportAgentResourcesInput = inputType("ReportAgentResourcesInput", AgentResources, {
  description: "Input of `reportAgentResources`. Absent values are unknown.",
});

const reportedAgent = { agent: { type: () => WorkspaceAgentType, description: "The agent after the report." } };

/** The payload of a report of an agent, which is read if selected. */
const payloadOf = (ctx: Context, id: string) => ({ agent: () => ctx.load(agentsById, id) });

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
    @Arg("input", () => ReportAgentStartupInput, { description: "The agent." }) input: AgentStartup,
    @Ctx() ctx: Context,
  ) {
    return payloadOf(ctx, await reportAgentStartup(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates(
    "Records the state of the calling agent. Fails with CONFLICT for an earlier state than the current one.",
    reportedAgent,
  )
  async reportAgentLifecycle(
    @Arg("input", () => ReportAgentLifecycleInput, { description: "The state." }) { state }: ReportAgentLifecycle,
    @Ctx() ctx: Context,
  ) {
    return payloadOf(ctx, await reportAgentLifecycle(ctx, state));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records the health of apps of the calling agent.", reportedAgent)
  async reportAppHealth(
    @Arg("input", () => ReportAppHealthInput, { description: "The apps." }) input: ReportAppHealth,
    @Ctx() ctx: Context,
  ) {
    return payloadOf(ctx, await reportAppHealth(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates(
    "Records what a program does in an app of the calling agent. Work moves the deadline of the workspace.",
    reportedAgent,
  )
  async reportAppStatus(
    @Arg("input", () => ReportAppStatusInput, { description: "The status." }) input: AppStatusReport,
    @Ctx() ctx: Context,
  ) {
    return payloadOf(ctx, await reportAppStatus(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records the result of a script of the calling agent.", reportedAgent)
  async reportScriptResult(
    @Arg("input", () => ReportScriptResultInput, { description: "The result." }) input: ScriptResult,
    @Ctx() ctx: Context,
  ) {
    return payloadOf(ctx, await reportScriptResult(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records memory and disk of the machine of the calling agent.", reportedAgent)
  async reportAgentResources(
    @Arg("input", () => ReportAgentResourcesInput, { description: "Memory and disk." })
    input: AgentResources,
    @Ctx() ctx: Context,
  ) {
    return payloadOf(ctx, await reportAgentResources(ctx, input));
  }

  @Access({ openTo: ["agent"] })
  @Mutates("Records that the calling agent ends its connection. The next heartbeat begins another.", reportedAgent)
  async disconnectAgent(@Ctx() ctx: Context) {
    return payloadOf(ctx, await disconnectAgent(ctx));
  }
}
