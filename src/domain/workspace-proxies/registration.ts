import { origin } from "../../config/rules.js";
import type { Context, Services } from "../kernel/context.js";
import { type AppConnectKey, appConnectKeysFor } from "../applications/key-ring.js";
import { diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, forbidden, notFound, Problems, unauthenticated } from "../kernel/errors.js";
import { proseProblem } from "../kernel/text.js";
import { lockWorkspaceProxy } from "./workspace-proxies.js";
import type { WorkspaceProxyRow } from "./row.js";
import { identified, lockWorkspaceProxies } from "./changes.js";
import { primarySite } from "./primary.js";
import { type Site, takenParts, wildcardOf, wildcardRule } from "./sites.js";

/** What a process of a proxy says when it starts. */
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

/** What a proxy gets back: itself, and the keys to open what is sent to it. */
export interface ProxyReported {
  id: string;
  appConnectKeys: AppConnectKey[];
}

/** A process of a proxy. */
export interface ProxyReplica {
  id: string;
  hostname: string;
  version: string;
  createdAt: string;
  lastSeenAt: string;
}

/** Processes of a proxy at most. */
const mostReplicas = 100;

/** A process that was silent for longer is gone. */
const silence = "interval '90 seconds'";

/** The proxy that speaks. */
export function reportingProxy({ actor }: Context): string {
  if (actor.kind !== "proxy" || actor.machineId === undefined) throw forbidden();
  return actor.machineId;
}

const others = statement<Site>(`
  select access_url as "accessUrl", wildcard_hostname as "wildcardHostname" from workspace_proxies
  where deleted_at is null and registration > 0 and id <> $1`);

/** Notes where a proxy serves applications, and a process of it. */
export async function registerWorkspaceProxy(ctx: Context, input: RegisterWorkspaceProxy): Promise<ProxyReported> {
  const id = reportingProxy(ctx);
  requireFeature(ctx, "workspace_proxy");
  const said = wellFormed(input);
  await lockWorkspaceProxies(ctx);
  const proxy = await lockWorkspaceProxy(ctx, id);
  if (!proxy) throw unauthenticated("The token is not valid.");
  refuseTaken(said, [primarySite(ctx), ...(await ctx.rows(others, id))]);
  await storeRegistration(ctx, proxy, said);
  await storeReplica(ctx, id, input, said.version);
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return { id, appConnectKeys: await appConnectKeysFor(ctx, id) };
}

type Registration = ReturnType<typeof wellFormed>;

function wellFormed(input: RegisterWorkspaceProxy) {
  const { derpEnabled, derpOnly, version, hostname } = input;
  const said = {
    accessUrl: originOf(input.accessUrl ?? ""),
    wildcardHostname: input.wildcardHostname ? wildcardOf(input.wildcardHostname, { allowPrivateDomains: true }) : "",
    derpEnabled: derpEnabled ?? true,
    derpOnly: derpOnly ?? false,
    version: version ?? "",
  };
  const problems = new Problems();
  if (said.accessUrl === undefined)
    problems.add("accessUrl", `Must be ${origin.rule}, query and user information, of at most 2048 bytes.`);
  if (said.wildcardHostname === undefined) problems.add("wildcardHostname", `Must be empty, or ${wildcardRule}.`);
  if (said.derpOnly && !said.derpEnabled) problems.add("derpOnly", "Needs derpEnabled.");
  problems.add("version", proseProblem(said.version, 64));
  problems.add("hostname", proseProblem(hostname ?? "", 255));
  problems.throwIfAny();
  return said as typeof said & Site;
}

/** The origin of a URL, without the dot that may end its host. */
const originOf = (url: string): string | undefined =>
  Buffer.byteLength(url) <= 2048 && !url.includes("@") ? origin.read(url)?.replace(/\.(?=$|:\d+$)/, "") : undefined;

/** No host may belong to two: what is meant for one of them would reach the other. */
function refuseTaken(site: Site, taken: Site[]): void {
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

async function storeRegistration(ctx: Context, proxy: WorkspaceProxyRow, said: Registration): Promise<void> {
  const { pathAppUrl: accessUrl, wildcardHostname, derpEnabled, derpOnly, version } = proxy;
  const diff = diffOf({ accessUrl, wildcardHostname, derpEnabled, derpOnly, version }, said);
  const isChanged = Object.keys(diff).length > 0;
  const values = [said.accessUrl, said.wildcardHostname, said.derpEnabled, said.derpOnly, said.version];
  await ctx.rows(storeSite, proxy.id, ...values, isChanged);
  if (isChanged) ctx.audit({ action: "update", ...identified(proxy), diff });
}

const insertReplica = statement<{ id: string }>(`
  insert into workspace_proxy_replicas as r (proxy_id, id, hostname, version, created_at, last_seen_at)
  select $1, $2, $3, $4, now(), now()
  where ${mostReplicas} > (
    select count(*) from workspace_proxy_replicas
    where proxy_id = $1 and id <> $2 and last_seen_at > now() - ${silence}
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
  if (!stored) throw conflict(`A proxy can have at most ${mostReplicas} processes.`);
}

const touchReplica = statement<{ id: string }>(`
  with seen as (
    update workspace_proxy_replicas set last_seen_at = now(), version = coalesce($3, version)
    where proxy_id = $1 and id = $2 and last_seen_at > now() - ${silence}
    returning proxy_id, version
  ), versioned as (
    update workspace_proxies p set version = seen.version from seen where p.id = seen.proxy_id and p.version <> seen.version
  )
  select proxy_id as id from seen`);

/** Notes that a process of a proxy is there. One that is not known registers again. */
export async function heartbeatWorkspaceProxy(ctx: Context, beat: ProxyHeartbeat): Promise<ProxyReported> {
  const id = reportingProxy(ctx);
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

/** Notes that a process of a proxy ends. Gives the id of the proxy. */
export async function deregisterWorkspaceProxy(ctx: Context, replicaId: string): Promise<string> {
  const id = reportingProxy(ctx);
  if (!(await ctx.row(deleteReplica, id, replicaId))) throw notFound();
  ctx.afterCommit(() => ctx.services.proxyHealth.soon());
  return id;
}

const replicas = statement<ProxyReplica>(`
  select id, hostname, version, created_at as "createdAt", last_seen_at as "lastSeenAt" from workspace_proxy_replicas
  where proxy_id = $1 and last_seen_at > now() - ${silence} order by created_at, id`);

/** The processes of a proxy, for those who administer the site. */
export async function replicasOf(ctx: Context, { id }: Pick<WorkspaceProxyRow, "id">): Promise<ProxyReplica[]> {
  authorize(ctx.actor, "system:read");
  return ctx.rows(replicas, id);
}

const deleteSilent = statement<{ id: string }>(`
  delete from workspace_proxy_replicas where (proxy_id, id) in (
    select proxy_id, id from workspace_proxy_replicas where last_seen_at <= now() - ${silence} limit 1000
    for update skip locked
  )
  returning id`);

/** Forgets processes that were silent for too long. Every replica may run it at any time. */
export async function deleteSilentReplicas({ database }: Pick<Services, "database">): Promise<void> {
  await database.exhaust(deleteSilent);
}
