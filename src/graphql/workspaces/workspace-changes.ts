import { Arg, Ctx, Field, InputType, Int, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { buildsByIds } from "../../domain/workspaces/builds.js";
import { createWorkspace } from "../../domain/workspaces/create-workspace.js";
import { extendWorkspaceDeadline } from "../../domain/workspaces/workspace-schedule.js";
import {
  activateWorkspace,
  setWorkspaceSecretInjection,
  ttl,
  updateWorkspace,
} from "../../domain/workspaces/workspace-settings.js";
import {
  type Built,
  deleteWorkspace,
  type ParameterValue,
  StartReason,
  startWorkspace,
  stopWorkspace,
} from "../../domain/workspaces/transitions.js";
import { workspacesById } from "../../domain/workspaces/workspaces.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { WorkspaceBuildType } from "./builds.js";
import { workspaceReference, WorkspaceType } from "./workspaces.js";

enumType({ WorkspaceStartReason: StartReason }, "The program that requests a start for a user.", {
  DASHBOARD: "A dashboard.",
  CLI: "A command line.",
  SSH_CONNECTION: "An SSH client that connects.",
  VSCODE_CONNECTION: "Visual Studio Code that connects.",
  JETBRAINS_CONNECTION: "A JetBrains IDE that connects.",
});

@InputType({ description: "The value of a parameter." })
class WorkspaceParameterInput implements ParameterValue {
  @Field({ description: "Name of the parameter." }) name!: string;
  @Field({ description: "Value, as text: numbers, `true` or `false`, lists as JSON." }) value!: string;
}

@InputType({ description: "Input of `createWorkspace`." })
class CreateWorkspaceInput {
  @Field(() => String, { nullable: true, description: "Owner: ID, username, or `me`, which is the default." })
  owner?: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of the template, whose active version is used." })
  templateId?: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of the template version, instead of `templateId`." })
  templateVersionId?: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of a preset of the version." }) presetId?: string | null;
  @Field({
    description: "Unique among the owner's workspaces: at most 32 letters, digits, and single hyphens between them.",
  })
  name!: string;
  @Field(() => [WorkspaceParameterInput], {
    nullable: true,
    description: "Values of parameters. Others come from the preset, or are the default.",
  })
  parameters?: WorkspaceParameterInput[] | null;
  @Access({ value: ttl })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds that it runs after a start; 0 sets no limit. Default: as the template says.",
  })
  ttlSeconds?: number | null;
  @Field(() => String, {
    nullable: true,
    description:
      "When it starts by itself: minute, hour, and days of the week of a cron expression, `0 9 * * 1-5`, after `CRON_TZ=<IANA zone>` if not in UTC. Default: never.",
  })
  autostartSchedule?: string | null;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether its starts take the active version, where the template leaves that to the owner. Default: false.",
  })
  automaticUpdates?: boolean | null;
}

@InputType({ description: "Input of `startWorkspace`." })
class StartWorkspaceInput {
  @Field({ description: workspaceReference }) workspace!: string;
  @Field(() => UUID, {
    nullable: true,
    description: "ID of a version of its template. Default: that of the previous build.",
  })
  templateVersionId?: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of a preset of the version." }) presetId?: string | null;
  @Field(() => [WorkspaceParameterInput], {
    nullable: true,
    description: "Values of parameters. Others come from the previous build, the preset, or are the default.",
  })
  parameters?: WorkspaceParameterInput[] | null;
  @Field(() => StartReason, { nullable: true, description: "The program that requests the start. Default: the user." })
  reason?: StartReason | null;
}

@InputType({ description: "Input of `stopWorkspace`." })
class StopWorkspaceInput {
  @Field({ description: workspaceReference }) workspace!: string;
}

@InputType({ description: "Input of `deleteWorkspace`." })
class DeleteWorkspaceInput {
  @Field({ description: workspaceReference }) workspace!: string;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether to delete it immediately and without a daemon, which leaves behind what daemons have created. Requires permission to update the template. Default: false.",
  })
  orphan?: boolean | null;
}

@InputType({ description: "Input of `updateWorkspace`. Fields that are omitted or null keep their value." })
class UpdateWorkspaceInput {
  @Field({ description: workspaceReference }) workspace!: string;
  @Field(() => String, { nullable: true, description: "New name." }) name?: string | null;
  @Access({ value: ttl })
  @Field(() => Int, {
    nullable: true,
    description: "Seconds that it runs after the following starts; 0 sets no limit.",
  })
  ttlSeconds?: number | null;
  @Field(() => String, {
    nullable: true,
    description:
      "When it starts by itself: minute, hour, and days of the week of a cron expression, `0 9 * * 1-5`, after `CRON_TZ=<IANA zone>` if not in UTC. Empty ends the schedule.",
  })
  autostartSchedule?: string | null;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether its starts take the active version, where the template leaves that to the owner.",
  })
  automaticUpdates?: boolean | null;
}

@InputType({ description: "Input of `extendWorkspaceDeadline`." })
class ExtendWorkspaceDeadlineInput {
  @Field({ description: workspaceReference }) workspace!: string;
  @Field(() => DateTime, {
    description: "New deadline: later than the present one, and not later than `maxDeadline` of the latest build.",
  })
  deadline!: string;
}

@InputType({ description: "Input of `activateWorkspace`." })
class ActivateWorkspaceInput {
  @Field({ description: workspaceReference }) workspace!: string;
}

@InputType({ description: "Input of `setWorkspaceSecretInjection`." })
class SetWorkspaceSecretInjectionInput {
  @Field(() => UUID, { description: "ID of the workspace." }) workspaceId!: string;
  @Field({ description: "Whether agents receive the secrets of the owner from the next start on." })
  enabled!: boolean;
}

const changedWorkspace = { workspace: { type: () => WorkspaceType, description: "The workspace after the change." } };
const builtWorkspace = {
  ...changedWorkspace,
  workspaceBuild: { type: () => WorkspaceBuildType, description: "The new build." },
};

/** The payload of a mutation that changes a workspace, which is read if selected. */
const changed = (ctx: Context, id: string) => ({ workspace: () => ctx.load(workspacesById, id) });

/** The payload of a mutation that begins a build. */
const built = (ctx: Context, { workspaceId, buildId }: Built) => ({
  ...changed(ctx, workspaceId),
  workspaceBuild: () => ctx.load(buildsByIds, buildId),
});

@Resolver()
export class WorkspaceChangesResolver {
  @Access({ needs: ["workspace:create", "template:use"] })
  @Mutates("Creates a workspace and starts it.", builtWorkspace)
  async createWorkspace(
    @Arg("input", { description: "The new workspace." }) input: CreateWorkspaceInput,
    @Ctx() ctx: Context,
  ) {
    return built(ctx, await createWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:start"] })
  @Mutates("Starts a workspace. Fails with CONFLICT while it runs, is dormant, or has an active build.", builtWorkspace)
  async startWorkspace(
    @Arg("input", { description: "The workspace to start, and how." }) input: StartWorkspaceInput,
    @Ctx() ctx: Context,
  ) {
    return built(ctx, await startWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:stop"] })
  @Mutates("Stops a workspace. Fails with CONFLICT while it is stopped or has an active build.", builtWorkspace)
  async stopWorkspace(
    @Arg("input", { description: "The workspace to stop." }) { workspace }: StopWorkspaceInput,
    @Ctx() ctx: Context,
  ) {
    return built(ctx, await stopWorkspace(ctx, workspace));
  }

  @Access({
    needs: ["workspace:delete"],
    byArguments: ({ input }: { input: DeleteWorkspaceInput }) => (input.orphan ? { needs: ["template:update"] } : {}),
  })
  @Mutates("Deletes a workspace, with a build. Fails with CONFLICT while it has an active build.", builtWorkspace)
  async deleteWorkspace(
    @Arg("input", { description: "The workspace to delete, and how." }) input: DeleteWorkspaceInput,
    @Ctx() ctx: Context,
  ) {
    return built(ctx, await deleteWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:update"] })
  @Mutates("Changes the settings of a workspace.", changedWorkspace)
  async updateWorkspace(
    @Arg("input", { description: "The changes." }) input: UpdateWorkspaceInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await updateWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:update"] })
  @Mutates("Moves the deadline of a running workspace to a later time.", changedWorkspace)
  async extendWorkspaceDeadline(
    @Arg("input", { description: "The deadline." })
    input: ExtendWorkspaceDeadlineInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await extendWorkspaceDeadline(ctx, input));
  }

  @Access({ needs: ["workspace:update"] })
  @Mutates(
    "Ends the dormancy of a workspace, so that it can be started. Has no effect on other workspaces.",
    changedWorkspace,
  )
  async activateWorkspace(
    @Arg("input", { description: "The workspace to activate." })
    { workspace }: ActivateWorkspaceInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await activateWorkspace(ctx, workspace));
  }

  @Access({ needs: ["user_secret:update"] })
  @Mutates("Sets whether the agents of a workspace of the caller receive the secrets of the caller.", changedWorkspace)
  async setWorkspaceSecretInjection(
    @Arg("input", { description: "The setting." })
    input: SetWorkspaceSecretInjectionInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await setWorkspaceSecretInjection(ctx, input));
  }
}
