import type { Context } from "../kernel/context.js";
import { sees } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { isUuid } from "../kernel/text.js";
import type { ProxyReport, ProxyStatus, WorkspaceProxyRow } from "./row.js";
import { isNamedPrimary, readPrimary } from "./primary.js";

/** The columns of a `StoredProxy`, for statements with the table alias `p`. */
const proxyColumns = `p.id, p.created_at as "createdAt", p.updated_at as "updatedAt", p.name,
  p.display_name as "displayName", p.icon, p.access_url as "pathAppUrl", p.wildcard_hostname as "wildcardHostname",
  p.derp_enabled as "derpEnabled", p.derp_only as "derpOnly", p.version, p.deleted_at is not null as deleted,
  p.status as "lastStatus", p.checked_at as "checkedAt", p.errors, p.warnings`;

type StoredProxy = Omit<WorkspaceProxyRow, "healthy" | "status"> &
  ProxyReport & { lastStatus: ProxyStatus; checkedAt: string | null };

function asRow({ lastStatus, checkedAt, errors, warnings, ...proxy }: StoredProxy): WorkspaceProxyRow {
  const status = proxy.deleted
    ? { status: null, checkedAt: null, report: null }
    : { status: lastStatus, checkedAt, report: { errors, warnings } };
  return { ...proxy, healthy: status.status === "ok", status };
}

const select = (condition: string, lock = "") =>
  statement<StoredProxy>(`select ${proxyColumns} from workspace_proxies p where ${condition} ${lock}`);

const byId = select("p.id = $1");
const byName = select("lower(p.name) = lower($1) and p.deleted_at is null");

/** Reads a proxy by id (deleted ones included), by case-insensitive name, or as `primary`. Throws NOT_FOUND. */
export async function findWorkspaceProxy(ctx: Context, ref: string): Promise<WorkspaceProxyRow> {
  if (!sees(ctx.actor, "workspace_proxy:read")) throw notFound();
  return readWorkspaceProxy(ctx, ref);
}

/** Reads a proxy like `findWorkspaceProxy`, without a permission check. */
export async function readWorkspaceProxy(ctx: Context, ref: string): Promise<WorkspaceProxyRow> {
  const proxy = isNamedPrimary(ref) ? undefined : await ctx.row(isUuid(ref) ? byId : byName, ref);
  if (proxy) return asRow(proxy);
  const primary = await readPrimary(ctx);
  if (!isNamedPrimary(ref) && ref.toLowerCase() !== primary.id) throw notFound();
  return primary;
}

const lock = "for no key update of p";
const lockById = select("p.id = $1 and p.deleted_at is null", lock);
const lockByName = select("lower(p.name) = lower($1) and p.deleted_at is null", lock);

/** Locks a proxy that is not deleted until the transaction ends; `undefined` if there is none. */
export async function lockWorkspaceProxy(ctx: Context, ref: string): Promise<WorkspaceProxyRow | undefined> {
  const proxy = await ctx.row(isUuid(ref) ? lockById : lockByName, ref);
  return proxy && asRow(proxy);
}

const living = statement<StoredProxy>(`
  select ${proxyColumns} from workspace_proxies p where p.deleted_at is null order by lower(p.name)`);

/** Lists the primary, then all proxies that are not deleted, by name. */
export async function listWorkspaceProxies(ctx: Context): Promise<WorkspaceProxyRow[]> {
  if (!sees(ctx.actor, "workspace_proxy:read")) throw notFound();
  const [primary, proxies] = await Promise.all([readPrimary(ctx), ctx.rows(living)]);
  return [primary, ...proxies.map(asRow)];
}
