import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { sql } from "../kernel/sql.js";
import { notify } from "../notifications/notify.js";
import { templateAdministrators } from "../notifications/recipients.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import { workspaceNotifications } from "../notifications/templates/workspaces.js";
import { automaticReasons } from "./builds.js";
import type { EndedBuild } from "./ended-builds.js";
import type { BuildVersion } from "./versions.js";
import type { WorkspaceRow } from "./workspaces.js";

const isPrebuilt = ({ prebuiltPresetId }: EndedBuild) => prebuiltPresetId !== null;

const targetsOf = ({ workspaceId, templateId, ownerId, organizationId }: EndedBuild) => [
  workspaceId,
  templateId,
  ownerId,
  organizationId,
];

/** Tells the owner that the workspace was deleted, unless the owner deleted it. To be called last in a transaction. */
export async function announceDeletion(ctx: Context, build: EndedBuild): Promise<void> {
  if (isPrebuilt(build)) return;
  const { ownerId, initiatorId, initiatorName, workspaceName, reason } = build;
  await notify(ctx, {
    template: workspaceNotifications.deleted,
    recipients: sql`u.id = ${ownerId} and u.id <> ${initiatorId}`,
    targets: targetsOf(build),
    labels: { name: workspaceName, reason, initiator: initiatorName },
    data: {},
  });
}

/**
 * Tells about a failed build: the owner if the server had started it, otherwise the administrators of the template. To
 * be called last in a transaction.
 */
export async function announceFailure(ctx: Context, build: EndedBuild, error: string): Promise<void> {
  if (isPrebuilt(build)) return;
  const { organizationId, ownerId, initiatorName, workspaceName } = build;
  const isAutomatic = automaticReasons.includes(build.reason);
  await notify(ctx, {
    template: isAutomatic ? workspaceNotifications.autobuildFailed : workspaceNotifications.manualBuildFailed,
    recipients: isAutomatic ? sql`u.id = ${ownerId}` : templateAdministrators(ctx, organizationId),
    targets: targetsOf(build),
    labels: {
      name: workspaceName,
      ...(isAutomatic
        ? { reason: error || build.reason }
        : { template_name: build.templateName, template_version_name: build.versionName, initiator: initiatorName }),
    },
    data: {},
  });
}

/** Tells about a workspace that people have created, or that moved to another version: administrators, or the owner. */
export async function announceBuild(
  ctx: Context,
  event: "created" | "manuallyUpdated" | "updatedAutomatically",
  { id, name, ownerId, organizationId }: Pick<WorkspaceRow, "id" | "name" | "ownerId" | "organizationId">,
  version: BuildVersion,
): Promise<void> {
  const isForOwner = event === "updatedAutomatically";
  await notify(ctx, {
    template: workspaceNotifications[event],
    recipients: isForOwner ? sql`u.id = ${ownerId}` : templateAdministrators(ctx, organizationId),
    targets: [id, version.templateId, ownerId, organizationId],
    labels: isForOwner
      ? { name, template_version_name: version.name, template_version_message: "" }
      : { workspace: name, template: version.templateName, version: version.name },
    data: {},
  });
}

/** Tells the owner that the workspace is dormant, and when it will be deleted. `deleteAfter` is in seconds, 0 for never. */
export async function announceDormancy(
  ctx: Context,
  { id, name, ownerId, organizationId, templateId }: WorkspaceRow,
  dormantAt: string,
  deleteAfter: number,
): Promise<void> {
  const deletingAt = new Date(Date.parse(dormantAt) + deleteAfter * 1000).toISOString();
  const deletion = deleteAfter > 0 ? { deleting_at: deletingAt } : undefined;
  const about = {
    recipients: sql`u.id = ${ownerId}`,
    targets: [id, templateId, ownerId, organizationId],
    data: {},
  };
  const labels = { name, reason: "it was not used", ...deletion };
  await notify(
    ctx,
    { ...about, template: workspaceNotifications.dormant, labels },
    ...(deletion ? [{ ...about, template: workspaceNotifications.markedForDeletion, labels }] : []),
  );
}

interface Replacement {
  workspaceId: string;
  workspaceName: string;
  templateId: string;
  templateName: string;
  organizationId: string;
  versionName: string;
  presetId: string;
  presetName: string;
}

// The build before the claim is the one that has prebuilt the workspace.
const replacementBy = statement<Replacement>(`
  select w.id as "workspaceId", w.name as "workspaceName", t.id as "templateId",
    coalesce(nullif(t.display_name, ''), t.name) as "templateName", t.organization_id as "organizationId",
    v.name as "versionName", p.id as "presetId", p.name as "presetName"
  from workspace_builds b join provisioner_jobs j on j.id = b.job_id
    join workspace_builds former on former.workspace_id = b.workspace_id and former.build_number = b.build_number - 1
    join provisioner_jobs prebuilt on prebuilt.id = former.job_id and prebuilt.resources_hash <> j.resources_hash
    join workspaces w on w.id = b.workspace_id join templates t on t.id = w.template_id
    join template_versions v on v.id = b.version_id join template_presets p on p.id = b.preset_id
  where b.id = $1`);

/**
 * Tells the administrators of a template, once for each preset of a version, if the resources that were reported for the
 * claim of a prebuilt workspace are not those that were prebuilt. To be called last in a transaction.
 */
export async function announceReplacement(ctx: Context, buildId: string): Promise<void> {
  const replacement = await ctx.row(replacementBy, buildId);
  if (!replacement) return;
  const { workspaceId, templateId, organizationId, presetId } = replacement;
  await notify(ctx, {
    template: templateNotifications.resourceReplaced,
    recipients: templateAdministrators(ctx, organizationId),
    targets: [templateId, workspaceId],
    dedupeKey: presetId,
    labels: {
      workspace: replacement.workspaceName,
      template: replacement.templateName,
      version: replacement.versionName,
      preset: replacement.presetName,
    },
    data: {},
  });
}
