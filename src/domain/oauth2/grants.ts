import { OAuth2Grant } from "../../entities/oauth2.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { type Statement, statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { day, purge } from "../kernel/purge.js";
import { type Sql, sql } from "../kernel/sql.js";
import { userHint } from "../tokens/credentials.js";

/** Why a grant ended before its time. */
export const RevokeReason = {
  /** The user, an administrator, or the application revoked it. */
  REVOKED: "revoked",
  CODE_REPLAY: "code_replay",
  REFRESH_REUSE: "refresh_reuse",
  SECRET_DELETED: "secret_deleted",
  PASSWORD_RESET: "password_reset",
  USER_SUSPENDED: "user_suspended",
  USER_DELETED: "user_deleted",
  /** The user granted the application access too often. */
  SUPERSEDED: "superseded",
} as const;
export type RevokeReason = (typeof RevokeReason)[keyof typeof RevokeReason];

/** The columns of a `GrantRow`, from `oauth2_grants g`. */
export const grantColumns = columnsOf(OAuth2Grant, "g", [
  "id",
  "userId",
  "clientId",
  "scopes",
  "audiences",
  "ip",
  "createdAt",
  "lastUsedAt",
  "expiresAt",
  "revokedAt",
  "revokeReason",
]);

/** The access that a user granted to an application. */
export interface GrantRow extends RowOf<typeof grantColumns> {
  revokeReason: RevokeReason | null;
}

/** The condition that a grant `g` has not ended. */
export const isLive = "g.revoked_at is null and g.expires_at > now()";

/** A new grant. Lifetimes are in milliseconds. */
export interface NewGrant {
  userId: string;
  clientId: string;
  scopes: readonly string[];
  /** In canonical form. */
  audiences: readonly string[];
  /** Until its code must be redeemed; redeeming extends it. */
  lifetime: number;
}

/** Maximum number of grants of a user for one application: it may run on several machines. */
const mostGrants = 20;

const insertGrant = statement(`
  insert into oauth2_grants (id, user_id, client_id, scopes, audiences, ip, created_at, last_used_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, now(), now(), now() + make_interval(secs => $7))`);

const surplusGrants = statement<{ id: string }>(`
  select id from oauth2_grants
  where user_id = $1 and client_id = $2 and revoked_at is null and expires_at > now()
  order by last_used_at desc, id desc offset ${mostGrants}`);

/** Creates a grant. The least recently used one of the user and application ends if there are too many. Returns its id. */
export async function createGrant(ctx: Context, grant: NewGrant): Promise<string> {
  const { userId, clientId, scopes, audiences, lifetime } = grant;
  const id = newId();
  await ctx.rows(insertGrant, id, userId, clientId, scopes, audiences, ctx.request.ip ?? null, lifetime / 1000);
  const surplus = await ctx.rows(surplusGrants, userId, clientId);
  if (surplus.length > 0)
    await revoke(
      ctx,
      byIds,
      surplus.map((each) => each.id),
      "superseded",
    );
  return id;
}

/** A grant that ended. */
export type RevokedGrant = Pick<GrantRow, "id" | "userId" | "clientId">;

// Two statements: the second sees tokens that were committed while the first waited for the row of their grant.
const revokeWhere = (condition: string) =>
  statement<RevokedGrant>(`
    update oauth2_grants set revoked_at = now(), expires_at = now(), revoke_reason = $2
    where ${condition} and revoked_at is null and expires_at > now()
    returning id, user_id as "userId", client_id as "clientId"`);

const byIds = revokeWhere("id = any($1::uuid[])");
const byUser = revokeWhere("user_id = $1");
const bySecret = revokeWhere("secret_id = $1");

const deleteTokens = statement(`delete from api_keys where grant_id = any($1::uuid[])`);

async function revoke(
  ctx: Context,
  which: Statement<RevokedGrant>,
  value: unknown,
  reason: RevokeReason,
  by?: "application",
): Promise<RevokedGrant[]> {
  const revoked = await ctx.rows(which, value, reason);
  await afterEnding(ctx, revoked, reason, by);
  return revoked;
}

/** Common table expression of a statement that ends all grants of a user. */
export const endingGrants = (userId: string, reason: RevokeReason): Sql => sql`
  revoked as (
    update oauth2_grants set revoked_at = now(), expires_at = now(), revoke_reason = ${reason}
    where user_id = ${userId} and revoked_at is null and expires_at > now()
    returning id, user_id as "userId", client_id as "clientId")`;

/** A column of that statement: the grants that it ended, for `afterEnding`. */
export const endedGrants = sql`(select coalesce(json_agg(revoked), '[]') from revoked)`;

/** Deletes the tokens of grants that an earlier statement of the transaction ended, and records their end. */
export async function afterEnding(
  ctx: Context,
  revoked: readonly RevokedGrant[],
  reason: RevokeReason,
  by?: "application",
): Promise<void> {
  if (revoked.length === 0) return;
  await ctx.rows(
    deleteTokens,
    revoked.map(({ id }) => id),
  );
  for (const { id, clientId } of revoked) {
    const diff = { app: { old: clientId }, reason: { new: reason } };
    const actor = by && ({ kind: "oauth_client", id: clientId } as const);
    ctx.audit({ action: "revoke", actor, resourceType: "oauth2_grant", resourceId: id, diff });
  }
  ctx.publish(...[...new Set(revoked.map(({ userId }) => userId))].map(userHint));
}

/**
 * Ends grants with all of their codes and tokens, on every replica within a second. `by` the application of the grants,
 * if its request, which has no other actor, is the cause. Returns those that were live.
 */
export const revokeGrants = (
  ctx: Context,
  ids: readonly string[],
  reason: RevokeReason,
  by?: "application",
): Promise<RevokedGrant[]> => revoke(ctx, byIds, ids, reason, by);

/** Ends all grants of a user. */
export const revokeGrantsOfUser = (ctx: Context, userId: string, reason: RevokeReason): Promise<RevokedGrant[]> =>
  revoke(ctx, byUser, userId, reason);

/** Ends the grants whose latest tokens the application got with a secret. */
export const revokeGrantsOfSecret = (ctx: Context, secretId: string): Promise<RevokedGrant[]> =>
  revoke(ctx, bySecret, secretId, "secret_deleted");

/** Deletes grants a week after they ended. */
export const grantPurge = purge("oauth2_grants", { by: "expires_at", keptFor: 7 * day });
