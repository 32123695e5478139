import { Arg, Ctx, Field, Int, ObjectType, Resolver, Root, Subscription } from "type-graphql";
import {
  AgentLogLevel,
  type AgentLogRow,
  appendAgentLogs,
  watchAgentLog,
  AgentLogLine,
  AppendAgentLogs,
} from "../../domain/agents/agent-logs.js";
import type { Context } from "../../domain/kernel/context.js";
import { LogArguments } from "../../domain/log-lines.js";
import { Access, watchedBy } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { connectionOf } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

enumType({ AgentLogLevel }, "Importance of a line of the log of an agent.", {
  TRACE: "Details of every step.",
  DEBUG: "Details for debugging.",
  INFO: "A normal event.",
  WARN: "A condition that may cause an error.",
  ERROR: "An error.",
});

@Access({ readWith: "workspace_agent:read" })
@ObjectType("WorkspaceAgentLog", { simpleResolvers: true, description: "A line of the log of an agent." })
export class WorkspaceAgentLogType implements AgentLogRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => Int, { description: "Number of the line in its log, from 1 on." }) sequence!: number;
  @Field(() => DateTime, { description: "When it was written, by the clock of the agent." }) createdAt!: string;
  @Field(() => AgentLogLevel, { description: "Importance of the line." }) level!: AgentLogLevel;
  @Field(() => UUID, { description: "ID of the log source that wrote it." }) logSourceId!: string;
  @Field({ description: "Text of the line, at most 4 KiB." }) output!: string;
}

export const WorkspaceAgentLogConnection = connectionOf("WorkspaceAgentLog", () => WorkspaceAgentLogType, {
  description: "A page of the log of an agent.",
});

export const LogArgs = argumentsOf(LogArguments);

inputType("AgentLogInput", AgentLogLine, { description: "A line for the log of the calling agent." });

const AppendAgentLogsInput = inputType("AppendAgentLogsInput", AppendAgentLogs);

@Resolver()
export class AgentLogsResolver {
  @Access({ openTo: ["agent"] })
  @Mutates("Appends lines to the log of the calling agent.", {
    overflowed: {
      type: () => Boolean,
      description: "Whether lines were dropped, now or before, because the log of the agent is limited to 1 MiB.",
    },
  })
  async appendAgentLogs(
    @Arg("input", () => AppendAgentLogsInput, { description: "The lines." }) input: AppendAgentLogs,
    @Ctx() ctx: Context,
  ) {
    return { overflowed: await appendAgentLogs(ctx, input) };
  }

  @Access({ needs: ["workspace_agent:read"] })
  @Subscription(() => WorkspaceAgentLogType, {
    description: "Streams the log of an agent: first the lines after `after`, then each line that is appended.",
    subscribe: watchedBy(watchAgentLog),
  })
  workspaceAgentLogAppended(
    @Root() line: AgentLogRow,
    @Arg("agentId", () => UUID, { description: "ID of the agent." }) _agentId: string,
    @Arg("after", () => String, {
      nullable: true,
      description: "The cursor or id of the last received line. Default: the start of the log.",
    })
    _after?: string | null,
  ): AgentLogRow {
    return line;
  }
}
