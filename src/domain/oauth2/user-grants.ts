import { authorize, reach, sees } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { notFound, Problems } from "../kernel/errors.js";
import { countUpTo, mostCounted, type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { findUser } from "../users/users.js";
import { clientWithId } from "./clients.js";
import { grantColumns, type GrantRow, isLive, revokeGrants } from "./grants.js";
import { requireOAuth2 } from "./settings.js";

export interface GrantsQuery extends PageArguments {
  /** An id, a username or `me`. By default, all users whose grants the caller may read. */
  user?: string | null;
  /** The id of an application. */
  app?: string | null;
  /** Lists grants that have ended, too. They are kept until a week after their expiry. */
  includeEnded?: boolean | null;
}

/** Lists grants, newest first. Their ids are in the order of their creation. */
export async function listGrants(
  ctx: Context,
  { user, app, includeEnded, ...page }: GrantsQuery,
): Promise<Page<GrantRow>> {
  const holder = await holderOf(ctx, user);
  const problems = new Problems();
  const range = readRange(page, {}, problems);
  problems.throwIfAny(invalidQuery);
  const matches = allOf(
    given(app, (id) => sql`g.client_id = ${id}`),
    includeEnded ? undefined : raw(isLive),
  );
  const order: Order = { keys: [], id: sql`g.id`, isDescending: true };
  const from = (beyond?: Sql) => sql`from ${grantsOf(holder)} where ${allOf(matches, beyond)}`;
  const select = (beyond?: Sql) => sql`select ${raw(grantColumns)} ${from(beyond)}`;
  return pageOf(range, await ctx.select<GrantRow>(rowsIn(range, order, select)), {
    cursor: ({ id }) => cursor(id, {}),
    count: () => ctx.count(countUpTo(mostCounted, sql`select ${from()}`)),
  });
}

/** Returns the user whose grants are listed; `undefined` for all users. */
async function holderOf(ctx: Context, ref: string | null | undefined): Promise<string | undefined> {
  if (!ref && reach(ctx.actor, "oauth2_grant:read").everywhere) return undefined;
  const { id } = ref ? await findUser(ctx, ref) : { id: requireUser(ctx.actor).userId };
  authorize(ctx.actor, "oauth2_grant:read", { ownerId: id });
  return id;
}

// `offset 0` has Postgres read the few grants of a user, and not all grants in the order of the list.
const grantsOf = (holder: string | undefined): Sql =>
  holder === undefined ? sql`oauth2_grants g` : sql`(select * from oauth2_grants where user_id = ${holder} offset 0) g`;

const byIds = lookup<GrantRow>(`select ${grantColumns} from oauth2_grants g where g.id = any($1::uuid[])`);

/** Batch read of grants by id, for `ctx.load`. Checks no permission. */
export async function grantsById(ctx: Context, ids: readonly string[]): Promise<Array<GrantRow | Error>> {
  const found = new Map((await ctx.rows(byIds, ids)).map((grant) => [grant.id, grant]));
  return ids.map((id) => found.get(id) ?? notFound());
}

/** Ends a grant with its codes and tokens. Nothing changes if it has ended before. Returns its id. */
export async function revokeGrant(ctx: Context, id: string): Promise<string> {
  const [grant] = await ctx.rows(byIds, [id]);
  const target = { ownerId: grant?.userId ?? null };
  if (!grant || !sees(ctx.actor, "oauth2_grant:read", target)) throw notFound();
  authorize(ctx.actor, "oauth2_grant:delete", target);
  await revokeGrants(ctx, [id], "revoked");
  return id;
}

const ofUserAndClient = statement<{ id: string }>(`
  select g.id from oauth2_grants g where g.user_id = $1 and g.client_id = $2 and ${isLive}`);

/**
 * Ends the grants of the caller for an application, given by its `client_id`. Returns their number. Throws NOT_FOUND for
 * unknown applications: a `client_id` is public, and no secret to those who have not granted anything.
 */
export async function revokeOwnGrants(ctx: Context, clientId: string): Promise<number> {
  requireOAuth2(ctx);
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "oauth2_grant:delete", { ownerId: userId });
  const client = await clientWithId(ctx, clientId);
  if (!client) throw notFound();
  const live = await ctx.rows(ofUserAndClient, userId, client.id);
  const revoked = await revokeGrants(
    ctx,
    live.map(({ id }) => id),
    "revoked",
  );
  return revoked.length;
}
