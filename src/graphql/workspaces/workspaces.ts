import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import { type AgentUsage, usageByWorkspace } from "../../domain/agents/agents.js";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import { type OrganizationRow, organizationsById } from "../../domain/organizations/organizations.js";
import { type TemplateRow, templatesById } from "../../domain/templates/templates.js";
import { type UserRow, usersById } from "../../domain/users/users.js";
import { nextAutostart } from "../../domain/workspaces/autostart.js";
import { isOutdated } from "../../domain/workspaces/builds.js";
import {
  listWorkspaces,
  WorkspaceFilter,
  WorkspaceOrder,
  WorkspacesQuery,
} from "../../domain/workspaces/workspace-list.js";
import {
  type WorkspaceHealth,
  workspaceHealths,
  WorkspaceHealthState,
} from "../../domain/workspaces/workspace-health.js";
import {
  findWorkspace,
  findWorkspaceByName,
  type WorkspaceRow,
  WorkspaceStatus,
} from "../../domain/workspaces/workspaces.js";
import { WorkspaceAgentUsageType } from "../agents/agents.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf, orderType } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { OrganizationType } from "../organizations/organizations.js";
import { TemplateType } from "../templates/templates.js";
import { PublicUserType } from "../users/users.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

/** Description of arguments that name a workspace. */

enumType({ WorkspaceStatus }, "The status of a build, and of the workspace whose latest build it is.", {
  PENDING: "No daemon works on the build yet.",
  STARTING: "A daemon starts the workspace.",
  RUNNING: "The workspace was started.",
  STOPPING: "A daemon stops the workspace.",
  STOPPED: "The workspace was stopped.",
  FAILED: "The build failed.",
  CANCELING: "The build is being canceled.",
  CANCELED: "The build was canceled.",
  DELETING: "A daemon deletes the workspace.",
  DELETED: "The workspace was deleted.",
});

enumType({ WorkspaceHealthState }, "The state of the health of a workspace or a task.", {
  HEALTHY: "Nothing is wrong, and nothing is awaited. It may be stopped.",
  IN_PROGRESS: "It is built, or its agents or apps are starting.",
  UNHEALTHY: "Something is wrong.",
});

@ObjectType("WorkspaceHealth", {
  simpleResolvers: true,
  description: "The health of a workspace or a task: if it does not work, why, since when, and what helps.",
})
export class WorkspaceHealthType implements WorkspaceHealth {
  @Field(() => WorkspaceHealthState, { description: "The state." }) state!: WorkspaceHealthState;
  @Field(() => String, {
    nullable: true,
    description: "The fault, or the step that is awaited; null for healthy ones.",
  })
  reason!: string | null;
  @Field(() => DateTime, { nullable: true, description: "Since when; null for healthy ones." })
  since!: string | null;
  @Field(() => String, { nullable: true, description: "A remedy; null unless something is wrong." })
  help!: string | null;
}

@Resolver(() => WorkspaceHealthType)
export class WorkspaceHealthResolver {
  @FieldResolver(() => Boolean, { description: "Whether nothing is wrong. What starts in time is not wrong." })
  healthy(@Root() { state }: WorkspaceHealth): boolean {
    return state !== "unhealthy";
  }
}

@Access({ readWith: "workspace:read", references: ["id", "name"] })
@ObjectType("Workspace", {
  simpleResolvers: true,
  description: "An environment of a user, made from a template by builds.",
})
export class WorkspaceType implements Partial<WorkspaceRow> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name, unique among the workspaces of the owner, case-insensitive." })
  name!: string;
  @Field(() => Int, {
    nullable: true,
    description: "Seconds that it runs after a start; 0 sets no limit. Null: as the template says.",
  })
  ttlSeconds!: number | null;
  @Field(() => String, {
    nullable: true,
    description: "When it starts by itself, such as `CRON_TZ=Europe/Berlin 0 9 * * 1-5`; null if only people start it.",
  })
  autostartSchedule!: string | null;
  @Field({
    description: "Whether its starts take the active version, where the template leaves that to the owner.",
  })
  automaticUpdates!: boolean;
  @Field(() => DateTime, { description: "When it was last used, accurate to a minute." }) lastUsedAt!: string;
  @Field(() => DateTime, { nullable: true, description: "Since when it is dormant; null if it is not." })
  dormantAt!: string | null;
  @Field(() => DateTime, {
    nullable: true,
    description: "When it is stopped; activity moves it. Null if it is not running, or runs without limit.",
  })
  deadline!: string | null;
  @Field({
    description:
      "Whether its agents receive the secrets of the owner. Anyone who may enter the workspace can read what they received.",
  })
  injectUserSecrets!: boolean;
  @Field(() => DateTime, { description: "When the workspace was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the workspace or its latest build was last changed." })
  updatedAt!: string;
}

export const WorkspaceConnection = connectionOf("Workspace", () => WorkspaceType, {
  most: mostCounted,
  description: "A page of workspaces.",
});

inputType("WorkspaceFilter", WorkspaceFilter, {
  description: "Criteria for filtering workspaces. A workspace must match all given fields.",
});

orderType("Workspace", WorkspaceOrder, {
  LAST_USED_AT: "By the time of the last use.",
});

const WorkspacesArgs = argumentsOf(WorkspacesQuery);

@Resolver(() => WorkspaceType)
export class WorkspacesResolver {
  @Access({ needs: ["workspace:read"] })
  @Query(() => WorkspaceType, { nullable: true, description: "Returns a workspace." })
  workspace(
    @Arg("id", () => UUID, { description: "ID of the workspace." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceRow> {
    return findWorkspace(ctx, id);
  }

  @Access({ needs: ["workspace:read"] })
  @Query(() => WorkspaceType, { nullable: true, description: "Returns a workspace of an owner by its name." })
  workspaceByName(
    @Arg("owner", { description: "The owner: ID, username, or `me`." }) owner: string,
    @Arg("name", { description: "Name, in any letter case." }) name: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceRow> {
    return findWorkspaceByName(ctx, owner, name);
  }

  @Access({ needs: ["workspace:read"] })
  @Query(() => WorkspaceConnection, {
    description: "Lists the workspaces that the caller may read, by default the most recently used first.",
  })
  workspaces(@Args(() => WorkspacesArgs) args: WorkspacesQuery, @Ctx() ctx: Context): Promise<Page<WorkspaceRow>> {
    return listWorkspaces(ctx, args);
  }

  @FieldResolver(() => WorkspaceStatus, { description: "Status of the latest build." })
  status(@Root() { latestStatus }: WorkspaceRow): WorkspaceStatus {
    return latestStatus;
  }

  @FieldResolver(() => WorkspaceHealthType, {
    description: "Its health, by its latest build, its agents, and their apps: why it does not work, and what helps.",
  })
  health(@Root() { id }: WorkspaceRow, @Ctx() ctx: Context): Promise<WorkspaceHealth> {
    return ctx.load(workspaceHealths, id);
  }

  @FieldResolver(() => Boolean, { description: "Whether it is a prebuilt workspace that no user has claimed." })
  isPrebuild(@Root() { prebuiltPresetId }: WorkspaceRow): boolean {
    return prebuiltPresetId !== null;
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether its latest build has another version than the active one of its template. A start with that version ends it.",
  })
  isOutdated(@Root() workspace: WorkspaceRow, @Ctx() ctx: Context): Promise<boolean> {
    return isOutdated(ctx, workspace);
  }

  @FieldResolver(() => DateTime, {
    nullable: true,
    description:
      "When its schedule starts it next, if it is stopped then; null without a schedule, or if the template does not allow it. A start that is due at quiet hours at which the template stops workspaces waits for their end.",
  })
  nextAutostartAt(@Root() workspace: WorkspaceRow, @Ctx() ctx: Context): Promise<string | null> {
    return nextAutostart(ctx, workspace);
  }

  @FieldResolver(() => WorkspaceAgentUsageType, {
    nullable: true,
    description:
      "Processors, memory, and disk of its machine, as the first of its agents reported them; null unless one has since the start.",
  })
  usage(@Root() { id }: WorkspaceRow, @Ctx() ctx: Context): Promise<AgentUsage | null> {
    return ctx.load(usageByWorkspace, id);
  }

  @FieldResolver(() => PublicUserType, { description: "User who owns the workspace." })
  owner(@Root() { ownerId }: WorkspaceRow, @Ctx() ctx: Context): Promise<UserRow | undefined> {
    return ctx.load(usersById, ownerId);
  }

  @Access({ covers: ["id", "name", "displayName", "icon"] })
  @FieldResolver(() => TemplateType, { description: "Template that the workspace is made from." })
  template(@Root() { templateId }: WorkspaceRow, @Ctx() ctx: Context): Promise<TemplateRow | undefined> {
    return ctx.load(templatesById, templateId);
  }

  @Access({ covers: ["id", "name", "displayName"] })
  @FieldResolver(() => OrganizationType, { description: "Organization that the workspace belongs to." })
  organization(@Root() { organizationId }: WorkspaceRow, @Ctx() ctx: Context): Promise<OrganizationRow | undefined> {
    return ctx.load(organizationsById, organizationId);
  }
}
