import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { unauthenticated } from "../kernel/errors.js";
import { keyHint } from "../tokens/credentials.js";
import { newToken } from "../tokens/text.js";

/** Application keys of a user at most: the oldest ends when one more is made. */
const keysPerUser = 100;

/** What application keys are good for. */
const scope = "application_connect";

// The credential that asks must still be there: what has just been revoked leaves no key behind.
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
 * Makes a key with which the caller may open applications, and nothing else. It ends with the credential that asks for
 * it, and after a day. `host` is where it is going to be used.
 */
export async function createApplicationKey(ctx: Context, userId: string, host: string): Promise<string> {
  const token = newToken("application");
  const { ip = null, userAgent = null } = ctx.request;
  const giver = ctx.actor.credential?.id;
  const made = await ctx.row(insertKey, token.id, token.secretHash, giver, userId, ip, userAgent);
  if (!made?.expiresAt) throw unauthenticated("The token is not valid.");
  ctx.publish(...made.ended.map(keyHint));
  const diff = { scopes: { new: [scope] }, expiresAt: { new: made.expiresAt }, host: { new: host } };
  ctx.audit({ action: "create", resourceType: "api_key", resourceId: token.id, diff });
  return token.text;
}
