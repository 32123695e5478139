import { Ctx, Field, FieldResolver, Int, ObjectType, Resolver, Root } from "type-graphql";
import {
  AppHealth,
  AppOpenIn,
  type AppRow,
  AppSharingLevel,
  AppState,
  type AppStatusRow,
  healthcheckOf,
  needsAttention,
  statusesByApp,
  subdomainNameOf,
} from "../../domain/agents/agent-apps.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { DateTime, Url, UUID } from "../engine/scalars.js";

enumType({ AppHealth }, "Health of a workspace app, as its agent checks it.", {
  DISABLED: "The app has no health check.",
  INITIALIZING: "The agent has not reported a result yet.",
  HEALTHY: "The last check succeeded.",
  UNHEALTHY: "Several checks in a row failed.",
});

enumType({ AppSharingLevel }, "Who may open a workspace app.", {
  OWNER: "Users who may enter the workspace.",
  AUTHENTICATED: "All users.",
  ORGANIZATION: "All members of the organization of the workspace.",
  PUBLIC: "Everyone, also without an account.",
});

enumType({ AppOpenIn }, "Where a dashboard opens a workspace app.", {
  SLIM_WINDOW: "In a window without controls.",
  TAB: "In a tab.",
});

enumType({ AppState }, "The state of a program in a workspace app.", {
  WORKING: "It works.",
  IDLE: "It waits for input.",
  COMPLETE: "It has completed its work.",
  FAILED: "It could not complete its work.",
});

@ObjectType("WorkspaceAppStatus", {
  simpleResolvers: true,
  description: "A report of a program about its work in a workspace app.",
})
export class WorkspaceAppStatusType implements AppStatusRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When it was reported." }) createdAt!: string;
  @Field(() => UUID, { description: "ID of the workspace." }) workspaceId!: string;
  @Field(() => UUID, { description: "ID of the agent that reported it." }) agentId!: string;
  @Field(() => UUID, { description: "ID of the app." }) appId!: string;
  @Field(() => AppState, { description: "The state of the program." }) state!: AppState;
  @Field({ description: "Message of the program, at most 160 bytes; may be empty." }) message!: string;
  @Field({ description: "URI of what the message is about, such as a pull request; may be empty." })
  uri!: string;
}

@ObjectType("WorkspaceAppHealthcheck", { simpleResolvers: true, description: "How an agent checks a workspace app." })
class WorkspaceAppHealthcheckType {
  @Field(() => Url, { description: "URL that the agent requests." }) url!: string;
  @Field(() => Int, { description: "Seconds between two checks." }) interval!: number;
  @Field(() => Int, { description: "Number of failures in a row after which the app is unhealthy." })
  threshold!: number;
}

@ObjectType("WorkspaceApp", {
  simpleResolvers: true,
  description: "An application that an agent serves, or a link or a command that belongs to it.",
})
export class WorkspaceAppType implements Pick<AppRow, "id" | "slug" | "displayName" | "icon" | "command" | "health"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name in URLs, unique in the agent." }) slug!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field(() => Url, { description: "URL of an icon; may be empty." }) icon!: string;
  @Field(() => Url, { description: "URL at which the agent reaches the app; empty if it has none." }) url!: string;
  @Field({ description: "Command that runs in a terminal; empty if the app has a URL." })
  command!: string;
  @Field(() => AppOpenIn, { description: "Where a dashboard opens the app." }) openIn!: AppOpenIn;
  @Field(() => AppSharingLevel, { description: "Who may open the app." }) sharingLevel!: AppSharingLevel;
  @Field({ description: "Explanation of the app; may be empty." }) tooltip!: string;
  @Field(() => AppHealth, { description: "Health of the app." }) health!: AppHealth;
}

@Resolver(() => WorkspaceAppStatusType)
export class WorkspaceAppStatusesResolver {
  @FieldResolver(() => Url, { description: "URL of an icon. Always empty." })
  icon(): string {
    return "";
  }

  @FieldResolver(() => Boolean, { description: "Whether the program waits for its user: it is idle, or has failed." })
  needsUserAttention(@Root() status: AppStatusRow): boolean {
    return needsAttention(status);
  }
}

@Resolver(() => WorkspaceAppType)
export class WorkspaceAppsResolver {
  @FieldResolver(() => Boolean, { description: "Whether clients open the URL by themselves." })
  external(@Root() { isExternal }: AppRow): boolean {
    return isExternal;
  }

  @FieldResolver(() => String, { description: "Name of the group in which the app is shown; may be empty." })
  group(@Root() { groupName }: AppRow): string {
    return groupName;
  }

  @FieldResolver(() => Boolean, { description: "Whether dashboards hide the app." })
  hidden(@Root() { isHidden }: AppRow): boolean {
    return isHidden;
  }

  @FieldResolver(() => Boolean, { description: "Whether the app is served at a host of its own." })
  subdomain(@Root() { isOnSubdomain }: AppRow): boolean {
    return isOnSubdomain;
  }

  @FieldResolver(() => String, {
    description:
      "The first label of the host of the app: slug, agent, workspace and owner with two hyphens between them. If this has more than 63 characters, `h-` and 32 hexadecimal digits.",
  })
  subdomainName(@Root() app: AppRow): string {
    return subdomainNameOf(app);
  }

  @FieldResolver(() => WorkspaceAppHealthcheckType, { nullable: true, description: "The health check; null without." })
  healthcheck(@Root() app: AppRow): WorkspaceAppHealthcheckType | null {
    return healthcheckOf(app);
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [WorkspaceAppStatusType], { description: "The reports of programs, newest first; at most 100." })
  statuses(@Root() { id }: AppRow, @Ctx() ctx: Context): Promise<AppStatusRow[]> {
    return ctx.load(statusesByApp, id);
  }
}
