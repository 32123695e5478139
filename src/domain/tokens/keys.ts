import { databaseTime } from "../../clock.js";
import { requireUser, type UserActor, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { type Action, authorize, isScope, narrowed, scopeCatalog, sees } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, forbidden, notFound, Problems, quote, unauthenticated, onViolation } from "../kernel/errors.js";
import { displayNameProblem } from "../kernel/text.js";
import { type FoundUser, findUser, lockUser, userTarget } from "../users/users.js";
import { keyHint } from "./credentials.js";
import { newToken, type TokenKind } from "./text.js";

/** A session or key without its secret. */
export interface ApiKeyRow {
  id: string;
  userId: string;
  kind: TokenKind;
  name: string;
  scopes: string[];
  audiences: string[];
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string;
  ip: string | null;
  userAgent: string | null;
}

export interface CreateApiKey {
  name?: string | null;
  /** Default: `all`. */
  scopes?: string[] | null;
  /** RFC 3339. Default: after the default lifetime. */
  expiresAt?: string | null;
  /** The holder, if not the caller: a service account. */
  user?: string | null;
}

export interface UpdateApiKey {
  id: string;
  name?: string | null;
}

const keyColumns = `id, user_id as "userId", kind, name, scopes, audiences, created_at as "createdAt",
  last_used_at as "lastUsedAt", expires_at as "expiresAt", ip, user_agent as "userAgent"`;

const keysOfUser = statement<ApiKeyRow>(`
  select ${keyColumns} from api_keys
  where user_id = $1 and ($2::text is null or kind = $2)
  order by created_at desc, id desc limit 1000`);

/** Lists the sessions and keys of a user, optionally of one kind, newest first. Expired ones stay listed for a week. */
export async function listApiKeys(ctx: Context, ref: string, kind?: TokenKind | null): Promise<ApiKeyRow[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "api_key:read", userTarget(user));
  return ctx.rows(keysOfUser, user.id, kind ?? null);
}

/** Whether a key is the one that authenticated the request. */
export const isCurrentKey = ({ actor }: Context, { id }: ApiKeyRow): boolean =>
  actor.kind === "user" && actor.credential.id === id;

const keysByIds = statement<ApiKeyRow>(`select ${keyColumns} from api_keys where id = any($1::text[])`);

/**
 * Batch read of keys by id, for `ctx.load`. Deleted keys are NOT_FOUND. Checks no permission: the object with the id
 * does.
 */
export async function apiKeysByIds(ctx: Context, ids: readonly string[]): Promise<Array<ApiKeyRow | Error>> {
  const keys = new Map((await ctx.rows(keysByIds, ids)).map((key) => [key.id, key]));
  return ids.map((id) => keys.get(id) ?? notFound());
}

/** Maximum number of unexpired API tokens of a user. */
const tokensPerUser = 100;

/** Deletes an expired API token of the user with the name, so that the key `$1` can have the name. */
const freeName = (user: string, name: string): string => `
  freed as (
    delete from api_keys
    where user_id = ${user} and kind = 'token' and lower(name) = lower(${name}) and expires_at <= now() and id <> $1
    returning id
  )`;

// The lock on the user keeps the count constant until the commit. Requires that the creating credential still exists: it
// may have been revoked, or ended by a password change, during the request.
const insertToken = statement<{ held: number; isGiven: boolean; isCreated: boolean }>(`
  with giver as (
    select from api_keys where id = $9 for key share
  ), living as (
    select count(*) as held from api_keys where user_id = $3 and kind = 'token' and expires_at > now()
  ), ${freeName("$3", "$4")}, created as (
    insert into api_keys (id, secret_hash, user_id, kind, name, scopes, created_at, expires_at, ip, user_agent)
    select $1, $2, $3, 'token', $4, $5, now(), $6, $7, $8 from living, giver, (select count(*) from freed) freed where held < ${tokensPerUser}
    on conflict (user_id, lower(name)) where kind = 'token' do nothing
    returning id
  )
  select held, exists (select from giver) as "isGiven", exists (select from created) as "isCreated" from living`);

/**
 * Creates an API token for the caller or for a service account. A scoped credential passes on at most its own scopes
 * and remaining lifetime. Returns the text of the token, which is not readable later.
 */
export async function createApiKey(ctx: Context, input: CreateApiKey): Promise<{ id: string; token: string }> {
  const actor = requireUser(ctx.actor);
  const user = await lockUser(ctx, input.user ?? "me", "api_key:create");
  authorize(actor, "api_key:create", userTarget(user));

  const { name = "", scopes = ["all"] } = withoutNulls(input);
  const problems = new Problems();
  problems.add("name", keyNameProblem(name));
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
  const { ip = null, userAgent = null } = ctx.request;
  const values = [token.id, token.secretHash, user.id, name, given, expiresAt, ip, userAgent, actor.credential.id];
  const result = await ctx.row(insertToken, ...values);
  if (!result?.isGiven) throw unauthenticated("The token is not valid.");
  if (result.held >= tokensPerUser) throw conflict(`A user can have at most ${tokensPerUser} API tokens.`);
  if (!result.isCreated) throw nameTaken();
  const diff = { user: { new: user.username }, scopes: { new: given }, expiresAt: { new: expiresAt } };
  ctx.audit({ action: "create", resourceType: "api_key", resourceId: token.id, resourceLabel: name, diff });
  return { id: token.id, token: token.text };
}

const renameKey = statement<{ id: string }>(`
  with ${freeName("$3", "$2")}
  update api_keys set name = $2 from (select count(*) from freed) freed where id = $1 returning id`);

/** Renames an API token. */
export async function updateApiKey(ctx: Context, { id, name }: UpdateApiKey): Promise<string> {
  const { key } = await findKey(ctx, id, "api_key:update");
  const problems = new Problems();
  problems.add("name", keyNameProblem(name ?? ""));
  problems.throwIfAny();
  if (key.kind !== "token") throw conflict("Only API tokens have names.");
  if (key.name === name) return id;
  const renamed = await ctx
    .row(renameKey, id, name, key.userId)
    .catch(onViolation({ api_keys_token_name_unique: nameTaken }));
  if (!renamed) throw notFound();
  const diff = { name: { old: key.name, new: name } };
  ctx.audit({ action: "update", resourceType: "api_key", resourceId: id, resourceLabel: name ?? "", diff });
  return id;
}

const deleteKey = statement<{ id: string }>(`delete from api_keys where id = $1 returning id`);

/** Ends a session or key, on every replica within a second. Returns the key before the deletion. */
export async function revokeApiKey(ctx: Context, id: string): Promise<ApiKeyRow> {
  const { key, user } = await findKey(ctx, id, "api_key:delete");
  // Permissions on another account depend on its roles, which the lock keeps from changing.
  if (user.id !== userIdOf(ctx.actor)) authorize(ctx.actor, "api_key:delete", userTarget(await lockUser(ctx, user.id)));
  if (!(await ctx.row(deleteKey, id))) throw notFound();
  const diff = { user: { old: user.username } };
  ctx.audit({ action: "revoke", resourceType: "api_key", resourceId: id, resourceLabel: key.name, diff });
  ctx.publish(keyHint(id));
  return key;
}

/** Finds a key on which the caller has the permission. Throws NOT_FOUND for keys that the caller cannot see. */
async function findKey(
  ctx: Context,
  id: string,
  permission: `api_key:${Action<"api_key">}`,
): Promise<{ key: ApiKeyRow; user: FoundUser }> {
  const [key] = await ctx.rows(keysByIds, [id]);
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
  const now = databaseTime();
  const { apiKeyDefaultLifetime, apiKeyMaxLifetime } = config;
  const end = requested ? Date.parse(requested) : now + Math.min(apiKeyDefaultLifetime, apiKeyMaxLifetime);
  if (end <= now) problems.add("expiresAt", "Must be in the future.");
  if (end > now + apiKeyMaxLifetime) {
    problems.add("expiresAt", `Must be before ${new Date(now + apiKeyMaxLifetime).toISOString()}.`);
  }
  const isScoped = !scopes.includes("all");
  return new Date(isScoped ? Math.min(end, Date.parse(credential.expiresAt)) : end).toISOString();
}

const keyNameProblem = (name: string): string | undefined =>
  name === "" ? "Must be 1 to 64 characters long." : displayNameProblem(name);

const nameTaken = () =>
  conflict("An API token with this name already exists.", [
    { field: "name", detail: "Is taken by another API token." },
  ]);

/** Null means absent. */
const withoutNulls = ({ name, scopes }: CreateApiKey) => ({ name: name ?? undefined, scopes: scopes ?? undefined });
