import { sql } from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { instantOf } from "../../runtime/clock.js";
import { may } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { lowestIdSince } from "../kernel/months.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { purge } from "../../infrastructure/database/purge.js";
import { isLive, revokeGrants } from "../oauth2/grants.js";
import { lockUsers, userTarget } from "../users/users.js";
import { keyHint } from "./hints.js";
import type { TokenKind } from "./token-text.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const auditLog = columnsOf("auditLog", "e");

const apiKeys = columnsOf("apiKeys", "k");
const endedKeys = columnsOf("endedKeys", "e");

/** Something that a key made and that outlives it, by the audit log. */
export interface LeftByKey {
  /** The type as in the audit log: `scim_key`. */
  resourceType: string;
  resourceId: string | null;
  /** Its name when it was made. */
  label: string | null;
  madeAt: string;
}

/** The things that a key made, through all generations: those that ended with it, and those that are left. */
export interface Made {
  /** The numbers of keys and of grants that ended with it. */
  endedKeyCount: number;
  endedGrantCount: number;
  /** Those that are left, at most 100. */
  left: LeftByKey[];
}

/** The maker of a key, as far as it is known. */
export interface Maker {
  id: string;
  /** Null if nothing but its id is known. */
  kind: TokenKind | null;
  /** The name of a token, otherwise empty. */
  name: string;
  hasEnded: boolean;
}

/** Maximum number of listed objects that a key left. */
const mostListed = 100;

/**
 * Ends the keys and grants that a key made, through all generations, if `isEnding`; those that the caller may not end are
 * left. Lists what is left, if that is wanted. The key must have been deleted in this transaction: what it makes at the
 * same time is committed by then, or fails.
 */
export async function endMade(
  ctx: Context,
  key: { id: string; userId: string; createdAt: string },
  isEnding: boolean,
): Promise<Made> {
  const known = new Map<string, string | null>([[key.id, key.userId]]);
  const spared: MadeKey[] = [];
  let endedKeyCount = 0;
  // Each deletion waits for keys that are being made by what it deletes; another look finds these.
  for (;;) {
    const found = (await madeKeys(ctx, [...known.keys()])).filter(({ id }) => !known.has(id));
    if (found.length === 0) break;
    for (const { id, userId } of found) known.set(id, userId);
    const living = found.filter(({ userId }) => userId !== null);
    const endable = isEnding ? await keysToEnd(ctx, living) : [];
    spared.push(...living.filter((each) => !endable.includes(each)));
    endedKeyCount += await endKeys(ctx, endable);
  }
  const ids = [...known.keys()];
  const grants = await liveGrants(ctx, ids);
  const endableGrants = grants.filter(
    ({ userId }) => isEnding && may(ctx.actor, "oauth2_grant:delete", { ownerId: userId }),
  );
  const endedGrantCount =
    endableGrants.length === 0
      ? 0
      : await revokeGrants(
          ctx,
          endableGrants.map(({ id }) => id),
          "revoked",
        );
  const holders = [...new Set([...known.values()].filter((id) => id !== null))];
  const left: LeftByKey[] = [
    ...spared.map(({ id, name, createdAt }) => ({
      resourceType: "api_key",
      resourceId: id,
      label: name,
      madeAt: createdAt!,
    })),
    ...grants
      .filter((grant) => !endableGrants.includes(grant))
      .map(({ id, name, createdAt }) => ({
        resourceType: "oauth2_grant",
        resourceId: id,
        label: name,
        madeAt: createdAt,
      })),
    ...(await otherThings(ctx, ids, holders, key.createdAt)),
  ];
  return { endedKeyCount, endedGrantCount, left: left.slice(0, mostListed) };
}

/** A key that another one made. Of one that has ended, only the id is known. */
interface MadeKey {
  id: string;
  userId: string | null;
  name: string;
  createdAt: string | null;
}

/** The keys that some keys made, through all generations, also through those that have ended. */
async function madeKeys({ db }: Context, makers: readonly string[]): Promise<MadeKey[]> {
  const { rows } = await sql<MadeKey>`
    with recursive made (id) as (
      select unnest(${makers}::text[])
      union
      select next.id from made cross join lateral (
        select k.id from api_keys k where ${apiKeys.madeBy} = made.id
        union all select e.id from ended_keys e where ${endedKeys.madeBy} = made.id) next
    )
    select made.id, ${apiKeys.userId} as "userId", coalesce(k.name, '') as name, ${apiKeys.createdAt} as "createdAt"
    from made left join api_keys k on k.id = made.id`.execute(db);
  return rows;
}

/** Those of some keys that the caller may end. Locks the accounts of others, whose roles decide. */
async function keysToEnd(ctx: Context, keys: readonly MadeKey[]): Promise<MadeKey[]> {
  const own = userIdOf(ctx.actor);
  const others = [...new Set(keys.flatMap(({ userId }) => (userId === own ? [] : userId!)))];
  const locked = others.length > 0 ? await lockUsers(ctx, others) : [];
  const endable = new Set(
    locked.filter((user) => may(ctx.actor, "api_key:delete", userTarget(user))).map(({ id }) => id),
  );
  if (own !== undefined) endable.add(own);
  return keys.filter(({ userId }) => endable.has(userId!));
}

async function endKeys(ctx: Context, keys: readonly MadeKey[]): Promise<number> {
  if (keys.length === 0) return 0;
  const ids = keys.map(({ id }) => id);
  const ended = await ctx.db
    .deleteFrom("apiKeys as k")
    .using("users as u")
    .whereRef("u.id", "=", "k.userId")
    .where("k.id", "=", anyOf(ids, "text"))
    .returning(["k.id", "k.name", "u.username"])
    .execute();
  for (const { id, name, username } of ended) {
    const diff = { user: { old: username } };
    ctx.audit({ action: "revoke", resourceType: "api_key", resourceId: id, resourceLabel: name, diff });
  }
  ctx.publish(...ended.map(({ id }) => keyHint(id)));
  return ended.length;
}

const liveGrants = ({ db }: Context, makers: readonly string[]) =>
  db
    .selectFrom("oauth2Grants as g")
    .innerJoin("oauth2Clients as c", "c.id", "g.clientId")
    .where("g.madeBy", "=", anyOf(makers, "text"))
    .where(isLive)
    .select(["g.id", "g.userId", "g.createdAt", "c.name"])
    .execute();

/** The types of other objects by which their makers, or whom they gave the secret, get in. */
const waysIn = [
  "event_endpoint",
  "scim_key",
  "provisioner_key",
  "workspace_proxy",
  "oauth2_app",
  "oauth2_app_secret",
  "external_auth_link",
  "user",
];

/**
 * Lists other things that keys made, or gave a new secret, by the audit log, the latest first. Read through the index
 * of actors, from the time at which the first of the keys was made. Any user may read it of the keys that they may end.
 */
async function otherThings(
  { db }: Context,
  keyIds: readonly string[],
  holders: readonly string[],
  since: string,
): Promise<LeftByKey[]> {
  const { rows } = await sql<LeftByKey>`
    select * from (
      select distinct on (${auditLog.resourceType}, ${auditLog.resourceId})
        ${auditLog.resourceType} as "resourceType", ${auditLog.resourceId} as "resourceId", ${auditLog.resourceLabel} as label, e.time as "madeAt"
      from audit_log e
      where ${auditLog.actorId} = ${anyOf(holders)} and e.time >= ${since}::timestamptz
        and e.id >= ${lowestIdSince(instantOf(since))}::uuid and ${auditLog.apiKeyId} = ${anyOf(keyIds, "text")}
        and ${auditLog.resourceType} = ${anyOf(waysIn, "text")}
        and (e.action = 'create' or e.action = 'update' and e.diff::text like '%"new": "***"%')
      order by ${auditLog.resourceType}, ${auditLog.resourceId}, e.time desc) latest
    order by "madeAt" desc limit ${mostListed} ${sql.raw(plannedForValues)}`.execute(db);
  return rows;
}

/** Batch read of the makers of keys by id, for `ctx.load`. Checks no permission: the key that was made does. */
export async function makersByIds({ db }: Context, ids: readonly string[]): Promise<Maker[]> {
  const { rows } = await sql<Maker>`
    select k.id, k.kind, k.name, ${apiKeys.expiresAt} <= now() as "hasEnded" from api_keys k where k.id = any(${ids}::text[])
    union all
    select e.id, e.kind, e.name, true from ended_keys e where e.id = any(${ids}::text[])`.execute(db);
  return rowById(rows, ids).map((row, index) => row ?? { id: ids[index]!, kind: null, name: "", hasEnded: true });
}

/** Deletes ended keys of which nothing is left. */
export const endedKeyPurge = purge("ended_keys", {
  by: "ended_at",
  where: `not exists (select from api_keys k where k.made_by = t.id)
    and not exists (select from oauth2_grants g where g.made_by = t.id)
    and not exists (select from ended_keys e where e.made_by = t.id)`,
});
