import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, notFound } from "../kernel/errors.js";
import { cancelPendingJob, succeedWithoutDaemon } from "../provisioners/ended-jobs.js";
import { BuildReason, type BuildRow, createBuild, latestBuildOf, requireNoOpenBuild } from "./builds.js";
import { readVersion } from "./build-versions.js";
import { ParameterValue, planStart, startFor, type StartOptions } from "./starts.js";
import { authorizeOn, type FoundWorkspace, lockWorkspace, namedWorkspace } from "./workspaces.js";
import { choice, flag, type Input, inputOf, listOf, optional, uuid } from "../kernel/values.js";

/** The reasons that clients give for a start. */
export const StartReason = {
  DASHBOARD: BuildReason.DASHBOARD,
  CLI: BuildReason.CLI,
  SSH_CONNECTION: BuildReason.SSH_CONNECTION,
  VSCODE_CONNECTION: BuildReason.VSCODE_CONNECTION,
  JETBRAINS_CONNECTION: BuildReason.JETBRAINS_CONNECTION,
} as const;
export type StartReason = (typeof StartReason)[keyof typeof StartReason];

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

export const RestartWorkspace = inputOf(StartWorkspace.shape);
export type RestartWorkspace = Input<typeof RestartWorkspace>;

/**
 * Stops a workspace, and starts it when that has succeeded; one that is stopped already is started. Nothing is stopped that
 * could not be started: throws what the start would throw, CONFLICT if the workspace is dormant or has a build that has not
 * ended. The start is checked again when the stop has ended, as the caller may do then.
 */
export async function restartWorkspace(ctx: Context, { workspace: ref, ...options }: RestartWorkspace): Promise<Built> {
  const workspace = await lockWorkspace(ctx, ref, "start");
  authorizeOn(ctx.actor, "stop", workspace);
  if (workspace.latestStatus === "stopped") return builtOf(await startLocked(ctx, workspace, options));
  await planStart(ctx, workspace, options, ctx);
  return builtOf(await stopLocked(ctx, workspace, "initiator", options));
}

export const NamedWorkspace = inputOf({ workspace: namedWorkspace });
export type NamedWorkspace = Input<typeof NamedWorkspace>;

/** Stops a workspace. Throws CONFLICT if it is stopped, or has a build that has not ended. */
export async function stopWorkspace(ctx: Context, ref: string): Promise<Built> {
  return builtOf(await stopLocked(ctx, await lockWorkspace(ctx, ref, "stop"), "initiator"));
}

/** `stopWorkspace` for a workspace that the caller has locked, for any reason, and with a start that follows or without. */
export function stopLocked(
  ctx: Context,
  workspace: FoundWorkspace,
  reason: BuildReason,
  nextStart?: StartOptions,
): Promise<BuildRow> {
  const { userId: initiatorId } = requireUser(ctx.actor);
  requireNoOpenBuild(workspace);
  if (workspace.latestStatus === "stopped") throw conflict("The workspace is already stopped.");
  return createBuild(ctx, workspace, { transition: "stop", reason, initiatorId, nextStart });
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
