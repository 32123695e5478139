import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { auditedAs } from "../kernel/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import { anyOf, rowsByKey } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { readEach } from "../kernel/lists.js";
import { findOrganization } from "../organizations/organizations.js";
import { endJobsOf } from "./ended-jobs.js";
import { type JobRow, jobsWithSubjects, presenceHint, templateNames } from "./provisioner-jobs.js";
import type { ProvisionerKeyRow } from "./provisioner-keys.js";
import { isOnline } from "./matching.js";
import { reservedKeys } from "./provisioner-key-tokens.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { inputOf, required, type Input, uuid } from "../kernel/values.js";

const d = columnsOf("provisionerDaemons", "d");
const j = columnsOf("provisionerJobs", "j");

/** The current activity of a daemon. */
export const ProvisionerDaemonStatus = { OFFLINE: "offline", IDLE: "idle", BUSY: "busy" } as const;
export type ProvisionerDaemonStatus = (typeof ProvisionerDaemonStatus)[keyof typeof ProvisionerDaemonStatus];

/** A column of the reserved key of the daemon `d`, if it has no other. */
const selectReserved = (column: "id" | "name") =>
  sql<string>`(case when ${d.userId} is null then ${reservedKeys.builtIn[column]} else ${reservedKeys.userAuth[column]} end)`;

/** Daemons with their status by the clock of the database. Those without a key have a reserved one. */
const daemons = (db: Db) =>
  db
    .selectFrom("provisionerDaemons as d")
    .leftJoin("provisionerKeys as k", "k.id", "d.keyId")
    .select(({ fn }) => [
      "d.id",
      "d.createdAt",
      "d.organizationId",
      "d.name",
      "d.userId",
      "d.provisioners",
      "d.tags",
      "d.version",
      "d.apiVersion",
      "d.lastSeenAt",
      fn.coalesce("k.id", sql<string>`${selectReserved("id")}::uuid`).as("keyId"),
      fn.coalesce("k.name", selectReserved("name")).as("keyName"),
      sql<ProvisionerDaemonStatus>`case when not ${isOnline} then 'offline' when exists (
        select from provisioner_jobs j
        where ${j.workerId} = d.id and ${j.completedAt} is null and j.status in ('running', 'canceling')
      ) then 'busy' else 'idle' end`.as("status"),
    ]);

export type ProvisionerDaemonRow = InferResult<ReturnType<typeof daemons>>[number];

const daemonsByName = (ctx: Context) =>
  daemons(ctx.db)
    .orderBy(sql`lower(d.name)`)
    .orderBy("d.id");

/** Lists the daemons of an organization by name, offline ones included. */
export async function listProvisionerDaemons(ctx: Context, ref: string): Promise<ProvisionerDaemonRow[]> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_daemon:read", { organizationId });
  return daemonsByName(ctx).where("d.organizationId", "=", organizationId).execute();
}

/** Batch read of the daemons of keys, by name. Reserved keys have those without a key. */
export async function daemonsOfKeys(
  ctx: Context,
  keys: readonly ProvisionerKeyRow[],
): Promise<ProvisionerDaemonRow[][]> {
  const isReserved = keys.some(({ id }) => reservedIds.has(id));
  const organizationIds = [...new Set(keys.map(({ organizationId }) => organizationId))];
  const keyIds = keys.map(({ id }) => id);
  const found = await daemonsByName(ctx)
    .where("d.organizationId", "=", anyOf(organizationIds))
    .where((eb) =>
      isReserved
        ? eb.or([eb("d.keyId", "=", anyOf(keyIds)), eb("d.keyId", "is", null)])
        : eb("d.keyId", "=", anyOf(keyIds)),
    )
    .execute();
  const places = keys.map(({ id, organizationId }) => `${organizationId} ${id}`);
  return rowsByKey(found, places, ({ organizationId, keyId }) => `${organizationId} ${keyId}`);
}

const reservedIds = new Set<string>(Object.values(reservedKeys).map(({ id }) => id));

/** A job of a daemon. */
export interface DaemonJob {
  id: string;
  status: JobRow["status"];
  templateName: string;
  templateDisplayName: string;
  templateIcon: string;
}

interface DaemonJobs {
  current: DaemonJob | null;
  previous: DaemonJob | null;
}

/** Batch read of the jobs of daemons: the oldest that each holds, and the last that it ended. */
export async function jobsOfDaemons(ctx: Context, ids: readonly string[]): Promise<DaemonJobs[]> {
  const one = jobsWithSubjects(ctx.db)
    .select(["j.id", "j.status", ...templateNames])
    .limit(1);
  const held = one
    .where("j.completedAt", "is", null)
    .where("j.status", "in", ["running", "canceling"])
    .orderBy("j.startedAt")
    .orderBy("j.id");
  const ended = one.where("j.completedAt", "is not", null).orderBy("j.completedAt", "desc").orderBy("j.id", "desc");
  const [current, previous] = await Promise.all([
    readEach(ctx, ids, (daemon) => held.where("j.workerId", "=", daemon)),
    readEach(ctx, ids, (daemon) => ended.where("j.workerId", "=", daemon)),
  ]);
  return ids.map((id) => ({ current: current.get(id)?.[0] ?? null, previous: previous.get(id)?.[0] ?? null }));
}

export const DeleteProvisionerDaemon = inputOf({
  id: required(uuid, "ID of the daemon."),
});
export type DeleteProvisionerDaemon = Input<typeof DeleteProvisionerDaemon>;

/**
 * Deletes a daemon: its socket is closed, its jobs fail. Returns it before the deletion. It is new when it connects
 * again.
 */
export async function deleteProvisionerDaemon(ctx: Context, id: string): Promise<ProvisionerDaemonRow> {
  const daemon = await daemons(ctx.db).where("d.id", "=", id).executeTakeFirst();
  if (!daemon || !sees(ctx.actor, "provisioner_daemon:read", daemon)) throw notFound();
  authorize(ctx.actor, "provisioner_key:delete", { organizationId: daemon.organizationId });
  // Not assigned further jobs from here on, which would refer to it.
  await ctx.db.selectFrom("provisionerDaemons").where("id", "=", id).select("id").forUpdate().execute();
  await endJobsOf(ctx, daemon.organizationId, [id], "The provisioner daemon was deleted.");
  await ctx.db.deleteFrom("provisionerDaemons").where("id", "=", id).execute();
  ctx.audit({
    action: "delete",
    ...auditedAs("provisioner_daemon", id, daemon.name, daemon.organizationId),
    diff: { name: { old: daemon.name } },
  });
  ctx.publish(presenceHint(id));
  return daemon;
}

/** Deletes daemons that were not seen for 7 days. */
export const daemonPurge = purge("provisioner_daemons", {
  by: "last_seen_at",
  keptFor: 7 * day,
  where: "not exists (select from provisioner_jobs j where j.worker_id = t.id and j.completed_at is null)",
});
