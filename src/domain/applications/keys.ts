import type { UserActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { unauthenticated } from "../kernel/errors.js";
import { keyHint } from "../tokens/credentials.js";
import { newToken } from "../tokens/text.js";

/** Maximum number of application keys of a user. Another one ends the oldest. */
const keysPerUser = 100;

/** The scope of application keys. */
const scope = "application_connect";

// Requires that the creating credential still exists: it may have been revoked during the request.
const insertKey = statement<{ expiresAt: string | null; ended: string[] }>(`
  with giver as (
    select id, user_id, expires_at from api_keys where id = $3 and expires_at > now() for key share
  ), created as (
    insert into api_keys (id, secret_hash, user_id, kind, scopes, parent_id, created_at, expires_at, ip, user_agent)
    select $1, $2, user_id, 'application', '{${scope}}', id, now(), least(expires_at, now() + interval '24 hours'), $5, $6
    from giver
    returning expires_at
  ), ended as (
    delete from api_keys where id in (
      select id from api_keys where user_id = $4 and kind = 'application'
      order by created_at desc, id desc offset ${keysPerUser - 1}
    )
    returning id
  )
  select (select expires_at from created) as "expiresAt", array(select id from ended) as ended`);

/**
 * Creates a key for applications at a host, with no other permissions. It expires after a day, or earlier with the
 * credential that creates it. Returns its text.
 */
export async function createApplicationKey(
  ctx: Context,
  { userId, credential }: UserActor,
  host: string,
): Promise<string> {
  const token = newToken("application");
  const { ip = null, userAgent = null } = ctx.request;
  const made = await ctx.row(insertKey, token.id, token.secretHash, credential.id, userId, ip, userAgent);
  if (!made?.expiresAt) throw unauthenticated("The token is not valid.");
  ctx.publish(...made.ended.map(keyHint));
  const diff = { scopes: { new: [scope] }, expiresAt: { new: made.expiresAt }, host: { new: host } };
  ctx.audit({ action: "create", resourceType: "api_key", resourceId: token.id, diff });
  return token.text;
}
