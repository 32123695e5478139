import { authorize } from "../authorization/authorization.js";
import { auditedAs, diffOf } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError, notFound, onViolation } from "../kernel/errors.js";
import { raw, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { type AccountChange, changeAccount, createUser } from "../users/accounts.js";
import { activateAccount, suspendAccount } from "../users/status.js";
import { type FoundUser, lockUser, userTarget } from "../users/users.js";
import { changed } from "./changes.js";
import { type Json, readResource } from "./documents.js";
import type { Values } from "./evaluate.js";
import { notUnique, privileged, versionMismatch } from "./faults.js";
import { type Listed, type ListQuery, listResources } from "./lists.js";
import { type Operation, readOperations, replacing } from "./operations.js";
import { type Provisioner, provisionerOf } from "./provisioner.js";
import { userType } from "./schema.js";
import { type Existing, matchUser, requireFreeName } from "./user-matches.js";
import { freeUsername, usernameFor, type WantedUser, wantedUser } from "./user-mapping.js";
import {
  countVisibleUsers,
  type ScimUserRow,
  userColumns,
  userFilterColumns,
  userResource,
  versionTag,
  visibleUsers,
} from "./user-rows.js";

/** A SCIM document, and the versions that the resource may have: tags or `*`, separated by commas. */
export interface ScimChange {
  id: string;
  document: Json;
  ifMatch?: string | null;
}

const readRow = async (ctx: Context, provisioner: Provisioner, id: string): Promise<ScimUserRow> => {
  const isIt = sql`u.id = ${id}`;
  const [row] = isUuid(id)
    ? await ctx.select<ScimUserRow>(sql`select ${userColumns(ctx)} ${visibleUsers(provisioner, isIt)}`)
    : [];
  if (!row) throw notFound();
  return row;
};

/** Reads a user. Throws NOT_FOUND for users that the caller's source has deleted. */
export const readScimUser = (ctx: Context, id: string): Promise<ScimUserRow> => readRow(ctx, provisionerOf(ctx), id);

/** Lists users. */
export function listScimUsers(ctx: Context, query: ListQuery): Promise<Listed<ScimUserRow>> {
  const provisioner = provisionerOf(ctx);
  return listResources<ScimUserRow>(
    ctx,
    {
      type: userType,
      source: provisioner.source,
      columns: userFilterColumns(ctx, provisioner),
      selected: userColumns(ctx),
      from: (condition) => visibleUsers(provisioner, condition),
      id: raw("u.id"),
      total: countVisibleUsers(provisioner),
    },
    query,
  );
}

/**
 * Creates a user, or revives one that the source deleted, and returns its id. Throws CONFLICT if another user has the
 * externalId, the userName or the email. With `upsert`, updates the user who has the externalId or the email instead.
 */
export async function createScimUser(
  ctx: Context,
  { document, upsert = false }: { document: Json; upsert?: boolean | null },
): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const resource = readResource(userType, document);
  const wanted = wantedUser(resource);
  const base = usernameFor(wanted.userName, wanted.account.email);
  const username = await freeUsername(ctx, base, null);
  const existing = await matchUser(ctx, provisioner, wanted, upsert ?? false);
  if (existing) return reviveOrUpdate(ctx, provisioner, existing, resource);

  const { email, name, avatarUrl } = wanted.account;
  const { organizationIds } = provisioner;
  const loginType = ctx.config.scimLoginType;
  const id = await createUser(ctx, { email, username, name, loginType, organizationIds }).catch(asUniqueness);
  if (avatarUrl || wanted.active === false) {
    const user = await lockUser(ctx, id, "user:update");
    if (avatarUrl) await changeAccount(ctx, user, { avatarUrl });
    if (wanted.active === false) await suspendAccount(ctx, user);
  }
  // Last, since triggers copy changes of the account to the link.
  await link(ctx, provisioner, id, wanted, wanted.userName);
  return id;
}

/** A user of the source that was deleted becomes visible again under its id; others are updated. */
async function reviveOrUpdate(ctx: Context, provisioner: Provisioner, { id, isGone }: Existing, resource: Values) {
  const user = await lockUser(ctx, id, "user:update");
  if (isGone) await ctx.rows(revive, provisioner.source, id);
  const row = await readRow(ctx, provisioner, id);
  const active = resource.active ?? (isGone ? true : undefined);
  await replace(ctx, provisioner, { user, row }, { ...resource, ...(active !== undefined && { active }) });
  return id;
}

const revive = statement(`
  update scim_user_links l set deprovisioned_at = null, user_name = case when exists(
      select from scim_user_links o
      where lower(o.user_name collate "C") = lower(l.user_name collate "C") and o.deprovisioned_at is null
        or o.user_id = l.user_id and o.user_name is not null and o.deprovisioned_at is null
    ) then null else user_name end
  where source = $1 and user_id = $2`);

/** Replaces a user (RFC 7644 §3.5.1). Absent attributes are cleared, except userName, emails and active. */
export async function replaceScimUser(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const state = await lockedState(ctx, provisioner, id, ifMatch);
  await replace(ctx, provisioner, state, readResource(userType, document));
  return id;
}

async function replace(ctx: Context, provisioner: Provisioner, state: State, given: Values): Promise<void> {
  const { userName, emails, active } = writable(ctx, state.row);
  await write(ctx, provisioner, state, { userName, emails, active, ...given });
}

/**
 * Changes a user by operations (RFC 7644 §3.5.2): all of them, or none. With `merge`, the document may also be a user,
 * whose attributes replace those of the user.
 */
export async function patchScimUser(
  ctx: Context,
  { id, document, ifMatch, merge }: ScimChange & { merge?: boolean | null },
): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const isMerged = merge && !Object.keys(document).some((key) => key.toLowerCase() === "operations");
  const operations: Operation[] = isMerged ? replacing(userType, document) : readOperations(userType, document);
  const state = await lockedState(ctx, provisioner, id, ifMatch);
  await write(ctx, provisioner, state, changed(writable(ctx, state.row), operations));
  return id;
}

/** Suspends a user and hides it from the source. The account stays for administrators. Returns the id. */
export async function deleteScimUser(
  ctx: Context,
  { id, ifMatch }: { id: string; ifMatch?: string | null },
): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const { user } = await lockedState(ctx, provisioner, id, ifMatch);
  if (user.status === "active") await suspendAccount(ctx, user);
  else authorize(ctx.actor, "user:update", userTarget(user));
  await ctx.rows(deprovision, provisioner.source, id);
  ctx.audit({ action: "delete", ...identified(user), diff: { provisioned: { old: true, new: false } } });
  return id;
}

const deprovision = statement(`
  insert into scim_user_links (source, user_id, attributes, deprovisioned_at)
  select $1, id, scim_attributes(email, name, username, avatar_url), now() from users where id = $2
  on conflict (source, user_id) do update set deprovisioned_at = now()`);

/** A locked user, as stored and as SCIM clients see it. */
interface State {
  user: FoundUser;
  row: ScimUserRow;
}

/** Locks a user that the caller sees. Throws if its version is none of `ifMatch`. */
async function lockedState(
  ctx: Context,
  provisioner: Provisioner,
  id: string,
  ifMatch?: string | null,
): Promise<State> {
  if (!isUuid(id)) throw notFound();
  const user = await lockUser(ctx, id, "user:update");
  const row = await readRow(ctx, provisioner, id);
  requireVersion(row, ifMatch);
  return { user, row };
}

/** Throws if a resource has none of the versions. */
export function requireVersion({ version }: { version: number }, ifMatch: string | null | undefined): void {
  if (ifMatch != null && !hasVersion(version, ifMatch)) throw versionMismatch();
}

/** Whether tags separated by commas, or `*`, name a version. Compares weakly (RFC 9110 §8.8.3.2). */
export const hasVersion = (version: number, tags: string): boolean =>
  tags.split(",").some((tag) => {
    const opaque = tag.trim().replace(/^W\//i, "");
    return opaque === "*" || opaque === versionTag(version).slice(2);
  });

/** The attributes of a user that clients can write. */
function writable(ctx: Context, row: ScimUserRow): Values {
  const { schemas: _, id: _id, meta: _meta, groups: _groups, ...rest } = userResource(ctx, row);
  return rest;
}

/** Writes the difference between a user and what it should be. Writes nothing if there is none. */
async function write(ctx: Context, provisioner: Provisioner, { user, row }: State, resource: Values): Promise<void> {
  const before = writable(ctx, row);
  const wanted = wantedUser(resource);
  const diff = diffOf(before, Object.fromEntries(keysOf(before, resource).map((key) => [key, resource[key] ?? ""])));
  const { active: isStatusChange, ...others } = diff;
  const former = wantedUser(before);
  const change: AccountChange = Object.fromEntries(
    Object.entries(wanted.account).filter(([field, value]) => value !== former.account[field as "email"]),
  );
  if (wanted.userName !== row.userName) {
    requirePersonal(ctx, user);
    await requireFreeName(ctx, wanted.userName, user.id);
    if (ctx.config.scimFollowUsername) {
      const base = usernameFor(wanted.userName, wanted.account.email);
      change.username = await freeUsername(ctx, base, user.id);
    }
  }
  if (Object.keys(change).length > 0) {
    requirePersonal(ctx, user);
    await changeAccount(ctx, user, change).catch(asUniqueness);
  }
  if (isStatusChange) await (wanted.active ? activateAccount(ctx, user) : suspendAccount(ctx, user));
  if (Object.keys(others).length === 0) return;
  authorize(ctx.actor, "user:update", userTarget(user));
  await relink(ctx, provisioner, row, wanted);
  auditLink(ctx, user, before, resource);
}

const keysOf = (...objects: Values[]): string[] => [...new Set(objects.flatMap((each) => Object.keys(each)))];

/** Throws FORBIDDEN if the caller may not change the name and the email of the user. */
function requirePersonal(ctx: Context, user: FoundUser): void {
  try {
    authorize(ctx.actor, "user:update_personal", userTarget(user));
  } catch (error) {
    throw error instanceof DomainError && error.code === "FORBIDDEN" ? privileged() : error;
  }
}

const putLink = statement(`
  with linked as (
    insert into scim_user_links (source, user_id, external_id, user_name, attributes) values ($1, $2, $3, $4, $5)
    on conflict (source, user_id) do update set external_id = excluded.external_id, user_name = excluded.user_name,
      attributes = excluded.attributes
    returning user_id
  )
  update users set scim_version = scim_version + $6, updated_at = now() from linked where id = linked.user_id`);

/** Writes the link of the source to a user. `userName` is null if the link of another source has it. */
const link = (
  ctx: Context,
  { source }: Provisioner,
  id: string,
  { externalId, kept }: WantedUser,
  userName: string | null,
  raised = 0,
) => ctx.rows(putLink, source, id, externalId, userName, JSON.stringify(kept), raised).catch(asUniqueness);

const yieldName = statement(
  "update scim_user_links set user_name = null where user_id = $1 and source <> $2 and user_name is not null",
);

/** Writes the link of a user. A new userName is taken over from the link of another source. */
async function relink(ctx: Context, provisioner: Provisioner, row: ScimUserRow, wanted: WantedUser): Promise<void> {
  const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
  const isKept = isElsewhere && wanted.userName === row.userName;
  if (isElsewhere && !isKept) await ctx.rows(yieldName, row.id, provisioner.source);
  await link(ctx, provisioner, row.id, wanted, isKept ? null : wanted.userName, 1);
}

/** Records the attributes that a source changed. What changed in the account is recorded by its verbs. */
function auditLink(ctx: Context, user: FoundUser, before: Values, after: Values): void {
  const keys = keysOf(before, after).filter((key) => key !== "active");
  const diff = diffOf(before, Object.fromEntries(keys.map((key) => [key, after[key] ?? ""])));
  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", ...identified(user), diff });
}

const identified = ({ id, username }: FoundUser) => auditedAs("user", id, username);

const conflicts: Record<string, string> = { email: "emails", username: "userName" };

const throwUnique = onViolation({
  scim_user_links_external_id_unique: () => notUnique("externalId"),
  scim_user_links_user_name_unique: () => notUnique("userName"),
});

/** Names conflicts over values of accounts and links by their SCIM attributes. */
export function asUniqueness(error: unknown): never {
  const field = error instanceof DomainError && error.code === "CONFLICT" && error.details.validations?.[0]?.field;
  if (field && conflicts[field]) throw notUnique(conflicts[field]);
  return throwUnique(error);
}
