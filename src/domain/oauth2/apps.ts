import { type Expression, type ExpressionBuilder, sql, type SqlBool } from "kysely";
import type { Schema } from "../../entities/schema.js";
import type { Config } from "../../runtime/config.js";
import { authorize, may, type Permitted, selectPermitted, visible } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { anyOf, foldedColumn, type Match, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { badInput, DomainError, notFound } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { contains, defineList, defineListOfEach, text } from "../kernel/lists.js";
import { oneOf, parseSearch, searchQuery } from "../search-text.js";
import { invalidQuery, type Page, PageArguments } from "../kernel/paging.js";
import { findUser } from "../users/users.js";
import { ClientKind, type ClientRow, clients, GrantType } from "./clients.js";
import { isLive } from "./grants.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { type Input, inputOf, optional, reference } from "../kernel/values.js";

const g = columnsOf("oauth2Grants", "g");

/** The applications that the caller may read: all, or those of administrators and those with a grant of the caller. */
const readableApps = ({ actor, db }: Context, { everywhere, adminMade, granted }: Permitted) =>
  clients(db).$if(!everywhere, (apps) =>
    apps.where((eb) =>
      eb.or([
        ...(adminMade ? [eb("oauth2Clients.kind", "=", sql.lit(ClientKind.ADMIN))] : []),
        ...(granted ? [isGrantedBy(userIdOf(actor) ?? null)] : []),
      ]),
    ),
  );

/** The condition that a user has granted an application access. */
const isGrantedBy = (user: string | null | Expression<string>) => sql<SqlBool>`oauth2_clients.id = any(array(
  select ${g.clientId} from oauth2_grants g where ${g.userId} = ${user} and ${isLive}))`;

/** The applications that the caller may read whose names match a text. */
export const appsNamed = (ctx: Context, part: string, match: Match) =>
  readableApps(ctx, selectPermitted(ctx.actor, "oauth2_app:read")).where(contains("oauth2Clients.name", part, match));

/** Finds an application. Throws NOT_FOUND if the caller may not read it. */
export async function findApp(ctx: Context, id: string): Promise<ClientRow> {
  const apps = readableApps(ctx, visible(ctx.actor, "oauth2_app:read"));
  const app = await apps.where("oauth2Clients.id", "=", id).executeTakeFirst();
  if (!app) throw notFound();
  return app;
}

type AppPermission = `oauth2_app:${"update" | "delete"}` | `oauth2_app_secret:${"create" | "delete"}`;

/** Locks an application until the transaction ends. Throws for callers without the permission, and locks nothing. */
export async function lockApp(ctx: Context, id: string, permission: AppPermission): Promise<ClientRow> {
  if (!may(ctx.actor, permission)) await findApp(ctx, id);
  authorize(ctx.actor, permission);
  const app = await clients(ctx.db).where("oauth2Clients.id", "=", id).forNoKeyUpdate().executeTakeFirst();
  if (!app) throw notFound();
  return app;
}

/** Batch read of the resource indicators of applications, for `ctx.load`. */
export async function resourcesOfApps({ db }: Context, ids: readonly string[]): Promise<string[][]> {
  const rows = await db
    .selectFrom("oauth2Resources")
    .where("clientId", "=", anyOf(ids))
    .orderBy("uri")
    .select(["uri", "clientId"])
    .execute();
  return rowsByKey(rows, ids, ({ clientId }) => clientId).map((resources) => resources.map(({ uri }) => uri));
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

export const AppsQuery = inputOf({
  ...PageArguments.shape,
  q: optional(
    searchQuery,
    "Search text: parts of the name, case-insensitive, and `kind:` with `admin`, `dynamic` or `document`. All terms must match.",
  ),
  user: optional(
    reference,
    "Lists the applications that this user has granted access: ID, username, or `me`. Other users than the caller require permission to read their grants.",
  ),
});
export type AppsQuery = Input<typeof AppsQuery>;

const definition = {
  id: { column: "oauth2Clients.id", of: ({ id }: ClientRow) => id },
  orders: {
    // oauth2_clients_list_index
    name: { name: text<ClientRow>(foldedColumn("oauth2Clients.name"), { of: ({ name }) => foldCase(name) }) },
  },
  filters: {
    kinds: (_: unknown, kinds: readonly ClientKind[]) => sql<SqlBool>`oauth2_clients.kind = ${anyOf(kinds, "text")}`,
    words: (eb: ExpressionBuilder<Schema, "oauth2Clients">, words: readonly string[][]) =>
      eb.and(words.map((some) => eb.or(some.map((part) => contains("oauth2Clients.name", part))))),
  },
  planned: ["kinds", "words"] as const,
};
const lists = {
  readable: defineList((ctx) => readableApps(ctx, selectPermitted(ctx.actor, "oauth2_app:read")), definition),
  ofUsers: defineListOfEach(({ db }, user) => clients(db).where(isGrantedBy(user)), definition),
};

/** Lists the applications that the caller may read, or those of a user whose grants it may read, by name and id. */
export async function listApps(ctx: Context, { q, user, ...page }: AppsQuery): Promise<Page<ClientRow>> {
  const holder = user ? await holderOf(ctx, user) : undefined;
  const { words, terms } = parseSearch(q ?? undefined, { kind: oneOf(...allKinds) }, invalidQuery);
  const wanted = allKinds.filter((kind) => terms.kind.every((some) => some.includes(kind)));
  const filter = {
    kinds: terms.kind.length > 0 ? wanted : null,
    words: words.length > 0 ? words : null,
  };
  const found = holder
    ? await lists.ofUsers.pageOf(ctx, holder, { filter, page })
    : await lists.readable.page(ctx, { filter, page });
  return { ...found, count: () => found.count(true) };
}

const allKinds = Object.values(ClientKind);

/** Returns the id of a user whose grants the caller may read. Throws FORBIDDEN to others, for unknown users, too. */
async function holderOf(ctx: Context, ref: string): Promise<string> {
  const user = await findUser(ctx, ref).catch((error: unknown) => {
    if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
  });
  authorize(ctx.actor, "oauth2_grant:read", { ownerId: user?.id ?? null });
  if (!user) throw badInput([{ field: "user", detail: "Must be the id or username of a user." }], invalidQuery);
  return user.id;
}
