import { databaseTime } from "../../clock.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { version } from "../../program-files.js";
import { readSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { WorkspaceProxyRow } from "./row.js";
import type { Site } from "./sites.js";

/** The name under which the deployment itself is listed as a proxy. */
const primaryName = "primary";

/** Reports whether a name is that of the deployment, in any letter case. */
export const isNamedPrimary = (name: string): boolean => name.toLowerCase() === primaryName;

/** The display name and icon of the deployment in lists of regions. */
export const primaryRegion = siteSetting("primary_region", { displayName: "Default", icon: "" });

const deployment = statement<{ id: string; createdAt: string }>(`select id, created_at as "createdAt" from deployment`);

/** Returns the hosts of the deployment. */
export const primarySite = ({ config }: Pick<Context, "config">): Site => ({
  accessUrl: config.accessUrl,
  wildcardHostname: config.wildcardAccessUrl ?? "",
});

/** Reads the deployment as a proxy. Its status is always `ok`: it responds. */
export async function readPrimary(ctx: Context): Promise<WorkspaceProxyRow> {
  const [row, region] = await Promise.all([ctx.row(deployment), readSiteSetting(ctx, primaryRegion)]);
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
