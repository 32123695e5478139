import { type InferResult, sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { type AppConnectKey, appConnectKeysFor } from "../applications/key-ring.js";
import { diffOf } from "../kernel/audit.js";
import { authorize, authorizeMachine } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { anyOf, now, rowsByKey } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { conflict, notFound, Problems, unauthenticated } from "../kernel/errors.js";
import { faultOf, flag, inputOf, type Input, optional, prose, required, string, uuid } from "../kernel/values.js";
import { cleanLabel } from "../../runtime/text.js";
import { nameForAudit, lockWorkspaceProxies } from "./proxy-changes.js";
import { originOf, originRule, type Site, takenParts, wildcardOf, wildcardRule } from "./sites.js";
import { lockWorkspaceProxy, primarySite, type WorkspaceProxyRow } from "./workspace-proxies.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { longestHostname, longestVersion } from "../../entities/lengths.js";

const workspaceProxyReplicas = columnsOf("workspaceProxyReplicas");

/** The data that a process of a proxy reports when it starts. */
const replicaField = required(uuid, "ID of the replica, chosen by the replica.");
const softwareVersion = prose(longestVersion);
const versionMeaning = "Software version of the replica, {limits}.";

export const RegisterWorkspaceProxy = inputOf({
  accessUrl: required(string, "URL at which the proxy is reached: http or https, without a path."),
  wildcardHostname: optional(
    string,
    "Wildcard hostname at which the proxy serves applications, such as `*.eu.example.com`. Default: none.",
  ),
  derpEnabled: optional(flag, "Whether the proxy relays connections (DERP). Default: true."),
  derpOnly: optional(flag, "Whether the proxy relays connections and serves no applications. Default: false."),
  version: optional(softwareVersion, `${versionMeaning} Default: empty.`),
  replicaId: replicaField,
  hostname: optional(prose(longestHostname), "Hostname of the replica, {limits}. Default: empty."),
});
export type RegisterWorkspaceProxy = Input<typeof RegisterWorkspaceProxy>;

/** The response to a proxy: its id, and the keys that decrypt messages to it. */
export interface ProxyReported {
  id: string;
  appConnectKeys: AppConnectKey[];
}

const runningReplicas = ({ db }: Context, proxyIds: readonly string[]) =>
  db
    .selectFrom("workspaceProxyReplicas")
    .select(["proxyId", "id", "hostname", "version", "createdAt", "lastSeenAt"])
    .where("proxyId", "=", anyOf(proxyIds))
    .where(isRunning);

/** A process of a proxy. */
export type ProxyReplica = InferResult<ReturnType<typeof runningReplicas>>[number];

/** Maximum number of processes of a proxy. */
const maxReplicas = 100;

/** Milliseconds without a heartbeat after which a process is considered stopped. */
const heartbeatTimeout = 90_000;
const isRunning = sql<SqlBool>`${workspaceProxyReplicas.lastSeenAt} > now() - interval ${sql.lit(`${heartbeatTimeout} milliseconds`)}`;

/** Stores the hosts at which a proxy serves applications, and the process that sent the request. */
export async function registerWorkspaceProxy(ctx: Context, input: RegisterWorkspaceProxy): Promise<ProxyReported> {
  const { id } = authorizeMachine(ctx.actor, "workspace_proxy:report");
  requireFeature(ctx, "workspace_proxy");
  const registration = registrationOf(input);
  await lockWorkspaceProxies(ctx);
  const proxy = await lockWorkspaceProxy(ctx, id);
  if (!proxy) throw unauthenticated("The token is not valid.");
  rejectTaken(registration, [primarySite(ctx), ...(await sitesOfOthers(ctx, id))]);
  await storeRegistration(ctx, proxy, registration);
  await storeReplica(ctx, id, input, registration.version);
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return { id, appConnectKeys: await appConnectKeysFor(ctx, id) };
}

/** The hosts of all registered proxies but one. */
const sitesOfOthers = ({ db }: Context, id: string): Promise<Site[]> =>
  db
    .selectFrom("workspaceProxies")
    .select(["accessUrl", "wildcardHostname"])
    .where("deletedAt", "is", null)
    .where("registration", ">", 0)
    .where("id", "<>", id)
    .execute();

type Registration = ReturnType<typeof registrationOf>;

function registrationOf(input: RegisterWorkspaceProxy) {
  const { derpEnabled, derpOnly, version, hostname } = input;
  const registration = {
    accessUrl: accessUrlOf(input.accessUrl),
    wildcardHostname: input.wildcardHostname ? wildcardOf(input.wildcardHostname, { allowPrivateDomains: true }) : "",
    derpEnabled: derpEnabled ?? true,
    derpOnly: derpOnly ?? false,
    version: cleanLabel(version ?? "", 64),
  };
  const problems = new Problems();
  if (registration.accessUrl === undefined)
    problems.add("accessUrl", `Must be ${originRule}, query and user information, of at most 2048 bytes.`);
  if (registration.wildcardHostname === undefined)
    problems.add("wildcardHostname", `Must be empty, or ${wildcardRule}.`);
  if (registration.derpOnly && !registration.derpEnabled) problems.add("derpOnly", "Needs derpEnabled.");
  problems.add("version", faultOf(softwareVersion, version ?? ""));
  problems.add("hostname", faultOf(prose(longestHostname), hostname ?? ""));
  problems.throwIfAny();
  return registration as typeof registration & Site;
}

/** The origin of a URL, without a trailing dot of the host. */
const accessUrlOf = (url: string): string | undefined =>
  Buffer.byteLength(url) <= 2048 && !url.includes("@") ? originOf(url)?.replace(/\.(?=$|:\d+$)/, "") : undefined;

/** Rejects hosts of another site, since requests for one of the two would reach the other. */
function rejectTaken(site: Site, taken: Site[]): void {
  const found = new Set(taken.flatMap((other) => takenParts(site, other)));
  const fields = (["accessUrl", "wildcardHostname"] as const).filter((field) => found.has(field));
  if (fields.length === 0) return;
  const detail = "Hosts of the deployment or of another proxy are among these.";
  throw conflict(
    detail,
    fields.map((field) => ({ field, detail })),
  );
}

async function storeRegistration(ctx: Context, proxy: WorkspaceProxyRow, registration: Registration): Promise<void> {
  const { pathAppUrl: accessUrl, wildcardHostname, derpEnabled, derpOnly, version } = proxy;
  const diff = diffOf({ accessUrl, wildcardHostname, derpEnabled, derpOnly, version }, registration);
  const isChanged = Object.keys(diff).length > 0;
  await ctx.db
    .updateTable("workspaceProxies")
    .set((eb) => ({
      ...registration,
      registration: eb("registration", "+", 1),
      checkDueAt: now,
      ...(isChanged && { updatedAt: now }),
    }))
    .where("id", "=", proxy.id)
    .execute();
  if (isChanged) ctx.audit({ action: "update", ...nameForAudit(proxy), diff });
}

/** Stores a process of a proxy, which the caller has locked. */
async function storeReplica(
  ctx: Context,
  proxyId: string,
  { replicaId: id, hostname }: RegisterWorkspaceProxy,
  version: string,
): Promise<void> {
  const others = await runningReplicas(ctx, [proxyId]).where("id", "<>", id).execute();
  if (others.length >= maxReplicas) throw conflict(`A proxy can have at most ${maxReplicas} processes.`);
  const seen = { hostname: cleanLabel(hostname ?? "", 255), version, lastSeenAt: now };
  await ctx.db
    .insertInto("workspaceProxyReplicas")
    .values({ proxyId, id, createdAt: now, ...seen })
    .onConflict((known) => known.columns(["proxyId", "id"]).doUpdateSet(seen))
    .execute();
}

export const HeartbeatWorkspaceProxy = inputOf({
  replicaId: replicaField,
  version: optional(softwareVersion, `${versionMeaning} If omitted, unchanged.`),
});
export type HeartbeatWorkspaceProxy = Input<typeof HeartbeatWorkspaceProxy>;

/** Records a heartbeat. Throws NOT_FOUND for an unknown process, which must then register again. */
export async function heartbeatWorkspaceProxy(ctx: Context, beat: HeartbeatWorkspaceProxy): Promise<ProxyReported> {
  const { id } = authorizeMachine(ctx.actor, "workspace_proxy:report");
  const problems = new Problems();
  problems.add("version", faultOf(softwareVersion, beat.version ?? ""));
  problems.throwIfAny();
  const replica = await ctx.db
    .updateTable("workspaceProxyReplicas")
    .set({ lastSeenAt: now, ...(beat.version != null && { version: cleanLabel(beat.version, 64) }) })
    .where("proxyId", "=", id)
    .where("id", "=", beat.replicaId)
    .where(isRunning)
    .returning("version")
    .executeTakeFirst();
  if (!replica) throw notFound();
  await ctx.db
    .updateTable("workspaceProxies")
    .set(replica)
    .where("id", "=", id)
    .where("version", "<>", replica.version)
    .execute();
  return { id, appConnectKeys: await appConnectKeysFor(ctx, id) };
}

export const DeregisterWorkspaceProxy = inputOf({ replicaId: replicaField });
export type DeregisterWorkspaceProxy = Input<typeof DeregisterWorkspaceProxy>;

/** Deletes a process that shuts down. Returns the id of the proxy. */
export async function deregisterWorkspaceProxy(ctx: Context, replicaId: string): Promise<string> {
  const { id } = authorizeMachine(ctx.actor, "workspace_proxy:report");
  const { numDeletedRows } = await ctx.db
    .deleteFrom("workspaceProxyReplicas")
    .where("proxyId", "=", id)
    .where("id", "=", replicaId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw notFound();
  const due = ctx.db.updateTable("workspaceProxies").set({ checkDueAt: now }).where("id", "=", id);
  await due.where("deletedAt", "is", null).execute();
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return id;
}

/** Batch read of the running processes of proxies, oldest first, for `ctx.load`. For site administrators. */
export async function replicasByProxy(ctx: Context, proxyIds: readonly string[]): Promise<ProxyReplica[][]> {
  authorize(ctx.actor, "system:read");
  const running = await runningReplicas(ctx, proxyIds).orderBy("createdAt").orderBy("id").execute();
  return rowsByKey(running, proxyIds, ({ proxyId }) => proxyId);
}

/** Deletes processes without recent heartbeats. */
export const replicaPurge = purge("workspace_proxy_replicas", {
  by: "last_seen_at",
  keptFor: heartbeatTimeout,
  every: minute,
});
