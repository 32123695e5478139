import { ProvisionerDaemon } from "../../entities/provisioners.js";
import { auditedAs } from "../audit/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import { rowsByKey } from "../kernel/batches.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { day, purge } from "../kernel/purge.js";
import { findOrganization } from "../organizations/organizations.js";
import { presenceHint, endJobsOf } from "./ends.js";
import type { JobRow } from "./jobs.js";
import type { ProvisionerKeyRow } from "./keys.js";
import { isOnline } from "./matching.js";
import { reservedKeys } from "./names.js";

/** What a daemon does at the moment. */
export const ProvisionerDaemonStatus = { OFFLINE: "offline", IDLE: "idle", BUSY: "busy" } as const;
export type ProvisionerDaemonStatus = (typeof ProvisionerDaemonStatus)[keyof typeof ProvisionerDaemonStatus];

const columns = columnsOf(ProvisionerDaemon, "d", [
  "id",
  "createdAt",
  "organizationId",
  "name",
  "userId",
  "provisioners",
  "tags",
  "version",
  "apiVersion",
  "lastSeenAt",
]);

/** A daemon with its status by the clock of the database. */
export interface ProvisionerDaemonRow extends RowOf<typeof columns> {
  /** The key that it connected with: a reserved one for daemons of users and the one inside of the server. */
  keyId: string;
  keyName: string;
  status: ProvisionerDaemonStatus;
}

/** A column of the key of the daemon `d`, or of the reserved key if it has none. */
const ofKey = (column: "id" | "name", type: "uuid" | "text"): string =>
  `coalesce(k.${column}, (case when d.user_id is null then '${reservedKeys.builtIn[column]}'
    else '${reservedKeys.userAuth[column]}' end)::${type})`;

const select = (condition: string) =>
  statement<ProvisionerDaemonRow>(`
    select ${columns}, ${ofKey("id", "uuid")} as "keyId", ${ofKey("name", "text")} as "keyName", case when not ${isOnline} then 'offline'
      when exists (select from provisioner_jobs j where j.worker_id = d.id and j.completed_at is null
        and j.status in ('running', 'canceling')) then 'busy' else 'idle' end as status
    from provisioner_daemons d left join provisioner_keys k on k.id = d.key_id where ${condition}`);

const ofOrganization = select("d.organization_id = $1 order by lower(d.name), d.id");
const ofIds = select("d.id = any($1::uuid[])");
const ofKeys = select(`d.organization_id = any($1::uuid[]) and (d.key_id = any($2::uuid[]) or d.key_id is null and $3)
  order by lower(d.name), d.id`);

/** Lists the daemons of an organization by name, offline ones included. */
export async function listProvisionerDaemons(ctx: Context, ref: string): Promise<ProvisionerDaemonRow[]> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_daemon:read", { organizationId });
  return ctx.rows(ofOrganization, organizationId);
}

/** Batch read of the daemons of keys, by name. Reserved keys have those without a key. */
export async function daemonsOfKeys(
  ctx: Context,
  keys: readonly ProvisionerKeyRow[],
): Promise<ProvisionerDaemonRow[][]> {
  const isReserved = keys.some(({ id }) => reservedIds.has(id));
  const organizationIds = [...new Set(keys.map(({ organizationId }) => organizationId))];
  const found = await ctx.rows(
    ofKeys,
    organizationIds,
    keys.map(({ id }) => id),
    isReserved,
  );
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
  daemonId: string;
  current: DaemonJob | null;
  previous: DaemonJob | null;
}

const oneJob = (condition: string) => `(
  select json_build_object('id', j.id, 'status', j.status, 'templateName', coalesce(t.name, ''),
    'templateDisplayName', coalesce(t.display_name, ''), 'templateIcon', coalesce(t.icon, ''))
  from provisioner_jobs j
    left join workspace_builds b on b.job_id = j.id
    left join template_versions v on v.id = coalesce(b.version_id, j.version_id)
    left join templates t on t.id = v.template_id
  where j.worker_id = given.id and ${condition} limit 1)`;

const jobsOfDaemonIds = statement<DaemonJobs>(`
  select given.id as "daemonId",
    ${oneJob("j.completed_at is null and j.status in ('running', 'canceling') order by j.started_at, j.id")} as current,
    ${oneJob("j.completed_at is not null order by j.completed_at desc, j.id desc")} as previous
  from unnest($1::uuid[]) given (id)`);

/** Batch read of the jobs of daemons: the oldest that each holds, and the last that it ended. */
export async function jobsOfDaemons(ctx: Context, ids: readonly string[]): Promise<DaemonJobs[]> {
  const jobs = new Map((await ctx.rows(jobsOfDaemonIds, ids)).map((each) => [each.daemonId, each]));
  return ids.map((id) => jobs.get(id)!);
}

/** Batch read of daemons by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function daemonsByIds(
  ctx: Context,
  ids: readonly string[],
): Promise<Array<ProvisionerDaemonRow | undefined>> {
  const daemons = new Map((await ctx.rows(ofIds, ids)).map((daemon) => [daemon.id, daemon]));
  return ids.map((id) => daemons.get(id));
}

const lockDaemon = statement("select from provisioner_daemons where id = $1 for update");
const deleteDaemon = statement("delete from provisioner_daemons where id = $1");

/** Deletes a daemon: its socket is closed, its jobs fail. Returns it before the deletion. It is new when it connects again. */
export async function deleteProvisionerDaemon(ctx: Context, id: string): Promise<ProvisionerDaemonRow> {
  const [daemon] = await ctx.rows(ofIds, [id]);
  if (!daemon || !sees(ctx.actor, "provisioner_daemon:read", daemon)) throw notFound();
  authorize(ctx.actor, "provisioner_key:delete", { organizationId: daemon.organizationId });
  await ctx.rows(lockDaemon, id);
  await endJobsOf(ctx, daemon.organizationId, [id], "The provisioner daemon was deleted.");
  await ctx.rows(deleteDaemon, id);
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
