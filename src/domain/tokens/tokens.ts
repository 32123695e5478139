import { databaseTime } from "../../clock.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { day, purge } from "../kernel/purge.js";
import { keyHint, userHint } from "./credentials.js";
import { newToken } from "./text.js";

/** Maximum number of sessions of a user. Another one ends the oldest. */
const sessionsPerUser = 100;

const insertSession = statement<{ id: string }>(`
  with created as (
    insert into api_keys (id, secret_hash, user_id, kind, scopes, created_at, last_used_at, expires_at, ip, user_agent)
    values ($1, $2, $3, 'session', '{all}', now(), now(), $4, $5, $6)
  )
  delete from api_keys where id in (
    select id from api_keys where user_id = $3 and kind = 'session'
    order by created_at desc, id desc offset ${sessionsPerUser - 1}
  )
  returning id`);

/** Creates a session of a user, which the transaction must have locked. Returns the text of its token. */
export async function issueSession(ctx: Context, userId: string): Promise<string> {
  const { sessionDuration, sessionMaxAge } = ctx.config;
  const { ip = null, userAgent = null } = ctx.request;
  const token = newToken("session");
  const end = new Date(databaseTime() + Math.min(sessionDuration, sessionMaxAge));
  const ended = await ctx.rows(insertSession, token.id, token.secretHash, userId, end, ip, userAgent);
  ctx.publish(...ended.map(({ id }) => keyHint(id)));
  return token.text;
}

const deleteSessions = statement<{ id: string }>(`
  delete from api_keys where user_id = $1 and kind = 'session' and id is distinct from $2 returning id`);

/** Ends the sessions of a user, except one to keep. Returns their number. */
export async function endSessions(ctx: Context, userId: string, kept?: string): Promise<number> {
  const ended = await ctx.rows(deleteSessions, userId, kept ?? null);
  ctx.publish(userHint(userId));
  return ended.length;
}

/** Ends all sessions of the caller except the current one. Returns their number. */
export async function revokeSessions(ctx: Context): Promise<number> {
  const { userId, credential } = requireUser(ctx.actor);
  const ended = await endSessions(ctx, userId, credential.id);
  if (ended > 0) {
    const diff = { sessions: { old: ended, new: 0 } };
    ctx.audit({ action: "revoke", resourceType: "user", resourceId: userId, diff });
  }
  return ended;
}

const deleteKey = statement<{ name: string }>(`delete from api_keys where id = $1 returning name`);

/** Ends the credential of this request. Returns its id. */
export async function logout(ctx: Context): Promise<string> {
  const { credential } = requireUser(ctx.actor);
  const ended = await ctx.row(deleteKey, credential.id);
  if (!ended) throw notFound();
  ctx.audit({ action: "logout", resourceType: "api_key", resourceId: credential.id, resourceLabel: ended.name });
  ctx.publish(keyHint(credential.id));
  return credential.id;
}

/** Deletes keys a week after they expired. */
export const keyPurge = purge("api_keys", { by: "expires_at", keptFor: 7 * day });
