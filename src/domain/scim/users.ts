import { authorize } from "../authorization/authorization.js";
import { type Diff, diffOf } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { raw, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { accountDiff } from "../users/accounts.js";
import { newUser, type Surroundings } from "../users/creation.js";
import { checkStatus, recordStatus } from "../users/status.js";
import { type FoundUser, identified, lockUser, type UserStatus, userTarget } from "../users/users.js";
import { type AccountChange, writeUser } from "../users/writes.js";
import { changed } from "./changes.js";
import { type Json, readResource } from "./documents.js";
import type { Values } from "./evaluate.js";
import { privileged } from "./faults.js";
import { type Listed, type ListQuery, listResources } from "./lists.js";
import { type Operation, readOperations, replacing } from "./operations.js";
import { type Provisioner, provisionerOf } from "./provisioner.js";
import { userType } from "./schema.js";
import { asUniqueness, deprovisioning, linking, linkingNew, revive, yieldName } from "./user-links.js";
import { anotherUsername, baseOf, type Existing, matchUser, newUsername } from "./user-matches.js";
import { type WantedUser, wantedUser } from "./user-mapping.js";
import {
  countVisibleUsers,
  type ScimUserRow,
  userColumns,
  userFilterColumns,
  visibleIds,
  visibleUsers,
} from "./user-rows.js";
import { type LockedUser, lockedUser, type ScimUser, writable } from "./user-state.js";

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
      ids: (condition) => visibleIds(provisioner, condition),
      id: raw("u.id"),
      total: countVisibleUsers(provisioner),
    },
    query,
  );
}

/**
 * Creates a user, or revives one that the source deleted. Throws CONFLICT if another user has the externalId, the
 * userName or the email. With `upsert`, updates the user who has the externalId or the email instead.
 */
export async function createScimUser(
  ctx: Context,
  { document, upsert = false }: { document: Json; upsert?: boolean | null },
): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const resource = readResource(userType, document);
  const wanted = wantedUser(resource);
  const { email, name, avatarUrl } = wanted.account;
  const base = baseOf(wanted);
  const status: UserStatus = wanted.active === false ? "suspended" : "active";
  const { scimLoginType: loginType } = ctx.config;
  const account = { email, username: base, name, loginType, organizationIds: provisioner.organizationIds ?? null };
  const { id, columns, add } = await newUser(ctx, account, { avatarUrl: avatarUrl ?? "", status });
  const { existing, found } = await matchUser<Surroundings>(ctx, provisioner, wanted, upsert ?? false, columns);
  if (existing) return reviveOrUpdate(ctx, provisioner, existing, resource);

  const username = found.isFree ? base : await anotherUsername(ctx, wanted);
  const written = add(found, username);
  const { externalId, userName, kept } = wanted;
  const { source } = provisioner;
  ctx.write(linkingNew, { source, user_id: id, external_id: externalId, user_name: userName, attributes: kept });
  const values = { id, ...written, username, email, name: name ?? "", status };
  return { row: { ...values, ...linkOf(provisioner, wanted), groups: [] } };
}

/** The columns of a row that come from a written link which has the userName. */
const linkOf = ({ source }: Provisioner, { externalId, userName, kept }: WantedUser) => ({
  externalId,
  userName,
  nameSource: source,
  attributes: kept,
});

/** A user of the source that was deleted becomes visible again under its id; others are updated. */
async function reviveOrUpdate(ctx: Context, provisioner: Provisioner, { id, isGone }: Existing, resource: Values) {
  if (isGone) {
    await lockUser(ctx, id, "user:update");
    await ctx.rows(revive, provisioner.source, id);
  }
  const user = await lockedUser(ctx, provisioner, id);
  const active = resource.active ?? (isGone ? true : undefined);
  return replace(ctx, provisioner, user, { ...resource, ...(active !== undefined && { active }) });
}

/** Replaces a user (RFC 7644 §3.5.1). Absent attributes are cleared, except userName, emails and active. */
export async function replaceScimUser(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const user = await lockedUser(ctx, provisioner, id, ifMatch);
  return replace(ctx, provisioner, user, readResource(userType, document));
}

function replace(ctx: Context, provisioner: Provisioner, user: LockedUser, given: Values): Promise<ScimUser> {
  const { userName, emails, active } = writable(ctx, user.row);
  return write(ctx, provisioner, user, { userName, emails, active, ...given });
}

/**
 * Changes a user by operations (RFC 7644 §3.5.2): all of them, or none. With `merge`, the document may also be a user,
 * whose attributes replace those of the user.
 */
export async function patchScimUser(
  ctx: Context,
  { id, document, ifMatch, merge }: ScimChange & { merge?: boolean | null },
): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const isMerged = merge && !Object.keys(document).some((key) => key.toLowerCase() === "operations");
  const operations: Operation[] = isMerged ? replacing(userType, document) : readOperations(userType, document);
  const user = await lockedUser(ctx, provisioner, id, ifMatch);
  return write(ctx, provisioner, user, changed(writable(ctx, user.row), operations));
}

/** Suspends a user and hides it from the source. The account stays for administrators. Returns the id. */
export async function deleteScimUser(
  ctx: Context,
  { id, ifMatch }: { id: string; ifMatch?: string | null },
): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const { account } = await lockedUser(ctx, provisioner, id, ifMatch);
  const isChanged = await checkStatus(ctx, account, "suspended");
  await writeUser(ctx, account, isChanged ? { status: "suspended" } : {}, { tables: deprovisioning(provisioner) });
  if (isChanged) recordStatus(ctx, account, "suspended");
  ctx.audit({ action: "delete", ...identified(account), diff: { provisioned: { old: true, new: false } } });
  return account.id;
}

/** Writes the difference between a user and what it should be. Writes nothing if there is none. */
async function write(ctx: Context, provisioner: Provisioner, user: LockedUser, resource: Values): Promise<ScimUser> {
  const { account, row } = user;
  const before = writable(ctx, row);
  const wanted = wantedUser(resource);
  const { active: isStatusChange, ...attributes } = difference(before, resource);
  const status: UserStatus | undefined = isStatusChange ? (wanted.active ? "active" : "suspended") : undefined;
  const isLinkChanged = Object.keys(attributes).length > 0;
  if (!status && !isLinkChanged) return user;

  if (isLinkChanged) authorize(ctx.actor, "user:update", userTarget(account));
  const change = await accountChange(ctx, user, before, wanted);
  const diff = accountDiff(account, change);
  if (status) await checkStatus(ctx, account, status);
  const link = isLinkChanged ? await relinked(ctx, provisioner, row, wanted) : undefined;
  const besides = link && { tables: linking(provisioner, wanted, link.ownName), isRaised: true };
  const written = await writeUser(ctx, account, { ...change, ...(status && { status }) }, besides).catch(asUniqueness);

  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", ...identified(account), diff });
  if (status) recordStatus(ctx, account, status);
  // What changed in the account is recorded, too.
  if (isLinkChanged) ctx.audit({ action: "update", ...identified(account), diff: attributes });
  const { updatedAt, version } = written;
  const values = { ...present(change), ...(status && { status }), updatedAt };
  return { account: { ...account, ...values }, row: { ...row, ...values, version, ...link?.columns } };
}

/** The attributes that change, with their old and new values. Cleared ones become "". */
function difference(before: Values, after: Values): Diff {
  const keys = [...new Set([before, after].flatMap((each) => Object.keys(each)))];
  return diffOf(before, Object.fromEntries(keys.map((key) => [key, after[key] ?? ""])));
}

const present = (change: AccountChange): Partial<Record<keyof AccountChange, string>> =>
  Object.fromEntries(Object.entries(change).filter((entry): entry is [string, string] => entry[1] != null));

/** The change of the account that a change of the attributes means. Throws FORBIDDEN if the caller may not make it. */
async function accountChange(
  ctx: Context,
  { account, row }: LockedUser,
  before: Values,
  wanted: WantedUser,
): Promise<AccountChange> {
  const former = wantedUser(before);
  const change: AccountChange = Object.fromEntries(
    Object.entries(wanted.account).filter(([field, value]) => value !== former.account[field as "email"]),
  );
  const isRenamed = wanted.userName !== row.userName;
  if (isRenamed || Object.keys(change).length > 0) requirePersonal(ctx, account);
  const username = isRenamed ? await newUsername(ctx, wanted, row.id) : undefined;
  return ctx.config.scimFollowUsername && username !== undefined ? { ...change, username } : change;
}

/** Throws FORBIDDEN if the caller may not change the name and the email of the user. */
function requirePersonal(ctx: Context, user: FoundUser): void {
  try {
    authorize(ctx.actor, "user:update_personal", userTarget(user));
  } catch (error) {
    throw error instanceof DomainError && error.code === "FORBIDDEN" ? privileged() : error;
  }
}

/**
 * The userName of the link of the source, null if that of another source keeps it, and what the link makes of a row. A
 * new userName is taken over from the link of another source.
 */
async function relinked(ctx: Context, provisioner: Provisioner, row: ScimUserRow, wanted: WantedUser) {
  const columns = linkOf(provisioner, wanted);
  const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
  if (!isElsewhere) return { ownName: wanted.userName, columns };
  if (wanted.userName === row.userName) return { ownName: null, columns: { ...columns, nameSource: row.nameSource } };
  await ctx.rows(yieldName, row.id, provisioner.source);
  return { ownName: wanted.userName, columns };
}
