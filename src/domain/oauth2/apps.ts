import { rowsByKey } from "../kernel/batches.js";
import type { Config } from "../../config/config.js";
import { authorize, may, reach, sees } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { badInput, DomainError, notFound, Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import { oneOf, parseSearch } from "../kernel/search.js";
import { allOf, anyOf, containing, given, joined, raw, type Sql, sql } from "../kernel/sql.js";
import { findUser } from "../users/users.js";
import { clientColumns, ClientKind, type ClientRow, GrantType } from "./client-rows.js";
import { isLive } from "./grants.js";

/** An application with what decides whether the caller may read it. */
type FoundApp = ClientRow & { isAdminMade: boolean; isGranted: boolean };

const byId = lookup<FoundApp>(`
  select ${clientColumns}, c.kind = 'admin' as "isAdminMade",
    exists (select from oauth2_grants g where g.user_id = $2 and g.client_id = c.id and ${isLive}) as "isGranted"
  from oauth2_clients c where c.id = $1`);

/** Finds an application. Throws NOT_FOUND if the caller may not read it. */
export async function findApp(ctx: Context, id: string): Promise<ClientRow> {
  const app = await ctx.row(byId, id, userIdOf(ctx.actor) ?? null);
  if (!app || !sees(ctx.actor, "oauth2_app:read", app)) throw notFound();
  return app;
}

const lockById = statement<ClientRow>(`
  select ${clientColumns} from oauth2_clients c where c.id = $1 for no key update of c`);

type AppPermission = `oauth2_app:${"update" | "delete"}` | `oauth2_app_secret:${"create" | "delete"}`;

/** Locks an application until the transaction ends. Throws for callers without the permission, and locks nothing. */
export async function lockApp(ctx: Context, id: string, permission: AppPermission): Promise<ClientRow> {
  if (!may(ctx.actor, permission)) {
    await findApp(ctx, id);
    authorize(ctx.actor, permission);
  }
  const app = await ctx.row(lockById, id);
  if (!app) throw notFound();
  return app;
}

const resourcesByClient = lookup<{ uri: string; clientId: string }>(`
  select uri, client_id as "clientId" from oauth2_resources where client_id = any($1::uuid[]) order by uri`);

/** Batch read of the resource indicators of applications, for `ctx.load`. */
export async function resourcesOfApps(ctx: Context, ids: readonly string[]): Promise<string[][]> {
  const resources = rowsByKey(await ctx.rows(resourcesByClient, ids), ids, ({ clientId }) => clientId);
  return resources.map((rows) => rows.map(({ uri }) => uri));
}

/** The URLs at which an application uses this server. */
export interface AppEndpoints {
  authorization: string;
  token: string;
  tokenRevoke: string;
  /** Null unless the application may use device codes. */
  deviceAuthorization: string | null;
}

export const endpointsOf = ({ grantTypes }: ClientRow, { accessUrl }: Config): AppEndpoints => ({
  authorization: `${accessUrl}/oauth2/authorize`,
  token: `${accessUrl}/oauth2/tokens`,
  tokenRevoke: `${accessUrl}/oauth2/revoke`,
  deviceAuthorization: grantTypes.includes(GrantType.DEVICE_CODE) ? `${accessUrl}/oauth2/device_authorization` : null,
});

/** Who created an application, as far as the caller may know it. */
export const registrantOf = (
  { actor }: Context,
  { createdById, createdIp }: ClientRow,
): Pick<ClientRow, "createdById" | "createdIp"> =>
  may(actor, "oauth2_app:update") ? { createdById, createdIp } : { createdById: null, createdIp: null };

export interface AppsQuery extends PageArguments {
  /** Parts of the name, in any letter case, and terms `kind:<kind>`. */
  q?: string | null;
  /** Lists the applications with a live grant of this user: an id, a username or `me`. */
  user?: string | null;
}

/** A part of the list that an index has in its order. */
interface Part {
  kind?: ClientKind;
  condition: Sql;
}

/** Lists the applications that the caller may read, or those of a user whose grants it may read, by name and id. */
export async function listApps(ctx: Context, { q, user, ...page }: AppsQuery): Promise<Page<ClientRow>> {
  const holder = user ? await holderOf(ctx, user) : undefined;
  const { words, terms } = parseSearch(q ?? undefined, { kind: oneOf(...kinds) }, invalidQuery);
  const problems = new Problems();
  const range = readRange(page, { name: "text" }, problems);
  problems.throwIfAny(invalidQuery);
  const wanted = kinds.filter((kind) => terms.kind.every((some) => some.includes(kind)));
  const parts = holder === undefined ? readableParts(ctx, wanted) : [grantedPart(holder, wanted)];
  const matches = words.map((some) => sql`c.name ilike any(${some.map(containing)}::text[])`);
  const counts = parts.map(
    ({ condition }) => sql`(select count(*) from oauth2_clients c where ${allOf(condition, ...matches)})`,
  );
  return pageOf(range, await ctx.select<ClientRow>(merged(range, parts, allOf(...matches))), {
    cursor: ({ id, name }) => cursor(id, { name: folded(name) }),
    count: () => ctx.count(sql`select ${joined(counts, " + ")} as count`),
  });
}

const kinds = Object.values(ClientKind);

/** Returns the id of a user whose grants the caller may read. Throws FORBIDDEN to others, for unknown users, too. */
async function holderOf(ctx: Context, ref: string): Promise<string> {
  const user = await findUser(ctx, ref).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
  });
  authorize(ctx.actor, "oauth2_grant:read", { ownerId: user?.id ?? null });
  if (!user) throw badInput([{ field: "user", detail: "Must be the id or username of a user." }], invalidQuery);
  return user.id;
}

/** The applications that the caller may read: all, or those of administrators and those with a grant of the caller. */
function readableParts({ actor }: Context, wanted: readonly ClientKind[]): Part[] {
  const { everywhere, adminMade, granted } = reach(actor, "oauth2_app:read");
  if (everywhere) return wanted.map(ofKind);
  const others = wanted.filter((kind) => kind !== "admin");
  return [
    ...(adminMade && wanted.includes("admin") ? [ofKind("admin")] : []),
    ...(granted && others.length > 0 ? [grantedPart(userIdOf(actor), others)] : []),
  ];
}

const ofKind = (kind: ClientKind): Part => ({ kind, condition: sql`c.kind = ${kind}` });

const grantedPart = (userId: string | undefined, wanted: readonly ClientKind[]): Part => ({
  condition: sql`c.kind = any(${wanted}) and c.id in (
    select g.client_id from oauth2_grants g where g.user_id = ${userId ?? null} and ${raw(isLive)})`,
});

const key = raw(foldedSql("c.name"));

/** Selects a range from several parts. Of each, only as many rows are read as the range can need. */
function merged(range: Range, parts: readonly Part[], matches: Sql): Sql {
  if (parts.length === 0) return sql`select ${raw(clientColumns)} from oauth2_clients c where false`;
  const isReadable = anyOf(...parts.map(({ condition }) => condition));
  const ofPlace = (id: string) => sql`(select ${key} from oauth2_clients c where c.id = ${id} and ${isReadable})`;
  const { limit, offset, backward } = range;
  const read = ({ kind, condition }: Part) => {
    const fixed = given(kind, (value) => [{ column: sql`c.kind`, value }]) ?? [];
    const order: Order = { fixed, keys: [{ column: key, ofPlace }], id: sql`c.id` };
    return rowsIn({ ...range, limit: limit + offset, offset: 0 }, order, (beyond) => {
      const isThere = kind ? beyond : allOf(condition, beyond);
      return sql`select c.* from oauth2_clients c where ${allOf(isThere, matches)}`;
    });
  };
  const direction = raw(backward ? " desc" : "");
  return sql`
    select ${raw(clientColumns)} from (${joined(
      parts.map((part) => sql`(${read(part)})`),
      " union all ",
    )}) c
    order by ${key}${direction}, c.id${direction} limit ${limit + 1} offset ${offset}`;
}
