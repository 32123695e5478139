import { type Expression, type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { prepare } from "../../infrastructure/database/prepared.js";
import type { Context } from "../kernel/context.js";
import { isSecretOf, parseToken } from "../tokens/token-text.js";
import { isLive } from "./grants.js";
import { parseSecret } from "./secrets.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const c = columnsOf("oauth2Clients", "c");
const k = columnsOf("apiKeys", "k");
const g = columnsOf("oauth2Grants", "g");
const refresh = columnsOf("oauth2RefreshTokens", "r");
const u = columnsOf("users", "u");
const r = columnsOf("oauth2Resources", "r");

type Kind = "access" | "refresh";

const accessTokens = (db: Db, id: Expression<string>) =>
  db
    .selectFrom("apiKeys as k")
    .leftJoin("oauth2Grants as g", "g.id", "k.grantId")
    .where("k.id", "=", id)
    .where("k.kind", "=", "oauth")
    .select(["k.id", "k.secretHash", "k.userId", "k.grantId", "k.scopes", "k.audiences", "k.createdAt", "k.expiresAt"])
    .select(({ fn }) => fn.coalesce("k.clientId", "g.clientId").as("clientId"))
    .select(["k.epoch", sql<boolean>`(${k.grantId} is null or ${isLive})`.as("isUnspent")]);

const refreshTokens = (db: Db, id: Expression<string>) =>
  db
    .selectFrom("oauth2RefreshTokens as r")
    .innerJoin("oauth2Grants as g", "g.id", "r.grantId")
    .where("r.id", "=", id)
    .select(["r.id", "r.secretHash", "g.userId", sql<string | null>`${refresh.grantId}`.as("grantId"), "g.scopes"])
    .select(["g.audiences", "r.createdAt", "r.expiresAt", sql<string | null>`${g.clientId}`.as("clientId")])
    .select([
      sql<number | null>`null::int`.as("epoch"),
      sql<boolean>`(${refresh.spentAt} is null and ${isLive})`.as("isUnspent"),
    ]);

/** Selects the token with an id, and whether it is for a resource that the application `readerId`, if any, serves. */
const issuedTokens = (db: Db, kind: Kind, id: Expression<string>, readerId: Expression<string | null>) =>
  db
    .selectFrom(kind === "access" ? accessTokens(db, id).as("t") : refreshTokens(db, id).as("t"))
    .innerJoin("oauth2Clients as c", "c.id", "t.clientId")
    .innerJoin("users as u", "u.id", "t.userId")
    .select(["t.id", "t.secretHash", "t.scopes", "t.audiences"])
    // Its grant, if it has one, the application that it was issued to, and the user that it acts as.
    .select(["t.grantId", "c.id as ownerId", "u.id as userId", "u.username"])
    .select([
      sql<string>`coalesce(${c.documentUrl}, c.id::text)`.as("clientId"),
      // Seconds since the epoch.
      sql<number>`floor(extract(epoch from t.created_at))`.as("issuedAt"),
      sql<number>`floor(extract(epoch from t.expires_at))`.as("expiresAt"),
      // Whether it can be used: it is not expired or spent, nor are its grant, user and application.
      sql<boolean>`(t.is_unspent and t.expires_at > now() and not ${c.isDisabled} and u.status = 'active' and ${u.deletedAt} is null
        and (t.epoch is null or t.epoch = ${u.credentialEpoch}))`.as("isActive"),
      // Whether it is for a resource that the application `readerId` serves; false for tokens issued to `readerId`.
      sql<boolean>`(c.id is distinct from ${readerId}::uuid and exists (
        select from oauth2_resources r where ${r.clientId} = ${readerId}::uuid and r.uri = any(t.audiences)))`.as(
        "isServed",
      ),
    ]);

type Found = InferResult<ReturnType<typeof issuedTokens>>[number];

const findBy = (kind: Kind) =>
  prepare<{ id: string; readerId: string | null }, Found>((db, { id, readerId }) =>
    issuedTokens(db, kind, id, readerId),
  );
const findByKind = { access: findBy("access"), refresh: findBy("refresh") };

/** An access or refresh token that an application received, and its grant. */
export type IssuedToken = { kind: Kind } & InferResult<ReturnType<typeof issuedTokens>>[number];

/**
 * Finds a token that an application asks about by its text, active or not, with the resources that the application
 * `readerId` serves; `undefined` for all other texts. Reads outside of the transaction of the request.
 */
export async function findIssuedToken(
  { services: { database } }: Context,
  text: string,
  readerId: string | null,
): Promise<IssuedToken | undefined> {
  const access = parseToken(text);
  const parsed = access?.kind === "oauth" ? access : parseSecret("refreshToken", text);
  if (!parsed) return undefined;
  const kind = parsed === access ? "access" : "refresh";
  const [found] = await findByKind[kind](database.db, { id: parsed.id, readerId });
  return found && isSecretOf(found.secretHash, parsed.secret) ? { kind, ...found } : undefined;
}
