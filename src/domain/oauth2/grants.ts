import { type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { authorize, may, selectPermitted, sees } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { after, anyOf, now, rowById } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { newId } from "../kernel/ids.js";
import { defineList } from "../kernel/lists.js";
import { OrderDirection, type Page, PageArguments } from "../kernel/paging.js";
import { userHint } from "../tokens/hints.js";
import { findUser } from "../users/users.js";
import { clientWithId } from "./clients.js";
import { requireOAuth2 } from "./oauth2-settings.js";
import { revokeServiceTokens } from "./service-tokens.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { flag, type Input, inputOf, optional, reference, required, uuid } from "../kernel/values.js";

export const GrantsOfApp = inputOf({
  clientId: required(reference, "The `client_id` of the application."),
});
export type GrantsOfApp = Input<typeof GrantsOfApp>;

export const NamedGrant = inputOf({
  id: required(uuid, "ID of the grant."),
});
export type NamedGrant = Input<typeof NamedGrant>;

const g = columnsOf("oauth2Grants", "g");

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

const grants = (db: Db) =>
  db
    .selectFrom("oauth2Grants as g")
    .select([
      "g.id",
      "g.userId",
      "g.clientId",
      "g.scopes",
      "g.audiences",
      "g.ip",
      "g.createdAt",
      "g.lastUsedAt",
      "g.expiresAt",
      "g.revokedAt",
      "g.revokeReason",
    ])
    .$narrowType<{ revokeReason: RevokeReason | null }>();

/** The access that a user granted to an application. */
export type GrantRow = InferResult<ReturnType<typeof grants>>[number];

/** The condition that a grant `g` has not ended. */
export const isLive = sql<SqlBool>`(${g.revokedAt} is null and ${g.expiresAt} > now())`;

/** The condition that a user has granted access to the application with the id `client`, and the grant has not ended. */
export const hasGrant = (userId: string | null, client: RawBuilder<unknown>) => sql<boolean>`exists (
  select from oauth2_grants g where ${g.userId} = ${userId} and ${g.clientId} = ${client} and ${isLive})`;

/** A new grant. Lifetimes are in milliseconds. */
export interface NewGrant {
  userId: string;
  clientId: string;
  scopes: string[];
  /** In canonical form. */
  audiences: string[];
  /** The id of the key with which the user allows it. */
  madeBy: string;
  /** Until its code must be redeemed; redeeming extends it. */
  lifetime: number;
}

/** Maximum number of grants of a user for one application: it may run on several machines. */
const mostGrants = 20;

/** Creates a grant. The least recently used one of the user and application ends if there are too many. Returns its id. */
export async function createGrant(ctx: Context, { lifetime, ...grant }: NewGrant): Promise<string> {
  const id = newId();
  await ctx.db
    .insertInto("oauth2Grants")
    .values({
      ...grant,
      id,
      ip: ctx.request.ip ?? null,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: after(lifetime),
    })
    .execute();
  const surplus = await ctx.db
    .selectFrom("oauth2Grants as g")
    .where("g.userId", "=", grant.userId)
    .where("g.clientId", "=", grant.clientId)
    .where(isLive)
    .orderBy("g.lastUsedAt", "desc")
    .orderBy("g.id", "desc")
    .offset(mostGrants)
    .select("g.id")
    .execute();
  const ids = surplus.map((each) => each.id);
  if (ids.length > 0) await revokeGrants(ctx, ids, "superseded");
  return id;
}

/**
 * Ends grants with all of their codes and tokens, on every replica within a second. `by` makes the application of the
 * grants the actor in the audit log, for requests of an application, which are anonymous. Returns the number of grants
 * that had not ended before.
 */
export const revokeGrants = (
  ctx: Context,
  ids: readonly string[],
  reason: RevokeReason,
  by?: "application",
): Promise<number> => revoke(ctx, sql`g.id = ${anyOf(ids)}`, reason, by);

/** Ends all grants of a user. */
export const revokeGrantsOfUser = (ctx: Context, userId: string, reason: RevokeReason): Promise<number> =>
  revoke(ctx, sql`${g.userId} = ${userId}`, reason);

/** Ends the grants whose latest tokens the application got with a secret. */
export const revokeGrantsOfSecret = (ctx: Context, secretId: string): Promise<number> =>
  revoke(ctx, sql`${g.secretId} = ${secretId}`, "secret_deleted");

async function revoke(
  ctx: Context,
  isTheirs: RawBuilder<SqlBool>,
  reason: RevokeReason,
  by?: "application",
): Promise<number> {
  const revoked = await ctx.db
    .updateTable("oauth2Grants as g")
    .set({ revokedAt: now, expiresAt: now, revokeReason: reason })
    .where(isTheirs)
    .where(isLive)
    .returning(["g.id", "g.userId", "g.clientId"])
    .execute();
  if (revoked.length === 0) return 0;
  const ids = revoked.map(({ id }) => id);
  // A statement of its own, which sees tokens that were committed while the first one waited for the row of their grant.
  await ctx.db.deleteFrom("apiKeys").where("grantId", "=", anyOf(ids)).execute();
  for (const { id, clientId } of revoked) {
    const diff = { app: { old: clientId }, reason: { new: reason } };
    const actor = by && ({ kind: "oauth_client", id: clientId } as const);
    ctx.audit({ action: "revoke", actor, resourceType: "oauth2_grant", resourceId: id, diff });
  }
  ctx.publish(...[...new Set(revoked.map(({ userId }) => userId))].map(userHint));
  return revoked.length;
}

export const GrantsQuery = inputOf({
  ...PageArguments.shape,
  user: optional(
    reference,
    "User who granted access: ID, username, or `me`. Default: all users whose grants the caller may read.",
  ),
  app: optional(uuid, "ID of the application that has access."),
  // They are kept until a week after their expiry.
  includeEnded: optional(flag, "Whether to list grants that were revoked or expired, too. Default: false."),
});
export type GrantsQuery = Input<typeof GrantsQuery>;

const grantList = defineList(({ db }: Context) => grants(db), {
  id: { column: "g.id", of: ({ id }) => id },
  orders: { creation: {} },
  filters: {
    user: (eb, id: string) => eb("g.userId", "=", id),
    app: (eb, id: string) => eb("g.clientId", "=", id),
    isLive: () => isLive,
  },
  // The best index depends on the number of grants that the user has.
  planned: ["user"],
});

/** Lists grants, newest first. Their ids are in the order of their creation. */
export async function listGrants(
  ctx: Context,
  { user: ref, app, includeEnded, ...page }: GrantsQuery,
): Promise<Page<GrantRow>> {
  const user = await holderOf(ctx, ref);
  return grantList.page(ctx, {
    filter: { user, app, isLive: includeEnded ? null : true },
    orderBy: { field: "creation", direction: OrderDirection.DESC },
    page,
  });
}

/** Returns the user whose grants are listed; `undefined` for all users. */
async function holderOf(ctx: Context, ref: string | null | undefined): Promise<string | undefined> {
  if (!ref && selectPermitted(ctx.actor, "oauth2_grant:read").everywhere) return undefined;
  const { id } = ref ? await findUser(ctx, ref) : { id: requireUser(ctx.actor).userId };
  authorize(ctx.actor, "oauth2_grant:read", { ownerId: id });
  return id;
}

/** Batch read of grants by id, for `ctx.load`. Checks no permission. */
export async function grantsById(ctx: Context, ids: readonly string[]): Promise<Array<GrantRow | Error>> {
  const rows = await grants(ctx.db).where("g.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids).map((row) => row ?? notFound());
}

/** Ends a grant with its codes and tokens. Nothing changes if it has ended before. Returns its id. */
export async function revokeGrant(ctx: Context, id: string): Promise<string> {
  const grant = await grants(ctx.db).where("g.id", "=", id).executeTakeFirst();
  const target = { ownerId: grant?.userId ?? null };
  if (!grant || !sees(ctx.actor, "oauth2_grant:read", target)) throw notFound();
  authorize(ctx.actor, "oauth2_grant:delete", target);
  await revokeGrants(ctx, [id], "revoked");
  return id;
}

/**
 * Ends the grants of the caller for an application, given by its `client_id`, and the tokens that it got with client
 * credentials, if the caller may end what its service account granted. Returns their number. Throws NOT_FOUND for unknown
 * applications: a `client_id` is public, and no secret to those who have not granted anything.
 */
export async function revokeOwnGrants(ctx: Context, clientId: string): Promise<number> {
  requireOAuth2(ctx);
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "oauth2_grant:delete", { ownerId: userId });
  const client = await clientWithId(ctx, clientId);
  if (!client) throw notFound();
  const grantCount = await revoke(ctx, sql`${g.userId} = ${userId} and ${g.clientId} = ${client.id}`, "revoked");
  const isServed = client.serviceUserId !== null;
  if (!isServed || !may(ctx.actor, "oauth2_grant:delete", { ownerId: client.serviceUserId })) return grantCount;
  return grantCount + (await revokeServiceTokens(ctx, client));
}

/** Deletes grants a week after they ended. */
export const grantPurge = purge("oauth2_grants", { by: "expires_at", keptFor: 7 * day });
