import { readFileSync } from "node:fs";
import type { Context } from "../context.js";
import { statement } from "./database.js";

/** What anybody may know of this server. */
export interface ServerInfo {
  version: string;
  accessUrl: string;
  deploymentId: string;
}

const packageFile = new URL("../../package.json", import.meta.url);

/** The version of this program. */
export const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

const deployment = statement<{ id: string }>("select id from deployment");

export async function readServerInfo(ctx: Context): Promise<ServerInfo> {
  const row = await ctx.row(deployment);
  if (!row) throw new Error("The deployment has no id: it was never booted.");
  return { version, accessUrl: ctx.config.accessUrl, deploymentId: row.id };
}
