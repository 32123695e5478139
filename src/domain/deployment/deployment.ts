import { version } from "../../program-files.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

/** Public information about this server. */
export interface ServerInfo {
  version: string;
  accessUrl: string;
  deploymentId: string;
}

const deployment = statement<{ id: string }>("select id from deployment");

export async function readServerInfo(ctx: Context): Promise<ServerInfo> {
  const row = await ctx.row(deployment);
  if (!row) throw new Error("The deployment has no id: the database was never initialized.");
  return { version, accessUrl: ctx.config.accessUrl, deploymentId: row.id };
}
