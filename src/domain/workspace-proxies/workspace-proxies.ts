import { type InferResult, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Db } from "../../infrastructure/database/database.js";
import { version } from "../../runtime/program-files.js";
import { sees } from "../authorization/authorization.js";
import { readSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { isUuid } from "../../runtime/text.js";
import type { ProxyReport, ProxyStatus } from "./health.js";
import type { Site } from "./sites.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const workspaceProxies = columnsOf("workspaceProxies");

/** Description of inputs that name a proxy. */
export const proxyReference = "The workspace proxy: ID, name (case-insensitive), or `primary`.";

export interface WorkspaceProxyStatus {
  status: ProxyStatus | null;
  checkedAt: string | null;
  report: ProxyReport | null;
}

const storedProxies = (db: Db) =>
  db.selectFrom("workspaceProxies").select([
    "id",
    "createdAt",
    "updatedAt",
    "name",
    "displayName",
    "icon",
    // Empty before registration, like `wildcardHostname` and `version`.
    "accessUrl as pathAppUrl",
    "wildcardHostname",
    "derpEnabled",
    "derpOnly",
    "version",
    sql<boolean>`${workspaceProxies.deletedAt} is not null`.as("deleted"),
    "status",
    "checkedAt",
    "errors",
    "warnings",
  ]);

type StoredProxy = InferResult<ReturnType<typeof storedProxies>>[number];

/** A server that proxies the traffic of applications. The deployment itself is the primary one. */
export interface WorkspaceProxyRow extends Omit<StoredProxy, "status" | "checkedAt" | "errors" | "warnings"> {
  healthy: boolean;
  /** All properties are null for a deleted proxy. */
  status: WorkspaceProxyStatus;
}

function asRow({ status: last, checkedAt, errors, warnings, ...proxy }: StoredProxy): WorkspaceProxyRow {
  const status = proxy.deleted
    ? { status: null, checkedAt: null, report: null }
    : { status: last, checkedAt, report: { errors, warnings } };
  return { ...proxy, healthy: status.status === "ok", status };
}

/** The proxy with an id, deleted or not, or the one with a name, in any letter case. */
const selectNamed = (db: Db, ref: string) =>
  isUuid(ref)
    ? storedProxies(db).where("id", "=", ref)
    : storedProxies(db)
        .where(sql<SqlBool>`lower(name) = lower(${ref})`)
        .where("deletedAt", "is", null);

/** Reads a proxy by id (deleted ones included), by case-insensitive name, or as `primary`. Throws NOT_FOUND. */
export async function findWorkspaceProxy(ctx: Context, ref: string): Promise<WorkspaceProxyRow> {
  if (!sees(ctx.actor, "workspace_proxy:read")) throw notFound();
  return readWorkspaceProxy(ctx, ref);
}

/** Reads a proxy like `findWorkspaceProxy`, without a permission check. */
export async function readWorkspaceProxy(ctx: Context, ref: string): Promise<WorkspaceProxyRow> {
  const proxy = isNamedPrimary(ref) ? undefined : await selectNamed(ctx.db, ref).executeTakeFirst();
  if (proxy) return asRow(proxy);
  const primary = await readPrimary(ctx);
  if (!isNamedPrimary(ref) && ref.toLowerCase() !== primary.id) throw notFound();
  return primary;
}

/** Locks a proxy that is not deleted until the transaction ends; `undefined` if there is none. */
export async function lockWorkspaceProxy({ db }: Context, ref: string): Promise<WorkspaceProxyRow | undefined> {
  const proxy = await selectNamed(db, ref).where("deletedAt", "is", null).forNoKeyUpdate().executeTakeFirst();
  return proxy && asRow(proxy);
}

/** Lists the primary, then all proxies that are not deleted, by name. */
export async function listWorkspaceProxies(ctx: Context): Promise<WorkspaceProxyRow[]> {
  if (!sees(ctx.actor, "workspace_proxy:read")) throw notFound();
  const living = storedProxies(ctx.db)
    .where("deletedAt", "is", null)
    .orderBy(sql`lower(name)`);
  const [primary, proxies] = await Promise.all([readPrimary(ctx), living.execute()]);
  return [primary, ...proxies.map(asRow)];
}

/** The name under which the deployment itself is listed as a proxy. */
const primaryName = "primary";

/** Reports whether a name is that of the deployment, in any letter case. */
export const isNamedPrimary = (name: string): boolean => name.toLowerCase() === primaryName;

/** The display name and icon of the deployment in lists of regions. */
export const primaryRegion = siteSetting("primary_region", { displayName: "Default", icon: "" });

/** Returns the hosts of the deployment. */
export const primarySite = ({ config }: Pick<Context, "config">): Site => ({
  accessUrl: config.accessUrl,
  wildcardHostname: config.wildcardAccessUrl ?? "",
});

/** Reads the deployment as a proxy. Its status is always `ok`: it responds. */
async function readPrimary(ctx: Context): Promise<WorkspaceProxyRow> {
  const [row, region] = await Promise.all([
    ctx.db.selectFrom("deployment").select(["id", "createdAt"]).executeTakeFirst(),
    readSiteSetting(ctx, primaryRegion),
  ]);
  if (!row) throw new Error("The deployment has no id: the database was never initialized.");
  const { id, createdAt } = row;
  const { accessUrl, wildcardHostname } = primarySite(ctx);
  return {
    id,
    createdAt,
    updatedAt: createdAt,
    name: primaryName,
    ...region,
    pathAppUrl: accessUrl,
    wildcardHostname,
    derpEnabled: false,
    derpOnly: false,
    version,
    healthy: true,
    deleted: false,
    status: { status: "ok", checkedAt: new Date(databaseTime()).toISOString(), report: { errors: [], warnings: [] } },
  };
}
