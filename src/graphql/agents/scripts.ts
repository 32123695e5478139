import { Field, Int, ObjectType } from "type-graphql";
import { type LogSource, type ScriptRow, ScriptStatus } from "../../domain/agents/scripts.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { enumType } from "../engine/declarations.js";

enumType({ ScriptStatus }, "How the last run of a script ended.", {
  OK: "It exited with 0.",
  EXIT_FAILURE: "It exited with another code.",
  TIMED_OUT: "It was ended because it took longer than its timeout.",
  PIPES_LEFT_OPEN: "It exited, but its children kept its output open.",
});

@ObjectType("WorkspaceScript", { simpleResolvers: true, description: "A script that an agent runs." })
export class WorkspaceScriptType implements Omit<ScriptRow, "agentId"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field({ description: "Display name." }) displayName!: string;
  @Field({ description: "Text of the script." }) script!: string;
  @Field({ description: "When it runs, as the five fields of cron; empty if not by time." })
  cron!: string;
  @Field({ description: "File that receives its output; may be empty." }) logPath!: string;
  @Field(() => UUID, { description: "ID of its lines in the log of the agent." }) logSourceId!: string;
  @Field({ description: "Whether it runs when the workspace starts." }) runOnStart!: boolean;
  @Field({ description: "Whether it runs when the workspace stops." }) runOnStop!: boolean;
  @Field({ description: "Whether users cannot sign in to the workspace before it ended." })
  startBlocksLogin!: boolean;
  @Field(() => Int, { description: "Seconds after which a run is ended; 0 for no limit." }) timeout!: number;
  @Field(() => Int, { nullable: true, description: "Exit code of the last run; null before the first." })
  exitCode!: number | null;
  @Field(() => ScriptStatus, { nullable: true, description: "How the last run ended; null before the first." })
  status!: ScriptStatus | null;
  @Field(() => DateTime, { nullable: true, description: "When the last run began, by the clock of the agent." })
  startedAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When the last run ended, by the clock of the agent." })
  endedAt!: string | null;
}

@ObjectType("WorkspaceAgentLogSource", {
  simpleResolvers: true,
  description: "A source of the log of an agent: the agent itself, or one of its scripts.",
})
export class WorkspaceAgentLogSourceType implements LogSource {
  @Field(() => UUID, { description: "ID of its lines." }) id!: string;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => UUID, { description: "ID of the agent." }) agentId!: string;
  @Field({ description: "`Agent`, or the display name of the script." }) displayName!: string;
  @Field({ description: "URL of an icon. Always empty." }) icon!: string;
}
