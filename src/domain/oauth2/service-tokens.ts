// Access tokens that applications get with client credentials (RFC 6749 §4.4). They have no grants.
import { sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { may } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { anyOf, now } from "../kernel/queries.js";
import { clientHint, keyHint } from "../tokens/hints.js";
import type { ClientRow } from "./clients.js";

const keys = columnsOf("apiKeys");

/**
 * Maximum number of such tokens of an application that have not expired; if there are more, the oldest end. It is looked
 * after at every tenth token that a process issues, and so with room for those that processes issue at the same time.
 */
const mostTokens = 1000;
/** With more tokens than the first number, the oldest end until there are as many as the second. */
const mostBeforeEnding = mostTokens - 50;
const leftAfterEnding = mostTokens - 100;

const tokensOf = (db: Db, clientIds: readonly string[]) =>
  db.selectFrom("apiKeys as k").where("k.clientSecretId", "=", secretsOf(db, clientIds));

/** The ids of the secrets of applications: their tokens are found by them. */
const secretsOf = (db: Db, clientIds: readonly string[]) =>
  sql<string>`any(array(${db.selectFrom("oauth2ClientSecrets").where("clientId", "=", anyOf(clientIds)).select("id")}))`;

/** The number of unexpired tokens of an application; null for callers who may not change it. */
export const serviceTokenCountOf = (ctx: Context, clientId: string): Promise<number> | null =>
  may(ctx.actor, "oauth2_app:update") ? ctx.load(countsByApp, clientId) : null;

async function countsByApp({ db }: Context, ids: readonly string[]): Promise<number[]> {
  const rows = await tokensOf(db, ids)
    .where("k.expiresAt", ">", now)
    .groupBy("k.clientId")
    .select(({ fn }) => ["k.clientId", fn.countAll<number>().as("count")])
    .execute();
  const counts = new Map(rows.map(({ clientId, count }) => [clientId, count]));
  return ids.map((id) => counts.get(id) ?? 0);
}

/** Ends the oldest tokens of an application if there are nearly too many. */
export async function limitServiceTokens(ctx: Context, clientId: string): Promise<void> {
  const db = ctx.services.database.writes;
  const live = tokensOf(db, [clientId]).where("k.expiresAt", ">", now);
  const { count } = await live.select(({ fn }) => fn.countAll<number>().as("count")).executeTakeFirstOrThrow();
  if (count <= mostBeforeEnding) return;
  const surplus = live.orderBy("k.createdAt", "desc").orderBy("k.id", "desc").offset(leftAfterEnding).select("k.id");
  const ended = await db
    .deleteFrom("apiKeys")
    .where("id", "=", sql<string>`any(array(${surplus}))`)
    .returning("id")
    .execute();
  ctx.services.events.publish(...ended.map(({ id }) => keyHint(id)));
}

/** Deletes the tokens of an application. Returns the number of those that had not expired. */
export async function deleteServiceTokens({ db }: Context, clientId: string): Promise<number> {
  const deleted = await db
    .deleteFrom("apiKeys")
    .where("clientSecretId", "=", secretsOf(db, [clientId]))
    .returning(sql<boolean>`${keys.expiresAt} > now()`.as("wasLive"))
    .execute();
  return deleted.filter(({ wasLive }) => wasLive).length;
}

/** Ends the tokens of an application, on every replica within a second. Returns their number. */
export async function revokeServiceTokens(ctx: Context, { id, name }: ClientRow): Promise<number> {
  const count = await deleteServiceTokens(ctx, id);
  if (count === 0) return 0;
  const diff = { tokens: { old: count, new: 0 } };
  ctx.audit({ action: "revoke", resourceType: "oauth2_app", resourceId: id, resourceLabel: name, diff });
  ctx.publish(clientHint(id));
  return count;
}

/** Ends a token for its application, which is the actor in the audit log: its request is anonymous. */
export async function revokeServiceToken(ctx: Context, client: ClientRow, id: string): Promise<void> {
  const { numDeletedRows } = await ctx.db.deleteFrom("apiKeys").where("id", "=", id).executeTakeFirst();
  if (numDeletedRows === 0n) return;
  const actor = { kind: "oauth_client", id: client.id } as const;
  const diff = { app: { old: client.id } };
  ctx.audit({ action: "revoke", actor, resourceType: "api_key", resourceId: id, diff });
  ctx.publish(keyHint(id));
}
