import { type Expression, type InferResult, type InsertObject, sql } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";
import { requireUser, type UserActor, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { type Action, authorize, isScope, narrowed, scopeCatalog, sees } from "../authorization/authorization.js";
import { conflict, forbidden, notFound, Problems, quote, unauthenticated, onViolation } from "../kernel/errors.js";
import { anyOf, now, rowById } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import {
  faultOf,
  flag,
  type Input,
  inputOf,
  label,
  listOf,
  meant,
  dateTime,
  optional,
  reference,
  required,
  string,
  textBy,
} from "../kernel/values.js";
import { type FoundUser, findUser, lockUser, userTarget } from "../users/users.js";
import { keyHint } from "./hints.js";
import { endMade, type Made } from "./key-makers.js";
import { type NewToken, newToken, type TokenKind } from "./token-text.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { longestLabel } from "../../entities/lengths.js";

const u = columnsOf("users", "u");

const keys = (db: Db) =>
  db
    .selectFrom("apiKeys")
    .select([
      "id",
      "userId",
      "kind",
      "name",
      "scopes",
      "audiences",
      "createdAt",
      "lastUsedAt",
      "expiresAt",
      "ip",
      "userAgent",
      "madeBy",
      "factor",
      "provider",
    ]);

/** A session or key without its secret. */
export type ApiKeyRow = InferResult<ReturnType<typeof keys>>[number];

const keyName = meant(
  textBy(
    (given) => (given === "" ? `Must be 1 to ${longestLabel} characters long.` : faultOf(label(longestLabel), given)),
    {
      minLength: 1,
      maxLength: 64,
    },
  ),
  { limits: "1 to 64 characters" },
);

export const CreateApiKey = inputOf({
  name: required(keyName, "Name of {limits}, unique among the user's API tokens."),
  scopes: optional(listOf(string), "Scopes to restrict the token to. Default: `all`."),
  expiresAt: optional(
    dateTime,
    "When the token expires. Default: the default token lifetime of the deployment from now.",
  ),
  user: optional(reference, "Owner of the token: the ID or username of a service account. Default: the caller."),
});
export type CreateApiKey = Input<typeof CreateApiKey>;

export const UpdateApiKey = inputOf({
  id: required(string, "ID of the API token."),
  name: required(keyName, "New name of {limits}, unique among the user's API tokens."),
});
export type UpdateApiKey = Input<typeof UpdateApiKey>;

/** Maximum number of listed keys. */
const mostKeys = 1000;

/** Lists the sessions and keys of a user, optionally of one kind, newest first. Expired ones stay listed for a week. */
export async function listApiKeys(ctx: Context, ref: string, kind?: TokenKind | null): Promise<ApiKeyRow[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "api_key:read", userTarget(user));
  return keys(ctx.db)
    .where("userId", "=", user.id)
    .$if(kind != null, (some) => some.where("kind", "=", kind!))
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc")
    .limit(mostKeys)
    .execute();
}

/** Whether a key is the one that authenticated the request. */
export const isCurrentKey = ({ actor }: Context, { id }: ApiKeyRow): boolean =>
  actor.kind === "user" && actor.credential.id === id;

/**
 * Batch read of keys by id, for `ctx.load`. Deleted keys are NOT_FOUND. Checks no permission: the object with the id
 * does.
 */
export async function apiKeysByIds(ctx: Context, ids: readonly string[]): Promise<Array<ApiKeyRow | Error>> {
  const rows = await keys(ctx.db).where("id", "=", anyOf(ids, "text")).execute();
  return rowById(rows, ids).map((row) => row ?? notFound());
}

/** Maximum number of unexpired API tokens of a user. */
const tokensPerUser = 100;

/**
 * Creates an API token for the caller or for a service account. A scoped credential passes on at most its own scopes
 * and remaining lifetime. Returns the text of the token, which is not readable later.
 */
export async function createApiKey(ctx: Context, input: CreateApiKey): Promise<{ id: string; token: string }> {
  const actor = requireUser(ctx.actor);
  const user = await lockUser(ctx, input.user ?? "me", "api_key:create");
  authorize(actor, "api_key:create", userTarget(user));

  const { name } = input;
  const scopes = input.scopes ?? ["all"];
  const problems = new Problems();
  problems.add("name", faultOf(keyName, name));
  const mostScopes = scopeCatalog.length;
  const isFew = scopes.length > 0 && scopes.length <= mostScopes;
  problems.add("scopes", isFew ? undefined : `Must name 1 to ${mostScopes} scopes.`);
  for (const [index, scope] of scopes.slice(0, mostScopes).entries()) {
    if (!isScope(scope)) problems.add(`scopes[${index}]`, `There is no scope ${quote(scope)}.`);
  }
  const expiresAt = endOf(ctx, actor, input.expiresAt, problems);
  problems.throwIfAny();
  if (user.status === "suspended") throw conflict("The account is suspended.");

  const given = givable(actor, [...new Set(scopes)]);
  const token = newToken("token");
  await requireCredential(ctx, actor);
  // The lock on the user keeps the count constant until the commit.
  const { held } = await ctx.db
    .selectFrom("apiKeys")
    .where("userId", "=", user.id)
    .where("kind", "=", "token")
    .where("expiresAt", ">", now)
    .select(({ fn }) => fn.countAll<number>().as("held"))
    .executeTakeFirstOrThrow();
  if (held >= tokensPerUser) throw conflict(`A user can have at most ${tokensPerUser} API tokens.`);
  await freeName(ctx, user.id, name);
  await insertKey(ctx, token, {
    userId: user.id,
    kind: "token",
    name,
    scopes: given,
    madeBy: actor.credential.id,
    expiresAt,
  })
    .execute()
    .catch(onTakenName);
  const diff = { user: { new: user.username }, scopes: { new: given }, expiresAt: { new: expiresAt } };
  ctx.audit({ action: "create", resourceType: "api_key", resourceId: token.id, resourceLabel: name, diff });
  return { id: token.id, token: token.text };
}

/** Inserts a key that the request creates. */
export const insertKey = (
  { db, request }: Context,
  { id, secretHash }: NewToken,
  key: Pick<
    InsertObject<Schema, "apiKeys">,
    | "userId"
    | "kind"
    | "name"
    | "scopes"
    | "parentId"
    | "madeBy"
    | "lastUsedAt"
    | "expiresAt"
    | "factor"
    | "provider"
    | "provedAt"
  >,
) =>
  db.insertInto("apiKeys").values({
    ...key,
    id,
    secretHash,
    epoch: epochOf(sql`${key.userId}::uuid`),
    createdAt: now,
    ip: request.ip ?? null,
    userAgent: request.userAgent ?? null,
  });

/**
 * The epoch of a new key of a user, which is none if the user is suspended. Each suspension begins another one, in which
 * former keys are not valid: no lock on the user is needed to issue a key, and none that is issued while its user is
 * suspended becomes valid with the activation.
 */
export const epochOf = (userId: Expression<unknown>) => sql<number>`coalesce((
  select case when u.status = 'active' then ${u.credentialEpoch} end from users u where u.id = ${userId}), -1)`;

/** Ends the oldest keys of a kind, so that the user has fewer than `most`. */
export async function makeRoomForKey(ctx: Context, userId: string, kind: TokenKind, most: number): Promise<void> {
  const ended = await ctx.db
    .deleteFrom("apiKeys")
    .where("id", "in", (eb) =>
      eb
        .selectFrom("apiKeys")
        .select("id")
        .where("userId", "=", userId)
        .where("kind", "=", kind)
        .orderBy("createdAt", "desc")
        .orderBy("id", "desc")
        .offset(most - 1),
    )
    .returning("id")
    .execute();
  ctx.publish(...ended.map(({ id }) => keyHint(id)));
}

/** Throws UNAUTHENTICATED if the credential of the request was revoked, or ended by a password change, meanwhile. */
async function requireCredential({ db }: Context, { credential }: UserActor): Promise<void> {
  const found = await db.selectFrom("apiKeys").where("id", "=", credential.id).select("id").forKeyShare().execute();
  if (found.length === 0) throw unauthenticated("The token is not valid.");
}

/** Deletes an expired API token of the user with the name, so that another one can have the name. */
const freeName = ({ db }: Context, userId: string, name: string, id = "") =>
  db
    .deleteFrom("apiKeys")
    .where("userId", "=", userId)
    .where("kind", "=", "token")
    .where(sql`lower(name)`, "=", sql`lower(${name})`)
    .where("expiresAt", "<=", now)
    .where("id", "<>", id)
    .execute();

/** Renames an API token. */
export async function updateApiKey(ctx: Context, { id, name }: UpdateApiKey): Promise<string> {
  const { key } = await findKey(ctx, id, "api_key:update");
  const problems = new Problems();
  problems.add("name", faultOf(keyName, name));
  problems.throwIfAny();
  if (key.kind !== "token") throw conflict("Only API tokens have names.");
  if (key.name === name) return id;
  await freeName(ctx, key.userId, name, id);
  const { numUpdatedRows } = await ctx.db
    .updateTable("apiKeys")
    .set({ name })
    .where("id", "=", id)
    .executeTakeFirst()
    .catch(onTakenName);
  if (numUpdatedRows === 0n) throw notFound();
  const diff = { name: { old: key.name, new: name } };
  ctx.audit({ action: "update", resourceType: "api_key", resourceId: id, resourceLabel: name, diff });
  return id;
}

export const RevokeApiKey = inputOf({
  id: required(string, "ID of the API key."),
  withAllItMade: optional(
    flag,
    "Whether the keys and grants that were made with it end, too, and all that was made with those. Default: true for API tokens, false for other kinds.",
  ),
});
export type RevokeApiKey = Input<typeof RevokeApiKey>;

/** A revoked key before the deletion, with what ended with it, and what it made that is left. */
export interface RevokedApiKey extends Made {
  apiKey: ApiKeyRow;
}

/**
 * Ends a session or key, on every replica within a second; in the same transaction also the keys and grants that it made,
 * through all generations, if that is wanted.
 */
export async function revokeApiKey(ctx: Context, { id, withAllItMade }: RevokeApiKey): Promise<RevokedApiKey> {
  const { key, user } = await findKey(ctx, id, "api_key:delete");
  // Permissions on another account depend on its roles, which the lock keeps from changing.
  if (user.id !== userIdOf(ctx.actor)) authorize(ctx.actor, "api_key:delete", userTarget(await lockUser(ctx, user.id)));
  const { numDeletedRows } = await ctx.db.deleteFrom("apiKeys").where("id", "=", id).executeTakeFirst();
  if (numDeletedRows === 0n) throw notFound();
  const diff = { user: { old: user.username } };
  ctx.audit({ action: "revoke", resourceType: "api_key", resourceId: id, resourceLabel: key.name, diff });
  ctx.publish(keyHint(id));
  return { apiKey: key, ...(await endMade(ctx, key, withAllItMade ?? key.kind === "token")) };
}

/** Finds a key on which the caller has the permission. Throws NOT_FOUND for keys that the caller cannot see. */
async function findKey(
  ctx: Context,
  id: string,
  permission: `api_key:${Action<"api_key">}`,
): Promise<{ key: ApiKeyRow; user: FoundUser }> {
  const key = await keys(ctx.db).where("id", "=", id).executeTakeFirst();
  if (!key) throw notFound();
  const user = await findUser(ctx, key.userId);
  const target = userTarget(user);
  if (!sees(ctx.actor, "api_key:read", target)) throw notFound();
  authorize(ctx.actor, permission, target);
  return { key, user };
}

/** The requested scopes that a credential can pass on to a key. Throws FORBIDDEN if there are none. */
function givable({ scopes }: UserActor, wanted: string[]): string[] {
  const given = narrowed(wanted, scopes);
  if (given.length > 0) return given;
  throw forbidden("Forbidden.", { detail: "The credential has none of these scopes.", requiredScopes: wanted });
}

/** The expiry of a key: the requested or the default one, but not after that of a scoped credential that creates it. */
function endOf(
  { config }: Context,
  { credential, scopes }: UserActor,
  requested: string | null | undefined,
  problems: Problems,
): string {
  const time = databaseTime();
  const { apiKeyDefaultLifetime, apiKeyMaxLifetime } = config;
  const end = requested ? instantOf(requested) : time + Math.min(apiKeyDefaultLifetime, apiKeyMaxLifetime);
  if (end <= time) problems.add("expiresAt", "Must be in the future.");
  if (end > time + apiKeyMaxLifetime) {
    problems.add("expiresAt", `Must be before ${new Date(time + apiKeyMaxLifetime).toISOString()}.`);
  }
  const isScoped = !scopes.includes("all");
  return new Date(isScoped ? Math.min(end, instantOf(credential.expiresAt)) : end).toISOString();
}

const nameTaken = () =>
  conflict("An API token with this name already exists.", [
    { field: "name", detail: "Is taken by another API token." },
  ]);

const onTakenName = onViolation({ api_keys_token_name_unique: nameTaken });

/** Deletes keys a week after they expired. */
export const keyPurge = purge("api_keys", { by: "expires_at", keptFor: 7 * day });
