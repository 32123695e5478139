import { databaseTime } from "../../clock.js";
import { ScimKey as StoredKey } from "../../entities/scim.js";
import { auditedAs, diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, notFound, Problems } from "../kernel/errors.js";
import { type Order, rowsIn } from "../kernel/list.js";
import { takeTurn } from "../kernel/locks.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, raw, type Sql, sql } from "../kernel/sql.js";
import { organizationsById } from "../organizations/organizations.js";
import { displayNameProblem } from "../kernel/text.js";
import { machineHint } from "../tokens/machines.js";
import { newScimKey } from "./tokens.js";

const columns = columnsOf(StoredKey, "k", [
  "id",
  "name",
  "source",
  "organizationIds",
  "createdBy",
  "createdAt",
  "expiresAt",
  "lastUsedAt",
  "lastUsedIp",
]);

/** A key of an identity provider, without its secret. */
export type ScimKeyRow = RowOf<typeof columns>;

export interface CreateScimKey {
  name?: string | null;
  /** Default: `default`. */
  source?: string | null;
  /** The organizations whose groups the key manages. Default: the default organization. */
  organizationIds?: string[] | null;
  /** RFC 3339. Default: never. */
  expiresAt?: string | null;
}

export interface UpdateScimKey {
  id: string;
  name?: string | null;
  expiresAt?: string | null;
}

/** The source of keys that name none, and of users who provision with their own credential. */
export const defaultSource = "default";

/** Maximum number of keys, expired ones included. */
const mostKeys = 100;

const mostOrganizations = 100;

const isKeyId = (text: string): boolean => /^[0-9A-Za-z]{10}$/.test(text);

const byAge: Order = {
  keys: [{ column: sql`k.created_at`, ofPlace: (id) => sql`(select created_at from scim_keys where id = ${id})` }],
  id: sql`k.id`,
};

const selectKeys = (beyond?: Sql): Sql => sql`select ${raw(columns)} from scim_keys k where ${allOf(beyond)}`;

/** Lists all keys, oldest first. */
export async function listScimKeys(ctx: Context, page: PageArguments): Promise<Page<ScimKeyRow>> {
  authorize(ctx.actor, "scim_key:read");
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems, isKeyId);
  problems.throwIfAny(invalidQuery);
  return pageOf(range, await ctx.select<ScimKeyRow>(rowsIn(range, byAge, selectKeys)), {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    count: () => ctx.count(sql`select count(*) from scim_keys`),
  });
}

const keysByIds = statement<ScimKeyRow>(`select ${columns} from scim_keys k where k.id = any($1::text[])`);

/** Batch read of keys by id, for `ctx.load`. Checks no permission: the object with the id does. */
export async function scimKeysByIds(ctx: Context, ids: readonly string[]): Promise<Array<ScimKeyRow | Error>> {
  const keys = new Map((await ctx.rows(keysByIds, ids)).map((key) => [key.id, key]));
  return ids.map((id) => keys.get(id) ?? notFound());
}

/** The organizations of a key that still exist. */
export async function organizationsOfKey(ctx: Context, { organizationIds }: ScimKeyRow) {
  const found = await Promise.all(organizationIds.map((id) => ctx.load(organizationsById, id)));
  return found.filter((organization) => organization !== undefined);
}

const insertKey = statement<{ id: string | null; organizationIds: string[] }>(`
  with chosen as (
    select id from organizations
    where deleted_at is null and case when $6::uuid[] is null then is_default else id = any($6) end
  ), created as (
    insert into scim_keys (id, token_hash, name, source, created_by, organization_ids, created_at, expires_at)
    select $1, $2, $3, $4, $5, coalesce($6, array(select id from chosen)), now(), $7
    where (select count(*) from scim_keys) < ${mostKeys}
      and ($6 is null or (select count(*) from chosen) = cardinality($6))
    returning id
  )
  select (select id from created) as id, array(select id from chosen) as "organizationIds"`);

/** Creates a key. Returns its text, which cannot be read again. */
export async function createScimKey(ctx: Context, input: CreateScimKey): Promise<{ id: string; secret: string }> {
  authorize(ctx.actor, "scim_key:create");
  requireFeature(ctx, "scim");
  const { name, expiresAt = null } = input;
  const source = input.source ?? defaultSource;
  const organizationIds = input.organizationIds && [...new Set(input.organizationIds)];
  const problems = new Problems();
  problems.add("name", nameProblem(name));
  problems.add("source", /^[\w.-]{1,64}$/.test(source) ? undefined : sourceRule);
  const isFew = !organizationIds || (organizationIds.length > 0 && organizationIds.length <= mostOrganizations);
  problems.add("organizationIds", isFew ? undefined : `Must name 1 to ${mostOrganizations} organizations.`);
  problems.add("expiresAt", endProblem(expiresAt));
  problems.throwIfAny();

  await takeTurn(ctx, "scim_keys");
  const { id, text, hash } = newScimKey();
  const values = [id, hash, name, source, userIdOf(ctx.actor), organizationIds ?? null, expiresAt];
  const created = (await ctx.row(insertKey, ...values))!;
  for (const [index, each] of (input.organizationIds ?? []).entries())
    if (!created.organizationIds.includes(each))
      problems.add(`organizationIds[${index}]`, "Must be the id of an organization.");
  problems.throwIfAny();
  if (created.id === null) throw conflict(`There can be at most ${mostKeys} SCIM keys.`);
  const diff = diffOf({}, { name, source, organizationIds: created.organizationIds, expiresAt });
  ctx.audit({ action: "create", ...identified({ id, name: name! }), diff });
  return { id, secret: text };
}

const sourceRule = "Must be 1 to 64 letters, digits, dots, hyphens and underscores.";

const nameProblem = (name: string | null | undefined): string | undefined =>
  name ? displayNameProblem(name) : "Is required.";

const endProblem = (expiresAt: string | null): string | undefined =>
  expiresAt !== null && Date.parse(expiresAt) <= databaseTime() ? "Must be in the future." : undefined;

const lockedKey = statement<ScimKeyRow>(`select ${columns} from scim_keys k where k.id = $1 for update`);

async function lockKey(ctx: Context, id: string): Promise<ScimKeyRow> {
  const key = await ctx.row(lockedKey, id);
  if (!key) throw notFound();
  return key;
}

const changeKey = statement(
  "update scim_keys set name = coalesce($2, name), expires_at = coalesce($3, expires_at) where id = $1",
);

/** Changes the name or the expiry of a key. Returns its id. */
export async function updateScimKey(ctx: Context, { id, name, expiresAt = null }: UpdateScimKey): Promise<string> {
  authorize(ctx.actor, "scim_key:create");
  const key = await lockKey(ctx, id);
  const problems = new Problems();
  if (name != null) problems.add("name", nameProblem(name));
  problems.add("expiresAt", endProblem(expiresAt));
  problems.throwIfAny();

  const diff = diffOf<ScimKeyRow>(key, { name, expiresAt });
  if (Object.keys(diff).length === 0) return id;
  await ctx.row(changeKey, id, name, expiresAt);
  ctx.audit({ action: "update", ...identified(key), diff });
  ctx.publish(machineHint(id));
  return id;
}

const deleteKey = statement("delete from scim_keys where id = $1");

/** Ends a key, on every replica within a second. What it provisioned stays. Returns the key before the deletion. */
export async function revokeScimKey(ctx: Context, id: string): Promise<ScimKeyRow> {
  authorize(ctx.actor, "scim_key:delete");
  const key = await lockKey(ctx, id);
  await ctx.row(deleteKey, id);
  ctx.audit({ action: "revoke", ...identified(key), diff: { source: { old: key.source } } });
  ctx.publish(machineHint(id));
  return key;
}

const identified = ({ id, name }: Pick<ScimKeyRow, "id" | "name">) => auditedAs("scim_key", id, name);
