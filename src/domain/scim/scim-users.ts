import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { lostRace, throwLostRace } from "../../infrastructure/database/availability.js";
import { type Diff, diffOf } from "../kernel/audit.js";
import { authorize, selectPermitted } from "../authorization/authorization.js";
import { leaveGroups } from "../groups/memberships.js";
import type { Context } from "../kernel/context.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { isUuid } from "../../runtime/text.js";
import {
  faultOf,
  flag,
  inputOf,
  type Input,
  jsonObject,
  optional,
  reference,
  required,
  string,
} from "../kernel/values.js";
import { now } from "../kernel/queries.js";
import { joinOrganization, leaveOrganizations } from "../organizations/organization-members.js";
import { type AccountChange, changeAccount } from "../users/accounts.js";
import { addUser } from "../users/create-user.js";
import { releaseFormerEmail } from "../users/former-emails.js";
import { newEmail } from "../users/names.js";
import { setStatus } from "../users/suspension.js";
import { type FoundUser, auditedUser, lockUser, type UserStatus, userTarget } from "../users/users.js";
import { applyOperations } from "./apply-patch.js";
import { readResource } from "./scim-documents.js";
import type { Values } from "./evaluate.js";
import { beyondOrganizations, fault, privilegedAccount } from "./faults.js";
import { type Listed, type ListQuery, listResources } from "./scim-lists.js";
import { type Operation, readOperations, replacing } from "./patch-operations.js";
import { isBeyond, isVisibleGroup, permissionToLink, type Provisioner, provisionerOf } from "./provisioner.js";
import { userType } from "./schema.js";
import {
  addLink,
  asUniqueness,
  baseOf,
  type Existing,
  freeUsername,
  hideUser,
  matchUser,
  noteSuspension,
  requireUserNameFree,
  writeLink,
} from "./user-links.js";
import { requireAddresses, type WantedUser, wantedUser } from "./user-mapping.js";
import {
  countVisibleUsers,
  readUserRow,
  type ScimUserRow,
  selectUsers,
  userFilterColumns,
  userResource,
  visibleIds,
  visibleUsers,
} from "./user-rows.js";
import { requireVersion } from "./etags.js";
import { startAnew } from "./revivals.js";

const resourceId = required(reference, "ID of the resource.");
const versions = optional(
  string,
  "Versions that the resource may have, ETags separated by commas, or `*`; for any other one, CONFLICT with `precondition`.",
);

/** A new resource. */
export const ScimCreation = inputOf({ document: required(jsonObject, "The resource in SCIM form (RFC 7643).") });
export type ScimCreation = Input<typeof ScimCreation>;

/** A SCIM document, and the versions that the resource may have. */
export const ScimChange = inputOf({
  id: resourceId,
  document: required(jsonObject, "The resource in SCIM form, or a PatchOp (RFC 7644, section 3.5.2)."),
  ifMatch: versions,
});
export type ScimChange = Input<typeof ScimChange>;

export const ScimDeletion = inputOf({ id: resourceId, ifMatch: versions });
export type ScimDeletion = Input<typeof ScimDeletion>;

/** A user as SCIM clients of a source see it. */
export interface ScimUser {
  row: ScimUserRow;
}

/** Reads a user. Throws NOT_FOUND for users that the caller's source has deleted. */
export const readScimUser = (ctx: Context, id: string): Promise<ScimUserRow> =>
  readUserRow(ctx, provisionerOf(ctx), id);

/** Lists users. */
export function listScimUsers(ctx: Context, query: ListQuery): Promise<Listed<ScimUserRow>> {
  const provisioner = provisionerOf(ctx);
  const list = {
    type: userType,
    source: provisioner.source,
    columns: userFilterColumns(ctx, provisioner),
    id: sql<string>`u.id`,
    rows: (db: Db) => selectUsers(ctx, visibleUsers(db, provisioner)),
    ids: (db: Db) => visibleIds(db, provisioner),
    count: (db: Db) => countVisibleUsers(db, provisioner),
  };
  return listResources(ctx, list, query);
}

export const CreateScimUser = inputOf({
  ...ScimCreation.shape,
  upsert: optional(
    flag,
    "Whether to update the user who has the externalId or the email, if there is one. Default: false.",
  ),
});
export type CreateScimUser = Input<typeof CreateScimUser>;

/**
 * Creates a user, or revives one that the source deleted. Throws CONFLICT if another user has the externalId, the
 * userName or the email. With `upsert`, updates the user who has the externalId or the email instead.
 */
export async function createScimUser(ctx: Context, { document, upsert = false }: CreateScimUser): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const resource = readResource(userType, document);
  const wanted = wantedUser(resource);
  authorize(ctx.actor, "user:create");
  const { existing, isFree } = await matchUser(ctx, provisioner, wanted, upsert ?? false);
  if (existing) return adoptUser(ctx, provisioner, existing, { resource, wanted, upsert: upsert ?? false });

  const { email, name, avatarUrl } = wanted.account;
  const problem = faultOf(newEmail, email);
  if (problem) throw fault("invalidValue", problem, "emails");
  const { scimLoginType: loginType } = ctx.config;
  const username = isFree ? baseOf(wanted) : await freeUsername(ctx, wanted, null);
  const status = wanted.active === false ? "suspended" : "active";
  const account = { email, username, name: name ?? "", status } as const;
  const { organizationIds, source } = provisioner;
  await releaseFormerEmail(ctx, email);
  // A value that another transaction took meanwhile is found by the next attempt.
  const created = await addUser(ctx, { ...account, avatarUrl: avatarUrl ?? "", loginType, organizationIds }).catch(
    throwLostRace,
  );
  await addLink(ctx, provisioner, created.id, wanted).catch(throwLostRace);
  if (status === "suspended") await noteSuspension(ctx, provisioner, created.id);
  const { externalId, userName, kept: attributes } = wanted;
  return { row: { ...created, ...account, externalId, userName, nameSource: source, attributes, groups: [] } };
}

/** Replaces a user (RFC 7644 §3.5.1). Absent attributes are cleared, except userName, emails and active. */
export async function replaceScimUser(ctx: Context, { document, ...change }: ScimChange): Promise<ScimUser> {
  const resource = readResource(userType, document);
  return changeUser(ctx, provisionerOf(ctx), change, (user) => replaceAttributes(user, resource));
}

const replaceAttributes = ({ userName, emails, active }: Values, given: Values): Values => ({
  userName,
  emails,
  active,
  ...given,
});

export const PatchScimUser = inputOf({
  ...ScimChange.shape,
  merge: optional(
    flag,
    "Whether the document may be a user instead, whose attributes replace those of the user. Default: false.",
  ),
});
export type PatchScimUser = Input<typeof PatchScimUser>;

/**
 * Changes a user by operations (RFC 7644 §3.5.2): all of them, or none. With `merge`, the document may also be a user,
 * whose attributes replace those of the user.
 */
export async function patchScimUser(ctx: Context, { document, merge, ...change }: PatchScimUser): Promise<ScimUser> {
  const provisioner = provisionerOf(ctx);
  const isMerged = merge && !Object.keys(document).some((key) => key.toLowerCase() === "operations");
  const operations: Operation[] = isMerged ? replacing(userType, document) : readOperations(userType, document);
  return changeUser(ctx, provisioner, change, (user) => applyOperations(user, operations));
}

/**
 * Suspends a user, who leaves its groups, and hides it from the source. The account stays for administrators. A user who
 * also belongs to other organizations leaves those of the key instead of being suspended. Returns the id.
 */
export async function deleteScimUser(ctx: Context, { id, ifMatch }: ScimDeletion): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const { account } = await lockedUser(ctx, provisioner, id, { ifMatch });
  await leaveGroups(ctx, account.id, isVisibleGroup(ctx));
  const hasLeft = !isBeyond(ctx, account);
  if (hasLeft) await setStatus(ctx, account, "suspended");
  else await leaveOrganizations(ctx, account, provisioner.organizationIds ?? []);
  await hideUser(ctx, provisioner, account.id, { hasLeft });
  ctx.audit({ action: "delete", ...auditedUser(account), diff: { provisioned: { old: true, new: false } } });
  return account.id;
}

/** Returns the wanted values of the writable attributes of a user, given the present ones. */
type Apply = (user: Values) => Values;

/**
 * Gives a user the attributes that `apply` returns. Writes nothing if they are the same. Compares them without a lock
 * first, since a synchronization sends many users and changes few.
 */
async function changeUser(
  ctx: Context,
  provisioner: Provisioner,
  { id, ifMatch }: Omit<ScimChange, "document">,
  apply: Apply,
): Promise<ScimUser> {
  const differenceOf = (row: ScimUserRow) => difference(writable(ctx, row), apply(writable(ctx, row)));
  const permission = permissionToLink(ctx);
  if (!permission || selectPermitted(ctx.actor, permission).everywhere) {
    const row = await readUserRow(ctx, provisioner, id);
    requireVersion(row, ifMatch);
    if (!differenceOf(row)) return { row };
  }
  const locked = await lockedUser(ctx, provisioner, id, { ifMatch });
  const done = differenceOf(locked.row);
  return done ? write(ctx, provisioner, locked, done) : { row: locked.row };
}

/** A user that a source wants to create. */
interface Creation {
  resource: Values;
  wanted: WantedUser;
  upsert: boolean;
}

/** Changes an existing user to one that a source wants to create: it joins as a new one would, and becomes visible. */
async function adoptUser(
  ctx: Context,
  provisioner: Provisioner,
  { id, adoption }: Existing,
  { resource, wanted, upsert }: Creation,
): Promise<ScimUser> {
  const isRevived = adoption === "revived" || adoption === "revivedByEmail";
  const { account, row } = await lockedUser(ctx, provisioner, id, { isGone: isRevived }).catch((error: unknown) => {
    // Another transaction changed what was found before the lock.
    throw error instanceof DomainError && error.code === "NOT_FOUND" ? lostRace(error) : error;
  });
  // Most users that a synchronization updates are known by their externalId.
  const isKnown = adoption === "updated" && row.externalId !== null && row.externalId === wanted.externalId;
  const { existing } = isKnown ? { existing: { id, adoption } } : await matchUser(ctx, provisioner, wanted, upsert);
  if (existing?.id !== id || existing.adoption !== adoption) throw lostRace(new Error("The user has changed."));
  const before = writable(ctx, row);
  // Who updates a user by its email need not say what is known already.
  const known = adoption === "updated" && before.externalId !== undefined ? { externalId: before.externalId } : {};
  let done: Difference | undefined;
  if (isRevived) {
    const usual = isBeyond(ctx, account) ? before.active : true;
    const { emails } = wanted.kept;
    done = reviving(before, { ...resource, emails, active: resource.active ?? usual });
    // Others may have added it to groups meanwhile.
    await leaveGroups(ctx, id, isVisibleGroup(ctx));
  } else {
    const active = adoption === "returned" ? true : before.active;
    done = difference(before, replaceAttributes({ ...before, active }, { ...known, ...resource }));
  }
  // Who is known by the email alone may be another person, even if an administrator activated the account meanwhile.
  const isNew = account.status === "suspended" || adoption === "revivedByEmail";
  if (isRevived && isNew && !isBeyond(ctx, account)) {
    // First: a role in the deployment protects the account from other names and emails until the end of the revival.
    accountChange(ctx, account, wantedUser(before), done!.wanted);
    await startAnew(ctx, account, { isSomebodyElse: adoption === "revivedByEmail" });
    account.siteRoles = [];
  }
  await joinAsNew(ctx, provisioner, account, { isJoiningAll: isRevived });
  const written = done ? await write(ctx, provisioner, { account, row }, done) : { row };
  if (isRevived && written.row.status === "suspended" && !isBeyond(ctx, account))
    await noteSuspension(ctx, provisioner, id);
  return written;
}

/**
 * Adds a user of none of the caller's organizations to all of them, as if it were new; with `isJoiningAll` one of some of
 * them to the others, too.
 */
async function joinAsNew(
  ctx: Context,
  { organizationIds = [] }: Provisioner,
  { id, memberships }: FoundUser,
  { isJoiningAll }: { isJoiningAll: boolean },
) {
  if (!isJoiningAll && memberships.some(({ organizationId }) => organizationIds.includes(organizationId))) return;
  for (const organizationId of organizationIds) await joinOrganization(ctx, organizationId, [id]);
}

interface LockedUser extends ScimUser {
  account: FoundUser;
}

/**
 * Locks a user that the source sees, or one that it has deleted if `isGone`. Throws NOT_FOUND for others, and if its
 * version is none of `ifMatch`.
 */
async function lockedUser(
  ctx: Context,
  provisioner: Provisioner,
  id: string,
  { ifMatch, isGone = false }: { ifMatch?: string | null | undefined; isGone?: boolean },
): Promise<LockedUser> {
  if (!isUuid(id)) throw notFound();
  const account = await lockUser(ctx, id, permissionToLink(ctx));
  const row = await readUserRow(ctx, provisioner, id, { isGone });
  requireVersion(row, ifMatch);
  return { account, row };
}

/** The attributes of a user that clients can write. */
function writable(ctx: Context, row: ScimUserRow): Values {
  const { schemas: _, id: _id, meta: _meta, groups: _groups, ...rest } = userResource(ctx, row);
  return rest;
}

/** The difference between a user and what it should be. */
interface Difference {
  before: Values;
  wanted: WantedUser;
  isRenamed: boolean;
  status?: UserStatus;
  /** The attributes that change, except the status. */
  attributes: Diff;
}

/** Returns how a user differs from what it should be; `undefined` for no difference. */
function difference(before: Values, after: Values): Difference | undefined {
  if (!isDeepStrictEqual(before.emails, after.emails)) requireAddresses(after);
  const wanted = wantedUser(after);
  const keys = [...new Set([before, after].flatMap((each) => Object.keys(each)))];
  // Cleared attributes become "".
  const all = diffOf(before, Object.fromEntries(keys.map((key) => [key, after[key] ?? ""])));
  if (Object.keys(all).length === 0) return undefined;
  const { active, ...attributes } = all;
  const isRenamed = attributes.userName !== undefined;
  return { before, wanted, attributes, isRenamed, ...(active && { status: wanted.active ? "active" : "suspended" }) };
}

/** The difference between a user that the source deleted and what it should be. */
function reviving(before: Values, after: Values): Difference {
  const unchanged: Difference = { before, wanted: wantedUser(after), isRenamed: false, attributes: {} };
  const { attributes, ...others } = difference(before, after) ?? unchanged;
  return { ...others, attributes: { ...attributes, provisioned: { old: false, new: true } } };
}

/** Writes a difference to the account and to the link of the source. */
async function write(
  ctx: Context,
  provisioner: Provisioner,
  { account, row }: LockedUser,
  { before, wanted, attributes, status, isRenamed }: Difference,
): Promise<ScimUser> {
  const isLinkChanged = Object.keys(attributes).length > 0;
  const permission = permissionToLink(ctx);
  if (isLinkChanged && permission) authorize(ctx.actor, permission, userTarget(account));
  if (status) requireWithin(ctx, account);
  const change = accountChange(ctx, account, wantedUser(before), wanted);
  if (isRenamed && ctx.config.scimFollowUsername) change.username = await freeUsername(ctx, wanted, account.id);
  // After the wait for a username.
  if (isRenamed) await requireUserNameFree(ctx, wanted.userName, account.id);

  if (isLinkChanged) {
    // The link of another source keeps a userName that does not change.
    const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
    const name = isElsewhere && wanted.userName === row.userName ? null : wanted.userName;
    await writeLink(ctx, provisioner, account.id, wanted, name);
  }
  const isAccountChanged = await changeAccount(ctx, account, change).catch(asUniqueness);
  if (status && (await setStatus(ctx, account, status)) && status === "suspended")
    await noteSuspension(ctx, provisioner, account.id);
  // What changed in the account is recorded, too.
  if (isLinkChanged) ctx.audit({ action: "update", ...auditedUser(account), diff: attributes });
  // Triggers raise the version with changes of the account.
  if (!isAccountChanged && !status)
    await ctx.db
      .updateTable("users")
      .set(({ eb }) => ({ scimVersion: eb("scimVersion", "+", 1), updatedAt: now }))
      .where("id", "=", account.id)
      .execute();
  return { row: await readUserRow(ctx, provisioner, account.id) };
}

/** The change of the account, except the username. Throws FORBIDDEN if the caller may not make it. */
function accountChange(ctx: Context, account: FoundUser, former: WantedUser, wanted: WantedUser): AccountChange {
  // Another user may have taken the email of a leaver, whose link can still have it.
  const isLost = (field: string) => field === "email" && account.formerEmail !== null;
  const change: AccountChange = Object.fromEntries(
    Object.entries(wanted.account).filter(
      ([field, value]) =>
        value !== account[field as "email"] && (value !== former.account[field as "email"] || isLost(field)),
    ),
  );
  if (wanted.userName !== former.userName || Object.keys(change).length > 0) requirePersonal(ctx, account);
  return change;
}

/** Throws FORBIDDEN for a key if the user also belongs to other organizations. */
function requireWithin(ctx: Context, user: FoundUser): void {
  if (isBeyond(ctx, user)) throw beyondOrganizations();
}

/** Throws FORBIDDEN if the caller may not change the name and the email of the user. */
function requirePersonal(ctx: Context, user: FoundUser): void {
  requireWithin(ctx, user);
  try {
    authorize(ctx.actor, "user:update_personal", userTarget(user));
  } catch (error) {
    throw error instanceof DomainError && error.code === "FORBIDDEN" ? privilegedAccount() : error;
  }
}
