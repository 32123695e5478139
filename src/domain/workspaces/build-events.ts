import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { notify, templateAdministrators } from "../notifications/notify.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";
import { buildError } from "../tasks/task-status.js";
import { taskInError } from "../tasks/workspace-events.js";
import { automaticReasons } from "./builds.js";
import type { BuildVersion } from "./build-versions.js";
import type { WorkspaceRow } from "./workspaces.js";
import { instantOf } from "../../runtime/clock.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const k = columnsOf("tasks", "k");
const b = columnsOf("workspaceBuilds", "b");

/** Builds with what their outcomes depend on, and what is told about them. */
export const endedBuilds = (db: Db) =>
  db
    .selectFrom("workspaceBuilds as b")
    .innerJoin("workspaces as w", "w.id", "b.workspaceId")
    .innerJoin("templates as t", "t.id", "w.templateId")
    .innerJoin("templateVersions as v", "v.id", "b.versionId")
    .innerJoin("users as u", "u.id", "b.initiatorId")
    .leftJoin("userQuietHours as q", "q.userId", "w.ownerId")
    .select([
      "b.id",
      "w.id as workspaceId",
      "w.name as workspaceName",
      "w.organizationId",
      "w.ownerId",
      "w.prebuiltPresetId",
      "b.transition",
      "b.reason",
      "b.initiatorId",
      "b.nextStart",
      "u.username as initiatorName",
      "t.id as templateId",
      "t.name as templateName",
      "v.name as versionName",
      ({ fn }) => fn.coalesce("w.ttl", "t.defaultTtl").as("ttl"),
      "t.autostopDays",
      "q.schedule",
      // Whether the task of the workspace was deleted while the build was open.
      sql<boolean>`(b.transition <> 'delete' and exists (
        select from tasks k where ${k.workspaceId} = w.id and ${k.deletedAt} >= ${b.createdAt}))`.as("isAbandoned"),
    ]);

/** A build that has ended, of a locked workspace. */
type EndedBuild = InferResult<ReturnType<typeof endedBuilds>>[number];

const isPrebuilt = ({ prebuiltPresetId }: EndedBuild) => prebuiltPresetId !== null;

const objectOf = ({ workspaceName: name, organizationId }: EndedBuild) => ({ name, organizationId });

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
    recipients: ownerId === initiatorId ? [] : [ownerId],
    targets: targetsOf(build),
    labels: { name: workspaceName, reason, initiator: initiatorName },
    data: {},
  });
}

/**
 * Tells about a failed build: its owner, and the administrators of the template unless the server had started it. To be
 * called last in a transaction.
 */
export async function announceFailure(ctx: Context, build: EndedBuild, error: string): Promise<void> {
  if (isPrebuilt(build)) return;
  const { ownerId, initiatorName, workspaceName: name, transition } = build;
  const about = { targets: targetsOf(build), data: {} };
  const reason = error || "The log of the build has the reason.";
  if (automaticReasons.includes(build.reason)) {
    await notify(ctx, {
      ...about,
      template: workspaceNotifications.autobuildFailed,
      object: objectOf(build),
      recipients: [ownerId],
      labels: { name, reason: error || build.reason },
    });
    return;
  }
  const toOwner = (await taskInError(ctx, build.workspaceId, buildError(reason))) ?? {
    ...about,
    template: workspaceNotifications.buildFailed,
    object: objectOf(build),
    recipients: [ownerId],
    labels: { name, transition, reason, initiator: initiatorName },
  };
  await notify(ctx, toOwner, {
    ...about,
    template: workspaceNotifications.manualBuildFailed,
    recipients: templateAdministrators(ctx, build.organizationId),
    labels: {
      name,
      template_name: build.templateName,
      template_version_name: build.versionName,
      initiator: initiatorName,
    },
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
    recipients: isForOwner ? [ownerId] : templateAdministrators(ctx, organizationId),
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
  const deletingAt = new Date(instantOf(dormantAt) + deleteAfter * 1000).toISOString();
  const deletion = deleteAfter > 0 ? { deleting_at: deletingAt } : undefined;
  const about = {
    recipients: [ownerId],
    targets: [id, templateId, ownerId, organizationId],
    data: {},
  };
  const labels = { name, reason: "it was not used", ...deletion };
  await notify(
    ctx,
    { ...about, template: workspaceNotifications.dormant, labels },
    ...(deletion
      ? [{ ...about, template: workspaceNotifications.markedForDeletion, object: { name, organizationId }, labels }]
      : []),
  );
}

/**
 * Tells the administrators of a template, once for each preset of a version, if the resources that were reported for the
 * claim of a prebuilt workspace are not those that were prebuilt. To be called last in a transaction.
 */
export async function announceReplacement(ctx: Context, buildId: string): Promise<void> {
  // The build before the claim is the one that has prebuilt the workspace.
  const replacement = await ctx.db
    .selectFrom("workspaceBuilds as b")
    .innerJoin("provisionerJobs as j", "j.id", "b.jobId")
    .innerJoin("workspaceBuilds as former", (join) =>
      join
        .onRef("former.workspaceId", "=", "b.workspaceId")
        .on((eb) => eb("former.buildNumber", "=", eb(eb.ref("b.buildNumber"), "-", 1))),
    )
    .innerJoin("provisionerJobs as prebuilt", (join) =>
      join.onRef("prebuilt.id", "=", "former.jobId").onRef("prebuilt.resourcesHash", "<>", "j.resourcesHash"),
    )
    .innerJoin("workspaces as w", "w.id", "b.workspaceId")
    .innerJoin("templates as t", "t.id", "w.templateId")
    .innerJoin("templateVersions as v", "v.id", "b.versionId")
    .innerJoin("templatePresets as p", "p.id", "b.presetId")
    .select([
      "w.id as workspaceId",
      "w.name as workspace",
      "t.id as templateId",
      "t.organizationId",
      "t.name as templateName",
      "t.displayName as templateDisplayName",
      "v.name as version",
      "p.id as presetId",
      "p.name as preset",
    ])
    .where("b.id", "=", buildId)
    .executeTakeFirst();
  if (!replacement) return;
  const { workspaceId, templateId, organizationId, presetId, workspace, version, preset } = replacement;
  await notify(ctx, {
    template: templateNotifications.resourceReplaced,
    object: { name: replacement.templateName, organizationId },
    recipients: templateAdministrators(ctx, organizationId),
    targets: [templateId, workspaceId],
    dedupeKey: presetId,
    labels: { workspace, template: replacement.templateDisplayName || replacement.templateName, version, preset },
    data: {},
  });
}
