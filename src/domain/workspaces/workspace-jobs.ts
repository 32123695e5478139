import { type InferResult, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Db } from "../../infrastructure/database/database.js";
import { hasFeature } from "../entitlements/requirements.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { claimIds } from "../kernel/queue.js";
import { systemIdentity } from "../users/system-identities.js";
import { announceDormancy } from "./build-events.js";
import { createBuild } from "./builds.js";
import { isOpen, openStatuses } from "./build-status.js";
import { holdMassSuspension, suspensionInterval } from "../users/mass-suspension.js";
import { ofWorkspace, workspaceHint, workspaces } from "./workspaces.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const w = columnsOf("workspaces", "w");
const t = columnsOf("templates", "t");

/** Maximum number of workspaces that a replica claims at a time. */
const batchSize = 20;

/** Workspaces `w` of templates `t` on which the server may act. */
const idle = (db: Db) =>
  db
    .selectFrom("workspaces as w")
    .innerJoin("templates as t", "t.id", "w.templateId")
    .select("w.id")
    .where("w.deletedAt", "is", null)
    .where("w.prebuiltPresetId", "is", null)
    .where("w.latestStatus", "not in", openStatuses)
    .where((eb) => eb.or([eb("w.autobuildAfter", "is", null), eb("w.autobuildAfter", "<=", now)]));

/** Queries of the workspaces that are due, by reason, the earliest first. */
const due = {
  stop: (db: Db) => idle(db).where("w.deadline", "<=", now).orderBy("w.deadline"),
  dormancy: (db: Db) =>
    idle(db)
      .where("t.dormantAfter", ">", 0)
      .where("w.dormantAt", "is", null)
      .where(sql<SqlBool>`${w.lastUsedAt} <= now() - make_interval(secs => ${t.dormantAfter})`)
      .orderBy("w.lastUsedAt"),
  deletion: (db: Db) =>
    idle(db)
      .where("t.deleteAfter", ">", 0)
      .where(sql<SqlBool>`${w.dormantAt} <= now() - make_interval(secs => ${t.deleteAfter})`)
      .orderBy("w.dormantAt"),
};

/** Workspaces that run, although their owner was suspended some time ago, and whose stop is not held. */
const ofSuspended = (delay: number) => (db: Db) =>
  idle(db)
    .innerJoin("users as o", "o.id", "w.ownerId")
    .where("o.suspendedAt", "<=", after(-delay))
    .where("o.status", "=", "suspended")
    .where("o.stopHold", "is distinct from", "held")
    .where((eb) =>
      eb.or([
        eb("w.latestTransition", "=", "start"),
        // A stop that failed.
        eb.and([eb("w.latestTransition", "=", "stop"), eb("w.latestStatus", "in", ["failed", "canceled"])]),
      ]),
    )
    .orderBy("o.suspendedAt");

type DueQuery = ReturnType<typeof idle>;

/** Claims workspaces: no other replica acts on them within a minute. If this one ends meanwhile, they are delayed. */
const claim = (db: Db, query: DueQuery) =>
  db
    .updateTable("workspaces")
    .set({ autobuildAfter: after(minute) })
    .where("id", "=", claimIds(query, batchSize, "w"))
    .returning("id")
    .execute();

const withTemplate = (db: Db) =>
  workspaces(db)
    .innerJoin("templates as t", "t.id", "w.templateId")
    .leftJoin("tasks as k", (join) => join.onRef("k.workspaceId", "=", "w.id").on("k.deletedAt", "is", null))
    .select(["t.deleteAfter as deleteAfterSeconds", "k.id as taskId"]);

/** A workspace that is due, with what its template says, and its task. */
type Due = InferResult<ReturnType<typeof withTemplate>>[number];

/** A build that fails is repeated after half an hour. */
const retryLater = ({ db }: Context, { id }: Due) =>
  db
    .updateTable("workspaces")
    .set({ autobuildAfter: after(30 * minute) })
    .where("id", "=", id)
    .execute();

async function stopOverdue(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.deadline === null || workspace.deadline > new Date(databaseTime()).toISOString()) return;
  const reason = workspace.taskId === null ? "autostop" : "task_auto_pause";
  await createBuild(ctx, workspace, { transition: "stop", reason, initiatorId });
  await retryLater(ctx, workspace);
}

async function makeDormant(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.dormantAt !== null) return;
  if (workspace.latestStatus !== "stopped") {
    await createBuild(ctx, workspace, { transition: "stop", reason: "dormancy", initiatorId });
    await retryLater(ctx, workspace);
  }
  const { dormantAt } = await ctx.db
    .updateTable("workspaces")
    .set({ dormantAt: now, updatedAt: now })
    .where("id", "=", workspace.id)
    .returning((eb) => eb.ref("dormantAt").$notNull().as("dormantAt"))
    .executeTakeFirstOrThrow();
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff: { dormantAt: { old: null, new: dormantAt } } });
  ctx.publish(workspaceHint(workspace.id));
  await announceDormancy(ctx, workspace, dormantAt, workspace.deleteAfterSeconds);
}

async function deleteExpired(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.dormantAt === null) return;
  await createBuild(ctx, workspace, { transition: "delete", reason: "autodelete", initiatorId });
  await retryLater(ctx, workspace);
}

/**
 * Keeps the owner of a workspace from being activated, and its stop from being held, until the transaction ends. Users are
 * locked before their workspaces, which may have another owner then: it is asked again. Returns false if the workspace is not
 * to be stopped.
 */
async function holdSuspendedOwner(ctx: Context, workspaceId: string): Promise<boolean> {
  const owner = await ctx.db
    .selectFrom("users as o")
    .select("o.id")
    .where("o.id", "=", ctx.db.selectFrom("workspaces").select("ownerId").where("id", "=", workspaceId))
    .where("o.suspendedAt", "<=", after(-ctx.config.suspendedWorkspacesStop))
    .where("o.status", "=", "suspended")
    .where("o.stopHold", "is distinct from", "held")
    .forShare()
    .executeTakeFirst();
  return owner !== undefined;
}

/** Stops a workspace unless its owner was activated, or the stop held, meanwhile: both wait for the lock on the owner. */
async function stopOfSuspended(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.latestStatus === "stopped" || !(await holdSuspendedOwner(ctx, workspace.id))) return;
  await createBuild(ctx, workspace, { transition: "stop", reason: "owner_suspended", initiatorId });
  await retryLater(ctx, workspace);
}

/** Looks for mass suspensions first: those since the earliest one whose workspaces are due. */
async function stopWorkspacesOfSuspended(services: Services, stopping?: AbortSignal): Promise<void> {
  const { suspendedWorkspacesStop: delay } = services.config;
  if (delay === Infinity) return;
  const select = ofSuspended(delay);
  const first = await select(services.database.db).select("o.suspendedAt").limit(1).executeTakeFirst();
  if (!first) return;
  await holdMassSuspension(services, first.suspendedAt!);
  await sweep(services, select, stopOfSuspended, stopping);
}

type Act = (ctx: Context, workspace: Due, initiatorId: string) => Promise<void>;

/** Claims workspaces that are due, in batches, and acts on each in a transaction of its own, until `stopping` is aborted. */
async function sweep(
  services: Services,
  select: (db: Db) => DueQuery,
  act: Act,
  stopping?: AbortSignal,
): Promise<void> {
  const { db } = services.database;
  for (;;) {
    const found = await claim(db, select(db));
    for (const { id } of found) {
      if (stopping?.aborted) return;
      try {
        await inTransaction(services, id, act);
      } catch (error) {
        services.log.error(
          { err: error, workspaceId: id },
          "A workspace could not be stopped or deleted. Retried later.",
        );
      }
    }
    if (found.length < batchSize || stopping?.aborted) return;
  }
}

async function inTransaction(services: Services, id: string, act: Act): Promise<void> {
  const ctx = systemContext(services);
  await ctx.transactional(async () => {
    if (act === stopOfSuspended && !(await holdSuspendedOwner(ctx, id))) return;
    const initiatorId = await systemIdentity(ctx, "system");
    const locked = withTemplate(ctx.db).where("w.id", "=", id).where("w.deletedAt", "is", null).forNoKeyUpdate("w");
    const workspace = await locked.executeTakeFirst();
    if (workspace && !isOpen(workspace.latestStatus)) await act(ctx, workspace, initiatorId);
  });
}

const sweepIfLicensed =
  (select: (db: Db) => DueQuery, act: Act) => async (services: Services, stopping?: AbortSignal) => {
    if (hasFeature({ services }, "advanced_template_scheduling")) await sweep(services, select, act, stopping);
  };

/** The background jobs of workspaces. */
export const workspaceJobs = [
  {
    name: "stop workspaces at their deadline",
    every: minute / 4,
    run: (services: Services, stopping?: AbortSignal) => sweep(services, due.stop, stopOverdue, stopping),
  },
  { name: "halt workspaces of suspended users", every: suspensionInterval, run: stopWorkspacesOfSuspended },
  { name: "make unused workspaces dormant", every: 5 * minute, run: sweepIfLicensed(due.dormancy, makeDormant) },
  { name: "delete dormant workspaces", every: 5 * minute, run: sweepIfLicensed(due.deletion, deleteExpired) },
];
