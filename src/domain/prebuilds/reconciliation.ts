import { randomBytes } from "node:crypto";
import { sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Db } from "../../infrastructure/database/database.js";
import { hasFeature } from "../entitlements/requirements.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { resolveParameters } from "../templates/parameters.js";
import { scheduledInstances } from "../templates/prebuild-schedules.js";
import { documentsById } from "../templates/template-versions.js";
import { systemIdentity } from "../users/system-identities.js";
import { createBuild } from "../workspaces/builds.js";
import { openStatuses } from "../workspaces/build-status.js";
import { workspaces, workspacesById } from "../workspaces/workspaces.js";
import { readPrebuildsSettings } from "./prebuilds-settings.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const p = columnsOf("templatePresets", "p");
const t = columnsOf("templates", "t");
const w = columnsOf("workspaces", "w");

/** Unclaimed workspaces `w` with their presets `p` and templates `t`. */
const selectUnclaimed = (db: Db) =>
  db
    .selectFrom("workspaces as w")
    .innerJoin("templatePresets as p", "p.id", "w.prebuiltPresetId")
    .innerJoin("templates as t", "t.id", "w.templateId")
    .where("w.deletedAt", "is", null);

/** The number of workspaces that are kept ready for a preset: as its schedules say, else as always. */
const wantedInstances = sql<number>`coalesce(${p.scheduledInstances}, p.instances)`;

/** Whether an unclaimed workspace is not, or will not be, one that a user could claim. */
const isUnfit = sql<boolean>`coalesce(
  ${t.activeVersionId} is distinct from ${p.versionId} or ${t.deprecationMessage} <> ''
  or ${w.latestTransition} <> 'start' or ${w.latestStatus} in ('failed', 'canceled')
  or ${w.createdAt} <= coalesce(${p.lastInvalidatedAt}, '-infinity')
  or ${w.createdAt} <= now() - make_interval(secs => ${p.prebuildTtl}), false)`;

/** Unclaimed workspaces that are not needed, unless a build of theirs is open or their deletion failed recently. */
function superfluousWorkspaces(db: Db) {
  // The oldest is claimed first.
  const ranked = selectUnclaimed(db).select(({ fn }) => [
    "w.id",
    wantedInstances.as("instances"),
    "w.latestStatus",
    "w.autobuildAfter",
    isUnfit.as("isUnfit"),
    fn
      .agg<number>("row_number")
      .over((window) => window.partitionBy("p.id").orderBy(isUnfit).orderBy("w.createdAt").orderBy("w.id"))
      .as("place"),
  ]);
  return db
    .selectFrom(ranked.as("u"))
    .where((eb) => eb.or([eb("u.isUnfit", "=", true), eb("u.place", ">", eb.ref("u.instances"))]))
    .where("u.latestStatus", "not in", openStatuses)
    .where((eb) => eb.or([eb("u.autobuildAfter", "is", null), eb("u.autobuildAfter", "<=", now)]))
    .select("u.id")
    .execute();
}

async function deleteUnclaimed(ctx: Context, id: string): Promise<void> {
  // A claim takes the same lock, and ends the state of being prebuilt.
  const workspace = await workspaces(ctx.db)
    .where("w.id", "=", id)
    .where("w.prebuiltPresetId", "is not", null)
    .where("w.deletedAt", "is", null)
    .where("w.latestStatus", "not in", openStatuses)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (!workspace) return;
  const initiatorId = await systemIdentity(ctx, "prebuilds");
  await createBuild(ctx, workspace, { transition: "delete", reason: "initiator", initiatorId });
  // A deletion that fails is repeated later.
  await ctx.db
    .updateTable("workspaces")
    .set({ autobuildAfter: after(30 * minute) })
    .where("id", "=", id)
    .execute();
}

/** Presets `p` of the active versions of templates `t`, for which workspaces are prebuilt. */
const activePresets = (db: Db) =>
  db
    .selectFrom("templatePresets as p")
    .innerJoin("templates as t", "t.activeVersionId", "p.versionId")
    .where("t.deletedAt", "is", null)
    .where("t.deprecationMessage", "=", "")
    .where(wantedInstances, ">", 0)
    .where("p.prebuildStatus", "=", "healthy");

/** The number of workspaces that such a preset lacks. */
const missing = sql<number>`(${wantedInstances} - (
  select count(*) from workspaces w where ${w.prebuiltPresetId} = p.id and ${w.deletedAt} is null and not ${isUnfit}))`;

/** Stores what the schedules of presets of active versions say now. Replicas that do so at the same time agree. */
async function followSchedules(db: Db): Promise<void> {
  const time = databaseTime();
  const scheduled = await db
    .selectFrom("templatePresets as p")
    .innerJoin("templates as t", "t.activeVersionId", "p.versionId")
    .where("t.deletedAt", "is", null)
    .where(sql<SqlBool>`${p.prebuildSchedules} <> '[]'`)
    .select(["p.id", "p.prebuildSchedules", "p.scheduledInstances"])
    .execute();
  for (const { id, prebuildSchedules, scheduledInstances: stored } of scheduled) {
    const wanted = scheduledInstances(prebuildSchedules, time);
    if (wanted !== stored)
      await db.updateTable("templatePresets").set({ scheduledInstances: wanted }).where("id", "=", id).execute();
  }
}

/** Maximum number of workspaces that are made for a preset in one transaction. */
const batchSize = 10;

async function prebuild(ctx: Context, presetId: string): Promise<void> {
  const active = activePresets(ctx.db).where("p.id", "=", presetId);
  // Templates are locked before their presets.
  const template = await active.select("t.id").forShare("t").executeTakeFirst();
  // Of the replicas that prebuild for a preset, one goes on.
  const isLocked =
    template &&
    (await ctx.db
      .selectFrom("templatePresets")
      .where("id", "=", presetId)
      .select("id")
      .forNoKeyUpdate()
      .skipLocked()
      .executeTakeFirst());
  if (!isLocked) return;
  // Counts what others have committed before the lock was taken.
  const preset = await active
    .innerJoin("templateVersions as v", "v.id", "p.versionId")
    .select(["t.id as templateId", "t.organizationId", "p.versionId", "p.parameters", "v.documentId"])
    .select(missing.as("missing"))
    .executeTakeFirst();
  if (!preset) return;
  const document = await ctx.load(documentsById, preset.documentId);
  const problems = new Problems();
  const parameters = resolveParameters(document, { preset }, problems);
  problems.throwIfAny();
  const ownerId = await systemIdentity(ctx, "prebuilds");
  for (let made = 0; made < Math.min(preset.missing, batchSize); made++) {
    const { templateId, organizationId, versionId } = preset;
    const id = newId();
    const name = `prebuild-${randomBytes(6).toString("hex")}`;
    await ctx.db
      .insertInto("workspaces")
      .values({
        id,
        createdAt: now,
        updatedAt: now,
        organizationId,
        ownerId,
        name,
        templateId,
        prebuiltPresetId: presetId,
      })
      .execute();
    const [workspace] = await workspacesById(ctx, [id]);
    await createBuild(ctx, workspace!, {
      transition: "start",
      reason: "initiator",
      initiatorId: ownerId,
      versionId,
      presetId,
      parameters,
    });
  }
}

/**
 * Follows the schedules of presets, deletes unclaimed workspaces that are surplus, outdated, too old, or failed, and makes what presets of active versions
 * lack, each in a transaction of its own. Does nothing while the setting pauses it, and no more once `stopping` is aborted.
 * Replicas may run it concurrently.
 */
export async function reconcilePrebuilds(services: Services, stopping?: AbortSignal): Promise<void> {
  if (!hasFeature({ services }, "workspace_prebuilds")) return;
  if ((await readPrebuildsSettings(contextOf(services))).reconciliationPaused) return;
  const { db } = services.database;
  await followSchedules(db);
  for (const { id } of await superfluousWorkspaces(db)) {
    if (stopping?.aborted) return;
    await attempt(services, id, deleteUnclaimed);
  }
  for (const { id } of await activePresets(db).where(missing, ">", 0).select("p.id").execute()) {
    if (stopping?.aborted) return;
    await attempt(services, id, prebuild);
  }
}

const contextOf = (services: Services) => systemContext(services);

/** Runs a step in a transaction. Its failure is logged, and does not prevent the others. */
async function attempt(
  services: Services,
  id: string,
  step: (ctx: Context, id: string) => Promise<void>,
): Promise<void> {
  const ctx = contextOf(services);
  try {
    await ctx.transactional(() => step(ctx, id));
  } catch (error) {
    services.log.error({ err: error, id }, "A prebuilt workspace could not be made or deleted. Retried later.");
  }
}

export const prebuildsJob = { name: "reconcile prebuilt workspaces", every: minute / 2, run: reconcilePrebuilds };
