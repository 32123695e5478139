import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, notFound, Problems } from "../kernel/errors.js";
import { cancelPendingJob, succeedWithoutDaemon } from "../provisioners/ended-jobs.js";
import { resolveParameters } from "../templates/parameters.js";
import { announceBuild } from "./build-events.js";
import { BuildReason, type BuildRow, createBuild, latestBuildOf, requireNoOpenBuild } from "./builds.js";
import { readPreset, readVersion, type Starter, versionToStart } from "./build-versions.js";
import { type FoundWorkspace, lockWorkspace, type WorkspaceRow, namedWorkspace } from "./workspaces.js";
import { inputOf, required, string, type Input, choice, listOf, optional, uuid, flag } from "../kernel/values.js";
import { valueText } from "../templates/parameter-values.js";

/** The reasons that clients give for a start. */
export const StartReason = {
  DASHBOARD: BuildReason.DASHBOARD,
  CLI: BuildReason.CLI,
  SSH_CONNECTION: BuildReason.SSH_CONNECTION,
  VSCODE_CONNECTION: BuildReason.VSCODE_CONNECTION,
  JETBRAINS_CONNECTION: BuildReason.JETBRAINS_CONNECTION,
} as const;
export type StartReason = (typeof StartReason)[keyof typeof StartReason];

/** The value of a parameter, as text. */
export const ParameterValue = inputOf({
  name: required(string, "Name of the parameter."),
  value: required(valueText, "Value, as text: numbers, `true` or `false`, lists as JSON."),
});
export type ParameterValue = Input<typeof ParameterValue>;

/** The inputs of a start. Absent values are those of the previous build. */
export interface StartOptions {
  templateVersionId?: string | null;
  presetId?: string | null;
  parameters?: ParameterValue[] | null;
  reason?: BuildReason | null;
}

/** The workspace of a mutation, and the build that it created. */
export interface Built {
  workspaceId: string;
  buildId: string;
}

const builtOf = ({ id, workspaceId }: BuildRow): Built => ({ workspaceId, buildId: id });

export const StartWorkspace = inputOf({
  workspace: namedWorkspace,
  templateVersionId: optional(uuid, "ID of a version of its template. Default: that of the previous build."),
  presetId: optional(uuid, "ID of a preset of the version."),
  parameters: optional(
    listOf(ParameterValue),
    "Values of parameters. Others come from the previous build, the preset, or are the default.",
  ),
  reason: optional(choice(StartReason), "The program that requests the start. Default: the user."),
});
export type StartWorkspace = Input<typeof StartWorkspace>;

/** Starts a workspace. Throws CONFLICT if it runs, is dormant, or has a build that has not ended. */
export async function startWorkspace(ctx: Context, { workspace: ref, ...options }: StartWorkspace): Promise<Built> {
  const workspace = await lockWorkspace(ctx, ref, "start");
  return builtOf(await startLocked(ctx, workspace, options));
}

/** `startWorkspace` for a workspace that the caller has locked, and for any reason. */
export const startLocked = (ctx: Context, workspace: FoundWorkspace, options: StartOptions): Promise<BuildRow> =>
  startFor(ctx, workspace, options, { initiatorId: requireUser(ctx.actor).userId, starter: ctx });

/** Starts a locked workspace within what the starter may do. Checks no permission for the workspace. */
export async function startFor(
  ctx: Context,
  workspace: WorkspaceRow,
  options: StartOptions,
  { initiatorId, starter }: { initiatorId: string; starter: Starter },
): Promise<BuildRow> {
  requireNoOpenBuild(workspace);
  if (workspace.dormantAt !== null) throw conflict("The workspace is dormant. Activate it first.");
  if (workspace.latestStatus === "running") throw conflict("The workspace is already running.");
  const previous = await latestBuildOf(ctx, workspace);
  if (!previous) throw notFound();

  const problems = new Problems();
  const { templateId, automaticUpdates } = workspace;
  const { templateVersionId: chosenId } = options;
  const wanted = { templateId, previousId: previous.versionId, chosenId, automaticUpdates };
  const version = await versionToStart(ctx, wanted, problems, starter);
  const preset = version ? await readPreset(ctx, options.presetId, version, problems) : null;
  const sources = { given: options.parameters, preset, previous: previous.parameters };
  const parameters = version && resolveParameters(version.document, sources, problems);
  problems.throwIfAny();
  const build = await createBuild(ctx, workspace, {
    transition: "start",
    reason: options.reason ?? "initiator",
    initiatorId,
    versionId: version!.id,
    ...(preset && { presetId: preset.id }),
    parameters: parameters!,
  });
  if (version!.id !== previous.versionId) {
    const event = options.templateVersionId ? "manuallyUpdated" : "updatedAutomatically";
    await announceBuild(ctx, event, workspace, version!);
  }
  return build;
}

export const NamedWorkspace = inputOf({ workspace: namedWorkspace });
export type NamedWorkspace = Input<typeof NamedWorkspace>;

/** Stops a workspace. Throws CONFLICT if it is stopped, or has a build that has not ended. */
export async function stopWorkspace(ctx: Context, ref: string): Promise<Built> {
  return builtOf(await stopLocked(ctx, await lockWorkspace(ctx, ref, "stop"), "initiator"));
}

/** `stopWorkspace` for a workspace that the caller has locked, and for any reason. */
export function stopLocked(ctx: Context, workspace: FoundWorkspace, reason: BuildReason): Promise<BuildRow> {
  const { userId: initiatorId } = requireUser(ctx.actor);
  requireNoOpenBuild(workspace);
  if (workspace.latestStatus === "stopped") throw conflict("The workspace is already stopped.");
  return createBuild(ctx, workspace, { transition: "stop", reason, initiatorId });
}

export const DeleteWorkspace = inputOf({
  workspace: namedWorkspace,
  orphan: optional(
    flag,
    "Whether to delete it immediately and without a daemon, which leaves behind what daemons have created. Requires permission to update the template. Default: false.",
  ),
});
export type DeleteWorkspace = Input<typeof DeleteWorkspace>;

/**
 * Deletes a workspace when a daemon has deleted what it consists of; orphans immediately. Throws CONFLICT while a build
 * has not ended, FORBIDDEN for orphans unless the caller may update the template. A build that waits for a daemon does not
 * prevent the deletion of an orphan: it is canceled, since there may be no daemon for it any more.
 */
export async function deleteWorkspace(ctx: Context, { workspace: ref, orphan }: DeleteWorkspace): Promise<Built> {
  let workspace = await lockWorkspace(ctx, ref, "delete");
  if (orphan && workspace.latestStatus === "pending") {
    await requireTemplateUpdate(ctx, workspace);
    const waiting = await latestBuildOf(ctx, workspace);
    if (await cancelPendingJob(ctx, waiting!.jobId)) workspace = await lockWorkspace(ctx, ref, "delete");
  }
  const build = await deleteLocked(ctx, workspace, orphan ?? false);
  return builtOf(build);
}

/** `deleteWorkspace` for a workspace that the caller has locked. */
export async function deleteLocked(ctx: Context, workspace: FoundWorkspace, isOrphan: boolean): Promise<BuildRow> {
  const { userId: initiatorId } = requireUser(ctx.actor);
  requireNoOpenBuild(workspace);
  if (isOrphan) await requireTemplateUpdate(ctx, workspace);
  const build = await createBuild(ctx, workspace, { transition: "delete", reason: "initiator", initiatorId });
  if (isOrphan) await succeedWithoutDaemon(ctx, build.jobId);
  return build;
}

async function requireTemplateUpdate(ctx: Context, workspace: FoundWorkspace): Promise<void> {
  const previous = await latestBuildOf(ctx, workspace);
  const version = previous && (await readVersion(ctx, previous.versionId));
  if (!version) throw notFound();
  authorize(ctx.actor, "template:update", version);
}
