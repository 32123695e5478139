import { readFileSync } from "node:fs";
import type { Context } from "../context.js";
import { programFile } from "../program-files.js";
import { statement } from "./database.js";

/** What anybody may know of this server. */
export interface ServerInfo {
  version: string;
  accessUrl: string;
  deploymentId: string;
}

/** The version of this program. */
export const { version } = JSON.parse(readFileSync(programFile("../package.json"), "utf8")) as { version: string };

const deployment = statement<{ id: string }>("select id from deployment");

export async function readServerInfo(ctx: Context): Promise<ServerInfo> {
  const row = await ctx.row(deployment);
  if (!row) throw new Error("The deployment has no id: it was never booted.");
  return { version, accessUrl: ctx.config.accessUrl, deploymentId: row.id };
}

const pageKey = statement<{ pageKey: Buffer }>(`select page_key as "pageKey" from deployment`);

/** The key by which every replica knows again what pages left with a browser. It stays the same for good. */
export async function readPageKey(ctx: Context): Promise<Buffer> {
  const row = await ctx.row(pageKey);
  if (!row) throw new Error("The deployment has no key for pages: it was never booted.");
  return row.pageKey;
}
