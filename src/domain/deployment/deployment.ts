import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Context } from "../kernel/context.js";
import { programFile } from "../../program-files.js";
import { statement } from "../kernel/database.js";
import { pageKeys } from "../encryption/columns.js";
import { unavailable } from "../kernel/errors.js";
import type { Sealed } from "../outside/vault.js";

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

const pageKey = statement<Sealed & { id: string }>(`
  select id, key_id as "keyId", page_key_nonce as nonce, page_key_ciphertext as ciphertext
  from deployment where key_id is not null`);

const placeOf = (id: string) => pageKeys.place({ id, ownerId: id });

/** The key by which every replica recognizes what pages left with a browser. */
export async function readPageKey(ctx: Context): Promise<Buffer> {
  const row = await ctx.row(pageKey);
  if (!row) throw unavailable("The deployment has no key for pages: a server that starts makes one.");
  return Buffer.from(ctx.services.vault.open(placeOf(row.id), row), "base64url");
}

const storePageKey = statement(`
  update deployment set key_id = $1, page_key_nonce = $2, page_key_ciphertext = $3 where key_id is null`);

/** Makes the key of pages if there is none, or none that can be opened. The caller holds the lock of the boot. */
export async function ensurePageKey(ctx: Context): Promise<void> {
  if (await ctx.row(pageKey)) return;
  const { deploymentId } = await readServerInfo(ctx);
  const plain = randomBytes(32).toString("base64url");
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(placeOf(deploymentId), plain);
  await ctx.rows(storePageKey, keyId, nonce, ciphertext);
}
