import { WorkspaceProxyReplica } from "../../entities/workspace-proxies.js";
import { origin } from "../../config/rules.js";
import type { Context } from "../kernel/context.js";
import { type AppConnectKey, appConnectKeysFor } from "../applications/key-ring.js";
import { diffOf } from "../audit/audit.js";
import { authorize, authorizeMachine } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, notFound, Problems, unauthenticated } from "../kernel/errors.js";
import { minute, purge } from "../kernel/purge.js";
import { proseProblem } from "../kernel/text.js";
import { lockWorkspaceProxy } from "./workspace-proxies.js";
import type { WorkspaceProxyRow } from "./row.js";
import { identified, lockWorkspaceProxies } from "./changes.js";
import { primarySite } from "./primary.js";
import { type Site, takenParts, wildcardOf, wildcardRule } from "./sites.js";

/** The data that a process of a proxy reports when it starts. */
export interface RegisterWorkspaceProxy {
  accessUrl?: string | null;
  wildcardHostname?: string | null;
  derpEnabled?: boolean | null;
  derpOnly?: boolean | null;
  version?: string | null;
  replicaId: string;
  hostname?: string | null;
}

export interface ProxyHeartbeat {
  replicaId: string;
  version?: string | null;
}

/** The response to a proxy: its id, and the keys that decrypt messages to it. */
export interface ProxyReported {
  id: string;
  appConnectKeys: AppConnectKey[];
}

const replicaColumns = columnsOf(WorkspaceProxyReplica, "r", ["id", "hostname", "version", "createdAt", "lastSeenAt"]);

/** A process of a proxy. */
export type ProxyReplica = RowOf<typeof replicaColumns>;

/** Maximum number of processes of a proxy. */
const maxReplicas = 100;

/** Milliseconds without a heartbeat after which a process is considered stopped. */
const heartbeatTimeout = 90_000;
const isAlive = `last_seen_at > now() - interval '${heartbeatTimeout} milliseconds'`;

const others = statement<Site>(`
  select access_url as "accessUrl", wildcard_hostname as "wildcardHostname" from workspace_proxies
  where deleted_at is null and registration > 0 and id <> $1`);

/** Stores the hosts at which a proxy serves applications, and the process that sent the request. */
export async function registerWorkspaceProxy(ctx: Context, input: RegisterWorkspaceProxy): Promise<ProxyReported> {
  const { id } = authorizeMachine(ctx.actor, "workspace_proxy:report");
  requireFeature(ctx, "workspace_proxy");
  const registration = registrationOf(input);
  await lockWorkspaceProxies(ctx);
  const proxy = await lockWorkspaceProxy(ctx, id);
  if (!proxy) throw unauthenticated("The token is not valid.");
  rejectTaken(registration, [primarySite(ctx), ...(await ctx.rows(others, id))]);
  await storeRegistration(ctx, proxy, registration);
  await storeReplica(ctx, id, input, registration.version);
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return { id, appConnectKeys: await appConnectKeysFor(ctx, id) };
}

type Registration = ReturnType<typeof registrationOf>;

function registrationOf(input: RegisterWorkspaceProxy) {
  const { derpEnabled, derpOnly, version, hostname } = input;
  const registration = {
    accessUrl: originOf(input.accessUrl ?? ""),
    wildcardHostname: input.wildcardHostname ? wildcardOf(input.wildcardHostname, { allowPrivateDomains: true }) : "",
    derpEnabled: derpEnabled ?? true,
    derpOnly: derpOnly ?? false,
    version: version ?? "",
  };
  const problems = new Problems();
  if (registration.accessUrl === undefined)
    problems.add("accessUrl", `Must be ${origin.rule}, query and user information, of at most 2048 bytes.`);
  if (registration.wildcardHostname === undefined)
    problems.add("wildcardHostname", `Must be empty, or ${wildcardRule}.`);
  if (registration.derpOnly && !registration.derpEnabled) problems.add("derpOnly", "Needs derpEnabled.");
  problems.add("version", proseProblem(registration.version, 64));
  problems.add("hostname", proseProblem(hostname ?? "", 255));
  problems.throwIfAny();
  return registration as typeof registration & Site;
}

/** The origin of a URL, without a trailing dot of the host. */
const originOf = (url: string): string | undefined =>
  Buffer.byteLength(url) <= 2048 && !url.includes("@") ? origin.read(url)?.replace(/\.(?=$|:\d+$)/, "") : undefined;

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

const storeSite = statement(`
  update workspace_proxies set access_url = $2, wildcard_hostname = $3, derp_enabled = $4, derp_only = $5, version = $6,
    registration = registration + 1, check_due_at = now(), updated_at = case when $7 then now() else updated_at end
  where id = $1`);

async function storeRegistration(ctx: Context, proxy: WorkspaceProxyRow, registration: Registration): Promise<void> {
  const { pathAppUrl: accessUrl, wildcardHostname, derpEnabled, derpOnly, version } = proxy;
  const diff = diffOf({ accessUrl, wildcardHostname, derpEnabled, derpOnly, version }, registration);
  const isChanged = Object.keys(diff).length > 0;
  const values = [
    registration.accessUrl,
    registration.wildcardHostname,
    registration.derpEnabled,
    registration.derpOnly,
    registration.version,
  ];
  await ctx.rows(storeSite, proxy.id, ...values, isChanged);
  if (isChanged) ctx.audit({ action: "update", ...identified(proxy), diff });
}

const insertReplica = statement<{ id: string }>(`
  insert into workspace_proxy_replicas as r (proxy_id, id, hostname, version, created_at, last_seen_at)
  select $1, $2, $3, $4, now(), now()
  where ${maxReplicas} > (
    select count(*) from workspace_proxy_replicas
    where proxy_id = $1 and id <> $2 and ${isAlive}
  )
  on conflict (proxy_id, id) do update
    set hostname = excluded.hostname, version = excluded.version, last_seen_at = excluded.last_seen_at
  returning id`);

async function storeReplica(
  ctx: Context,
  proxyId: string,
  { replicaId, hostname }: RegisterWorkspaceProxy,
  version = "",
) {
  const stored = await ctx.row(insertReplica, proxyId, replicaId, hostname ?? "", version);
  if (!stored) throw conflict(`A proxy can have at most ${maxReplicas} processes.`);
}

const touchReplica = statement<{ id: string }>(`
  with seen as (
    update workspace_proxy_replicas set last_seen_at = now(), version = coalesce($3, version)
    where proxy_id = $1 and id = $2 and ${isAlive}
    returning proxy_id, version
  ), versioned as (
    update workspace_proxies p set version = seen.version from seen where p.id = seen.proxy_id and p.version <> seen.version
  )
  select proxy_id as id from seen`);

/** Records a heartbeat. Throws NOT_FOUND for an unknown process, which must then register again. */
export async function heartbeatWorkspaceProxy(ctx: Context, beat: ProxyHeartbeat): Promise<ProxyReported> {
  const { id } = authorizeMachine(ctx.actor, "workspace_proxy:report");
  const problems = new Problems();
  problems.add("version", proseProblem(beat.version ?? "", 64));
  problems.throwIfAny();
  if (!(await ctx.row(touchReplica, id, beat.replicaId, beat.version))) throw notFound();
  return { id, appConnectKeys: await appConnectKeysFor(ctx, id) };
}

const deleteReplica = statement<{ id: string }>(`
  with gone as (delete from workspace_proxy_replicas where proxy_id = $1 and id = $2 returning proxy_id)
  update workspace_proxies p set check_due_at = now() from gone
  where p.id = gone.proxy_id and p.deleted_at is null
  returning p.id`);

/** Deletes a process that shuts down. Returns the id of the proxy. */
export async function deregisterWorkspaceProxy(ctx: Context, replicaId: string): Promise<string> {
  const { id } = authorizeMachine(ctx.actor, "workspace_proxy:report");
  if (!(await ctx.row(deleteReplica, id, replicaId))) throw notFound();
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return id;
}

const replicas = statement<ProxyReplica>(`
  select ${replicaColumns} from workspace_proxy_replicas r
  where proxy_id = $1 and ${isAlive} order by created_at, id`);

/** Lists the running processes of a proxy, for site administrators. */
export async function replicasOf(ctx: Context, { id }: Pick<WorkspaceProxyRow, "id">): Promise<ProxyReplica[]> {
  authorize(ctx.actor, "system:read");
  return ctx.rows(replicas, id);
}

/** Deletes processes without recent heartbeats. */
export const replicaPurge = purge("workspace_proxy_replicas", {
  by: "last_seen_at",
  keptFor: heartbeatTimeout,
  every: minute,
});
