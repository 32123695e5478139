import { appBearer } from "../../domain/tasks/input-delivery.js";
import { Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root, Subscription } from "type-graphql";
import { type AgentEvent, watchAgentEvents } from "../../domain/agents/agent-reports.js";
import { type AgentManifest, readAgentManifest } from "../../domain/agents/manifest.js";
import type { AppRow } from "../../domain/agents/agent-apps.js";
import type { ScriptRow } from "../../domain/agents/scripts.js";
import type { Context } from "../../domain/kernel/context.js";
import { TaskProtocol } from "../../domain/tasks/conversation.js";
import type { UndeliveredSecret } from "../../domain/user-secrets/secret-delivery.js";
import { Access, watchedBy } from "../engine/access.js";
import { Url, UUID } from "../engine/scalars.js";
import { AgentVariableType } from "./agents.js";
import { AgentRestart } from "./kinds.js";

@ObjectType("AgentFile", { simpleResolvers: true, description: "A file that an agent writes before its scripts run." })
class AgentFileType {
  @Field({ description: "Path of the file; `~/` is the home directory of the user." }) path!: string;
  @Field({ description: "Content of the file." }) content!: string;
}

@ObjectType("AgentSecretError", { simpleResolvers: true, description: "A secret that could not be delivered." })
class AgentSecretErrorType implements UndeliveredSecret {
  @Field({ description: "Name of the secret." }) name!: string;
  @Field({ description: "Why it was left out." }) reason!: string;
}

@ObjectType("AgentManifestApp", { simpleResolvers: true, description: "An app that an agent serves and checks." })
class AgentManifestAppType {
  @Field({ description: "Name, unique in the agent." }) slug!: string;
  @Field(() => Url, { description: "URL at which the agent reaches the app; empty if it has none." }) url!: string;
}

@Resolver(() => AgentManifestAppType)
export class AgentManifestAppsResolver {
  @FieldResolver(() => Url, { nullable: true, description: "URL to request; null without a health check." })
  healthcheckUrl(@Root() { healthcheckUrl }: AppRow): string | null {
    return healthcheckUrl || null;
  }

  @FieldResolver(() => Int, { nullable: true, description: "Seconds between checks; null without a health check." })
  healthcheckIntervalSeconds(@Root() { healthcheckUrl, healthcheckInterval }: AppRow): number | null {
    return healthcheckUrl ? healthcheckInterval : null;
  }

  @FieldResolver(() => Int, {
    nullable: true,
    description: "Failures in a row after which the app is unhealthy; null without a health check.",
  })
  healthcheckThreshold(@Root() app: AppRow): number | null {
    return app.healthcheckUrl ? app.healthcheckThreshold : null;
  }
}

@ObjectType("AgentManifestScript", { simpleResolvers: true, description: "A script that an agent runs." })
class AgentManifestScriptType {
  @Field(() => UUID, { description: "ID with which its result is reported." }) id!: string;
  @Field({ description: "Display name." }) displayName!: string;
  @Field({ description: "Text of the script." }) script!: string;
  @Field({ description: "Whether it runs when the workspace starts." }) runOnStart!: boolean;
  @Field({ description: "Whether it runs when the workspace stops." }) runOnStop!: boolean;
  @Field({ description: "Whether users cannot sign in to the workspace before it ended." })
  startBlocksLogin!: boolean;
  @Field({ description: "When it runs, as the five fields of cron; empty if not by time." })
  cron!: string;
  @Field({ description: "File that receives its output; may be empty." }) logPath!: string;
  @Field(() => UUID, { description: "ID with which its output is appended to the log." }) logSourceId!: string;
}

@Resolver(() => AgentManifestScriptType)
export class AgentManifestScriptsResolver {
  @FieldResolver(() => Int, { description: "Seconds after which a run is ended; 0 for no limit." })
  timeoutSeconds(@Root() { timeout }: ScriptRow): number {
    return timeout;
  }
}

@ObjectType("AgentTask", { simpleResolvers: true, description: "The task of a workspace." })
class AgentTaskType {
  @Field(() => UUID, { description: "ID of the task." }) id!: string;
  @Field({ description: "Its prompt; may be empty." }) prompt!: string;
  @Field(() => String, {
    nullable: true,
    description: "The slug of the agent's app at which the program of the task is reached; null for other agents.",
  })
  app!: string | null;
  @Field(() => TaskProtocol, { description: "The protocol by which its program is spoken to." })
  protocol!: TaskProtocol;
  @Field({
    description:
      "The bearer token by which the program knows Steward: another one at each start. Empty without an app.",
  })
  appToken!: string;
  @Field(() => String, { nullable: true, description: "The mode of its session; null for that of the program." })
  mode?: string | null;
  @Field(() => String, { nullable: true, description: "The model of its session; null for that of the program." })
  model?: string | null;
  @Field(() => String, { nullable: true, description: "The effort of its session; null for that of the program." })
  effort?: string | null;
}

@ObjectType("AgentManifest", {
  simpleResolvers: true,
  description: "The data with which an agent starts.",
})
class AgentManifestType {
  @Field(() => UUID, { description: "ID of the workspace." }) workspaceId!: string;
  @Field({ description: "Name of the workspace." }) workspaceName!: string;
  @Field(() => UUID, { description: "ID of the owner of the workspace." }) ownerId!: string;
  @Field({ description: "Username of the owner of the workspace." }) ownerUsername!: string;
  @Field(() => Int, { description: "Number of the start." }) buildNumber!: number;
  @Field(() => Url, { description: "Base URL of this server." }) accessUrl!: string;
  @Field({ description: "Working directory; empty for the home directory." }) directory!: string;
  @Access({ countsAs: 1 })
  @Field(() => [String], { description: "Program and arguments; empty if nothing is to be started." })
  command!: string[];
  @Field(() => AgentRestart, { description: "When the command is started again." })
  restart!: AgentManifest["restart"];
  @Field(() => UUID, { description: "ID with which the agent appends its own lines to its log." }) logSourceId!: string;
  @Access({ countsAs: 10 })
  @Field(() => [AgentManifestAppType], { description: "The apps in the order of the template." })
  apps!: AppRow[];
  @Access({ countsAs: 10 })
  @Field(() => [AgentManifestScriptType], { description: "The scripts in the order of the template." })
  scripts!: ScriptRow[];
}

@ObjectType("AgentEvent", { simpleResolvers: true, description: "An instruction to an agent." })
class AgentEventType implements AgentEvent {
  @Field({
    description: "Whether it must end, because a stop or a deletion of the workspace has begun.",
  })
  shutdown!: boolean;
  @Field(() => String, { nullable: true, description: "Why, for people; null unless it must end." })
  reason!: string | null;
}

@Resolver(() => AgentManifestType)
export class AgentManifestResolver {
  @FieldResolver(() => UUID, { description: "ID of the agent." })
  agentId(@Root() { id }: AgentManifest): string {
    return id;
  }

  @FieldResolver(() => String, { description: "Name of the agent." })
  agentName(@Root() { name }: AgentManifest): string {
    return name;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [AgentVariableType], { description: "The variables of the template." })
  env(@Root() { environment }: AgentManifest): AgentVariableType[] {
    return Object.entries(environment).map(([name, value]) => ({ name, value }));
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [AgentVariableType], {
    description:
      "The secrets of the owner that are variables, which override those of the template. Everyone who may enter the workspace can read them; the owner can keep all secrets out of it.",
  })
  secretEnv(@Root() { secrets }: AgentManifest): AgentVariableType[] {
    return secrets.variables;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [AgentFileType], {
    description: "The secrets of the owner that are files. Everyone who may enter the workspace can read them.",
  })
  secretFiles(@Root() { secrets }: AgentManifest): AgentFileType[] {
    return secrets.files;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [AgentSecretErrorType], { description: "The secrets that could not be delivered." })
  secretErrors(@Root() { secrets }: AgentManifest): UndeliveredSecret[] {
    return secrets.errors;
  }

  @FieldResolver(() => AgentTaskType, { nullable: true, description: "The task of the workspace; null without." })
  async task(@Root() manifest: AgentManifest, @Ctx() ctx: Context): Promise<AgentTaskType | null> {
    const { taskId: id, prompt, taskApp: app, taskProtocol: protocol, taskOptions } = manifest;
    if (id === null) return null;
    const appToken = app === null ? "" : await appBearer(ctx.services, manifest.id);
    return { id, prompt: prompt!, app, protocol, appToken, ...taskOptions };
  }

  @Access({ openTo: ["agent"], ignoresUsers: true })
  @Query(() => AgentManifestType, {
    description:
      "Returns what the calling agent needs to start, secrets included. Each delivery is recorded in the audit log. Fails with FORBIDDEN unless the workspace is starting or running and its owner is active.",
  })
  agentManifest(@Ctx() ctx: Context): Promise<AgentManifest> {
    return readAgentManifest(ctx);
  }

  @Access({ openTo: ["agent"] })
  @Subscription(() => AgentEventType, {
    description: "Streams what the calling agent must do: first the current state, then each change.",
    subscribe: watchedBy(watchAgentEvents),
  })
  agentEventReceived(@Root() event: AgentEvent): AgentEvent {
    return event;
  }
}
