// How a workspace starts: with which version and values, for a user, a schedule, or the stop before.
import { may } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { conflict, DomainError, notFound, Problems } from "../kernel/errors.js";
import { type Input, inputOf, required, string } from "../kernel/values.js";
import { notify } from "../notifications/notify.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";
import { resolveParameters } from "../templates/parameters.js";
import { valueText } from "../templates/parameter-values.js";
import { userActor } from "../users/user-actors.js";
import { announceBuild } from "./build-events.js";
import { type BuildReason, type BuildRow, createBuild, latestBuildOf, requireNoOpenBuild } from "./builds.js";
import { type BuildVersion, type ChosenPreset, readPreset, type Starter, versionToStart } from "./build-versions.js";
import { workspaceAcl, type WorkspaceRow, workspaces } from "./workspaces.js";

/** The value of a parameter, as text. */
export const ParameterValue = inputOf({
  name: required(string, "Name of the parameter."),
  value: required(valueText, "Value, as text: numbers, `true` or `false`, lists as JSON."),
});
export type ParameterValue = Input<typeof ParameterValue>;

/** The inputs of a start. Absent values are those of the previous build. A stop keeps those of the start that follows it. */
export interface StartOptions {
  templateVersionId?: string | null;
  presetId?: string | null;
  parameters?: ParameterValue[] | null;
  reason?: BuildReason | null;
}

/** A start that is possible. */
interface PlannedStart {
  previous: BuildRow;
  version: BuildVersion;
  preset: ChosenPreset | null;
  parameters: Record<string, string>;
}

/**
 * Checks a start of a locked workspace within what the starter may do, whether it runs or not. Checks no permission for the
 * workspace. Throws CONFLICT while it is dormant or has a build that has not ended, and all faults of the options.
 */
export async function planStart(
  ctx: Context,
  workspace: WorkspaceRow,
  options: StartOptions,
  starter: Starter,
): Promise<PlannedStart> {
  requireNoOpenBuild(workspace);
  if (workspace.dormantAt !== null) throw conflict("The workspace is dormant. Activate it first.");
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
  return { previous, version: version!, preset, parameters: parameters! };
}

/** Starts a locked workspace within what the starter may do. Checks no permission for the workspace. */
export async function startFor(
  ctx: Context,
  workspace: WorkspaceRow,
  options: StartOptions,
  { initiatorId, starter }: { initiatorId: string; starter: Starter },
): Promise<BuildRow> {
  if (workspace.latestStatus === "running") throw conflict("The workspace is already running.");
  const { previous, version, preset, parameters } = await planStart(ctx, workspace, options, starter);
  const build = await createBuild(ctx, workspace, {
    transition: "start",
    reason: options.reason ?? "initiator",
    initiatorId,
    versionId: version.id,
    ...(preset && { presetId: preset.id }),
    parameters,
  });
  if (version.id !== previous.versionId) {
    const event = options.templateVersionId ? "manuallyUpdated" : "updatedAutomatically";
    await announceBuild(ctx, event, workspace, version);
  }
  return build;
}

/** A stop that has succeeded, and the start that was requested with it. */
interface StopBeforeStart {
  workspaceId: string;
  initiatorId: string;
  nextStart: StartOptions;
}

/**
 * Starts a locked workspace after the stop of a restart, within what the initiator of the restart may do now. Tells the owner
 * if it is not possible any more. To be called last in a transaction.
 */
export async function startAfterStop(
  ctx: Context,
  { workspaceId, initiatorId, nextStart }: StopBeforeStart,
): Promise<void> {
  const actor = await userActor(ctx, initiatorId);
  if (!actor) return;
  const found = workspaces(ctx.db).select(workspaceAcl({ actor })).where("w.id", "=", workspaceId);
  const workspace = await found.executeTakeFirstOrThrow();
  if (!may(actor, "workspace:start", workspace)) return;
  try {
    await startFor(ctx, workspace, nextStart, { initiatorId, starter: { actor } });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === "UNAVAILABLE") throw error;
    const { name, ownerId, organizationId, templateId } = workspace;
    await notify(ctx, {
      template: workspaceNotifications.autobuildFailed,
      object: { name, organizationId },
      recipients: [ownerId],
      targets: [workspaceId, templateId, ownerId, organizationId],
      labels: { name, reason: reasonOf(error) },
      data: {},
    });
  }
}

/** Why a start is not possible, with all faults of its values, as a text for its owner. */
export function reasonOf({ message, details }: DomainError): string {
  const faults = (details.validations ?? []).map(({ field, detail }) => `${field}: ${detail}`);
  return [message, ...faults].join("\n").slice(0, 1000);
}
