import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { keyHint, userHint } from "./credentials.js";
import { newToken } from "./text.js";

/** Sessions of a user at most: the oldest ends when one more begins. */
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

/** Begins a session of a user whose row this transaction has locked. Gives the text of its token. */
export async function issueSession(ctx: Context, userId: string): Promise<string> {
  const { sessionDuration, sessionMaxAge } = ctx.config;
  const { ip = null, userAgent = null } = ctx.request;
  const token = newToken("session");
  const end = new Date(Date.now() + Math.min(sessionDuration, sessionMaxAge));
  const ended = await ctx.rows(insertSession, token.id, token.secretHash, userId, end, ip, userAgent);
  ctx.publish(...ended.map(({ id }) => keyHint(id)));
  return token.text;
}

const deleteSessions = statement<{ id: string }>(`
  delete from api_keys where user_id = $1 and kind = 'session' and id is distinct from $2 returning id`);

/** Ends the sessions of a user, but for the one to be kept. Gives their number. */
export async function endSessions(ctx: Context, userId: string, kept?: string): Promise<number> {
  const ended = await ctx.rows(deleteSessions, userId, kept ?? null);
  ctx.publish(userHint(userId));
  return ended.length;
}

/** Ends all sessions of the caller but the one that asks. Gives their number. */
export async function revokeSessions(ctx: Context): Promise<number> {
  const { userId, credential } = ctx.actor;
  if (!userId) throw notFound();
  const ended = await endSessions(ctx, userId, credential?.id);
  if (ended > 0) {
    const diff = { sessions: { old: ended, new: 0 } };
    ctx.audit({ action: "revoke", resourceType: "user", resourceId: userId, diff });
  }
  return ended;
}

const deleteKey = statement<{ name: string }>(`delete from api_keys where id = $1 returning name`);

/** Ends the credential that the caller used. Gives its id. */
export async function logout(ctx: Context): Promise<string> {
  const { credential } = ctx.actor;
  if (!credential) throw notFound();
  const ended = await ctx.row(deleteKey, credential.id);
  if (!ended) throw notFound();
  ctx.audit({ action: "logout", resourceType: "api_key", resourceId: credential.id, resourceLabel: ended.name });
  ctx.publish(keyHint(credential.id));
  return credential.id;
}

const deleteExpired = statement<{ id: string }>(`
  delete from api_keys where id in (
    select id from api_keys where expires_at < now() - interval '7 days' order by expires_at limit 1000
    for update skip locked
  )
  returning id`);

/** Deletes keys a week after their end, in small steps. Every replica may run it at any time. */
export async function deleteExpiredKeys({ database }: Pick<Services, "database">): Promise<void> {
  await database.exhaust(deleteExpired);
}
