import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { buildsByIds } from "../../domain/workspaces/builds.js";
import { createWorkspace, CreateWorkspace } from "../../domain/workspaces/create-workspace.js";
import { extendWorkspaceDeadline, ExtendWorkspaceDeadline } from "../../domain/workspaces/deadlines.js";
import {
  activateWorkspace,
  setWorkspaceSecretInjection,
  updateWorkspace,
  SetWorkspaceSecretInjection,
  UpdateWorkspace,
} from "../../domain/workspaces/workspace-settings.js";
import {
  type Built,
  deleteWorkspace,
  StartReason,
  startWorkspace,
  stopWorkspace,
  DeleteWorkspace,
  restartWorkspace,
  RestartWorkspace,
  StartWorkspace,
  NamedWorkspace,
} from "../../domain/workspaces/transitions.js";
import { ParameterValue } from "../../domain/workspaces/starts.js";
import { workspacesById } from "../../domain/workspaces/workspaces.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { WorkspaceBuildType } from "./builds.js";
import { WorkspaceType } from "./workspaces.js";
import { inputType } from "../engine/inputs.js";

enumType({ WorkspaceStartReason: StartReason }, "The program that requests a start for a user.", {
  DASHBOARD: "A dashboard.",
  CLI: "A command line.",
  SSH_CONNECTION: "An SSH client that connects.",
  VSCODE_CONNECTION: "Visual Studio Code that connects.",
  JETBRAINS_CONNECTION: "A JetBrains IDE that connects.",
});

inputType("WorkspaceParameterInput", ParameterValue, { description: "The value of a parameter." });

const CreateWorkspaceInput = inputType("CreateWorkspaceInput", CreateWorkspace);

const StartWorkspaceInput = inputType("StartWorkspaceInput", StartWorkspace);

const RestartWorkspaceInput = inputType("RestartWorkspaceInput", RestartWorkspace);

const StopWorkspaceInput = inputType("StopWorkspaceInput", NamedWorkspace);

const DeleteWorkspaceInput = inputType("DeleteWorkspaceInput", DeleteWorkspace);

const UpdateWorkspaceInput = inputType("UpdateWorkspaceInput", UpdateWorkspace, {
  description: "Input of `updateWorkspace`. Fields that are omitted or null keep their value.",
});

const ExtendWorkspaceDeadlineInput = inputType("ExtendWorkspaceDeadlineInput", ExtendWorkspaceDeadline);

const ActivateWorkspaceInput = inputType("ActivateWorkspaceInput", NamedWorkspace);

const SetWorkspaceSecretInjectionInput = inputType("SetWorkspaceSecretInjectionInput", SetWorkspaceSecretInjection);

const changedWorkspace = { workspace: { type: () => WorkspaceType, description: "The workspace after the change." } };
const builtWorkspace = {
  ...changedWorkspace,
  workspaceBuild: { type: () => WorkspaceBuildType, description: "The new build." },
};

/** The payload of a mutation that changes a workspace, which is read if selected. */
const readChangedWorkspace = (ctx: Context, id: string) => ({ workspace: () => ctx.load(workspacesById, id) });

/** The payload of a mutation that begins a build. */
const readBegunBuild = (ctx: Context, { workspaceId, buildId }: Built) => ({
  ...readChangedWorkspace(ctx, workspaceId),
  workspaceBuild: () => ctx.load(buildsByIds, buildId),
});

@Resolver()
export class WorkspaceChangesResolver {
  @Access({ needs: ["workspace:create", "template:use"] })
  @Mutates("Creates a workspace and starts it.", builtWorkspace)
  async createWorkspace(
    @Arg("input", () => CreateWorkspaceInput, { description: "The new workspace." }) input: CreateWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await createWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:start"] })
  @Mutates("Starts a workspace. Fails with CONFLICT while it runs, is dormant, or has an active build.", builtWorkspace)
  async startWorkspace(
    @Arg("input", () => StartWorkspaceInput, { description: "The workspace to start, and how." }) input: StartWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await startWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:stop"] })
  @Mutates("Stops a workspace. Fails with CONFLICT while it is stopped or has an active build.", builtWorkspace)
  async stopWorkspace(
    @Arg("input", () => StopWorkspaceInput, { description: "The workspace to stop." }) { workspace }: NamedWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await stopWorkspace(ctx, workspace));
  }

  @Access({ needs: ["workspace:start", "workspace:stop"] })
  @Mutates(
    "Stops a workspace, and starts it when that has succeeded; the payload has the first build. Nothing is stopped that could not be started: it fails with all faults of the start, and with CONFLICT while the workspace is dormant or has an active build.",
    builtWorkspace,
  )
  async restartWorkspace(
    @Arg("input", () => RestartWorkspaceInput, { description: "The workspace to restart, and how it starts." })
    input: RestartWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await restartWorkspace(ctx, input));
  }

  @Access({
    needs: ["workspace:delete"],
    byArguments: ({ input }: { input: DeleteWorkspace }) => (input.orphan ? { needs: ["template:update"] } : {}),
  })
  @Mutates("Deletes a workspace, with a build. Fails with CONFLICT while it has an active build.", builtWorkspace)
  async deleteWorkspace(
    @Arg("input", () => DeleteWorkspaceInput, { description: "The workspace to delete, and how." })
    input: DeleteWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await deleteWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:update"] })
  @Mutates("Changes the settings of a workspace.", changedWorkspace)
  async updateWorkspace(
    @Arg("input", () => UpdateWorkspaceInput, { description: "The changes." }) input: UpdateWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readChangedWorkspace(ctx, await updateWorkspace(ctx, input));
  }

  @Access({ needs: ["workspace:update"] })
  @Mutates("Moves the deadline of a running workspace to a later time.", changedWorkspace)
  async extendWorkspaceDeadline(
    @Arg("input", () => ExtendWorkspaceDeadlineInput, { description: "The deadline." })
    input: ExtendWorkspaceDeadline,
    @Ctx() ctx: Context,
  ) {
    return readChangedWorkspace(ctx, await extendWorkspaceDeadline(ctx, input));
  }

  @Access({ needs: ["workspace:update"] })
  @Mutates(
    "Ends the dormancy of a workspace, so that it can be started. Has no effect on other workspaces.",
    changedWorkspace,
  )
  async activateWorkspace(
    @Arg("input", () => ActivateWorkspaceInput, { description: "The workspace to activate." })
    { workspace }: NamedWorkspace,
    @Ctx() ctx: Context,
  ) {
    return readChangedWorkspace(ctx, await activateWorkspace(ctx, workspace));
  }

  @Access({ needs: ["user_secret:update"] })
  @Mutates("Sets whether the agents of a workspace of the caller receive the secrets of the caller.", changedWorkspace)
  async setWorkspaceSecretInjection(
    @Arg("input", () => SetWorkspaceSecretInjectionInput, { description: "The setting." })
    input: SetWorkspaceSecretInjection,
    @Ctx() ctx: Context,
  ) {
    return readChangedWorkspace(ctx, await setWorkspaceSecretInjection(ctx, input));
  }
}
