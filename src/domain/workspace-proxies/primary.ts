import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { version } from "../deployment/deployment.js";
import { readSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { WorkspaceProxyRow } from "./row.js";
import type { Site } from "./sites.js";

/** The name of the deployment itself among the proxies. */
const primaryName = "primary";

/** Whether a name is that of the deployment, in any letter case. */
export const isNamedPrimary = (name: string): boolean => name.toLowerCase() === primaryName;

/** What people call the deployment where they choose among it and the proxies. */
export const primaryRegion = siteSetting("primary_region", { displayName: "Default", icon: "" });

const deployment = statement<{ id: string; createdAt: string }>(`select id, created_at as "createdAt" from deployment`);

/** The hosts of the deployment. */
export const primarySite = ({ config }: Pick<Context, "config">): Site => ({
  accessUrl: config.accessUrl,
  wildcardHostname: config.wildcardAccessUrl ?? "",
});

/** The deployment in the form of a proxy. It is well as long as it can say so. */
export async function readPrimary(ctx: Context): Promise<WorkspaceProxyRow> {
  const [row, region] = await Promise.all([ctx.row(deployment), readSiteSetting(ctx, primaryRegion)]);
  if (!row) throw new Error("The deployment has no id: it was never booted.");
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
    status: { status: "ok", checkedAt: new Date().toISOString(), report: { errors: [], warnings: [] } },
  };
}
