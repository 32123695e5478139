import { type Statement, statement } from "../kernel/database.js";
import { onViolation } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { newToken } from "../tokens/text.js";
import { invalidClient } from "./client-authentication.js";
import type {
  ClientExchange,
  CodeExchange,
  DeviceExchange,
  Exchange,
  IssuedTokens,
  RefreshExchange,
} from "./exchange.js";
import { oauthFailure } from "./failures.js";
import { isUsable } from "./presented.js";
import { newSecret } from "./secrets.js";

type Expiry = Pick<IssuedTokens, "expiry" | "expiresIn">;

/**
 * Declares the statement that decides and issues, in one snapshot: `redeemed` locks the grant `$1` first, like its
 * revocation, and has its `id`, `user_id` and `expires_at` only for the one request that may have tokens. `$2` is the
 * id of what is redeemed, `$3` the secret of the application.
 */
const issuing = (redeemed: string): Statement<Expiry> =>
  statement<Expiry>(`
    with ${redeemed}, access as (
      insert into api_keys
        (id, secret_hash, user_id, kind, scopes, audiences, grant_id, created_at, expires_at, ip, user_agent)
      select $4, $5, user_id, 'oauth', $6, $7, id, now(), least(now() + make_interval(secs => $8), expires_at), $9, $10
      from redeemed
      returning expires_at
    ), refresh as (
      insert into oauth2_refresh_tokens (id, secret_hash, grant_id, created_at, expires_at)
      select $11, $12, id, now(), least(now() + make_interval(secs => $13), expires_at)
      from redeemed where $11::varchar is not null
    )
    select expires_at as expiry, round(extract(epoch from expires_at - now()))::int as "expiresIn" from access`);

const locked = `live as (
    select id, user_id, secret_id, last_used_at, expires_at from oauth2_grants
    where id = $1 and revoked_at is null and expires_at > now() for no key update
  )`;

/** Redeems a row that can be redeemed once, and extends the grant to its full lifetime, `$14` seconds. */
const redeemingOnce = (table: string, before: string, after: string) =>
  issuing(`${locked}, spent as (
    update ${table} p set state = '${after}' from live
    where p.id = $2 and p.grant_id = live.id and p.state = '${before}' and p.expires_at > now()
    returning live.id
  ), redeemed as (
    update oauth2_grants g set secret_id = $3, last_used_at = now(), expires_at = now() + make_interval(secs => $14)
    from spent where g.id = spent.id
    returning g.id, g.user_id, g.expires_at
  )`);

const usingCode = redeemingOnce("oauth2_codes", "issued", "used");
const usingDeviceCode = redeemingOnce("oauth2_device_codes", "approved", "redeemed");

// Several successors of a token may be live: of a repeat within the grace period, which `$14` has in seconds. `$15` is
// whether the request read the token as unused.
const rotation = issuing(`${locked}, redeemed as (
    update oauth2_refresh_tokens p
    set spent_at = coalesce(p.spent_at, clock_timestamp()), repeats = p.repeats + (p.spent_at is not null)::int
    from live
    where p.id = $2 and p.grant_id = live.id and p.expires_at > now()
      and ${isUsable("p", "$14::float8", "$15::boolean")}
    returning live.id, live.user_id, live.secret_id, live.last_used_at, live.expires_at
  ), touched as (
    update oauth2_grants g set secret_id = $3, last_used_at = now() from redeemed r
    where g.id = r.id and (r.secret_id is distinct from $3 or r.last_used_at < now() - interval '5 minutes')
  )`);

// The lock on the service account serializes with its suspension, which revokes grants.
const grantToServiceAccount = issuing(`holder as (
    select id from users
    where id = $2 and is_service_account and status = 'active' and deleted_at is null for share
  ), redeemed as (
    insert into oauth2_grants
      (id, user_id, client_id, secret_id, scopes, audiences, ip, created_at, last_used_at, expires_at)
    select $1, id, $14, $3, $6, $7, $9, now(), now(), now() + make_interval(secs => $8) from holder
    returning id, user_id, expires_at
  )`);

/** Applications and secrets can be deleted while they are in use. */
const onDeletion = onViolation({
  oauth2_grants_client_id_foreign: invalidClient,
  oauth2_grants_secret_id_foreign: invalidClient,
});

/** Spends the code of an exchange, and issues tokens. */
export const redeemCode = (exchange: CodeExchange) =>
  issue(exchange, usingCode, exchange.presented, [exchange.ctx.config.oauth2GrantTtl / 1000]);

/** Spends the device code of an exchange, which the user has approved, and issues tokens. */
export const redeemDeviceCode = (exchange: DeviceExchange) =>
  issue(exchange, usingDeviceCode, exchange.presented, [exchange.ctx.config.oauth2GrantTtl / 1000]);

const restartGrace = statement(`update oauth2_refresh_tokens set spent_at = now() where id = $1`);

/**
 * Spends the refresh token of an exchange, and issues its successor with an access token. The grace period begins when
 * others see that: if the commit took a considerable part of it, the time is stored once more.
 */
export async function rotateRefreshToken(exchange: RefreshExchange): Promise<void> {
  const { ctx, presented } = exchange;
  const { oauth2RefreshGrace: grace } = ctx.config;
  const start = performance.now();
  await issue(exchange, rotation, presented, [grace / 1000, !presented.isUsed]);
  if (!exchange.tokens || presented.isUsed) return;
  ctx.afterCommit(async () => {
    if (performance.now() - start > grace / 10) await ctx.services.database.query(restartGrace, [presented.id]);
  });
}

/** Issues an access token that acts as the service account of the application, with a grant of its own. */
export async function useServiceAccount(exchange: ClientExchange): Promise<void> {
  const { id, serviceUserId } = exchange.client;
  await issue(exchange, grantToServiceAccount, { id: serviceUserId, grantId: newId() }, [id], false);
  if (!exchange.tokens) throw oauthFailure("unauthorized_client", "The application has no active service account.");
}

async function issue(
  exchange: Exchange<unknown>,
  which: Statement<Expiry>,
  spent: Record<"id" | "grantId", string | null>,
  more: readonly unknown[],
  mayRefresh = exchange.client.grantTypes.includes("refresh_token"),
): Promise<void> {
  const { ctx, client, scopes, audiences } = exchange;
  const { oauth2AccessTtl, oauth2RefreshTtl } = ctx.config;
  const { ip = null, userAgent = null } = ctx.request;
  const access = newToken("oauth");
  const refresh = mayRefresh ? newSecret("refreshToken") : undefined;
  const accessValues = [access.id, access.secretHash, scopes, audiences, oauth2AccessTtl / 1000, ip, userAgent];
  const refreshValues = [refresh?.id ?? null, refresh?.secretHash ?? null, oauth2RefreshTtl / 1000];
  const values = [spent.grantId, spent.id, client.secretId, ...accessValues, ...refreshValues, ...more];
  const expiry = await ctx.row(which, ...values).catch(onDeletion);
  if (expiry)
    exchange.tokens = { accessToken: access.text, refreshToken: refresh?.text, scope: scopes.join(" "), ...expiry };
}
