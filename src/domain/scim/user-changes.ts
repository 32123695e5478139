import { isDeepStrictEqual } from "node:util";
import { type Diff, diffOf } from "../audit/audit.js";
import { authorize, reach } from "../authorization/authorization.js";
import { leaveGroups } from "../groups/leaving.js";
import type { Context } from "../kernel/context.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { empty, type Sql, sql } from "../kernel/sql.js";
import { joinOrganization } from "../organizations/members.js";
import { accountDiff } from "../users/accounts.js";
import { checkStatus, recordStatus } from "../users/status.js";
import { type FoundUser, identified, type UserStatus, userTarget } from "../users/users.js";
import { type AccountChange, statusAnnouncement, writeUser } from "../users/writes.js";
import type { Values } from "./evaluate.js";
import { beyondOrganizations, privileged } from "./faults.js";
import { isBeyond, isVisibleGroup, permissionToLink, type Provisioner } from "./provisioner.js";
import { asUniqueness, linking, linkOf } from "./user-links.js";
import { type Existing, freeUsername } from "./user-matches.js";
import { requireAddresses, tooManyNames, type WantedUser, wantedUser } from "./user-mapping.js";
import { readUserRow, type ScimUserRow } from "./user-rows.js";
import { type ForChange, type LockedUser, lockedUser, type ScimUser, writable } from "./user-state.js";
import { requireVersion } from "./versions.js";

/** The difference between a user and what it should be. */
interface Difference {
  before: Values;
  wanted: WantedUser;
  isRenamed: boolean;
  status?: UserStatus;
  /** The attributes that change, except the status. */
  attributes: Diff;
}

/** The part of a difference for which a lock reads columns. */
type Planned = Pick<Difference, "isRenamed" | "wanted"> & { status?: UserStatus | undefined };

/** What is to change. */
interface Changing {
  id: string;
  ifMatch?: string | null;
  /** What was found of the user, which the source may have deleted: it becomes visible again. */
  existing?: Existing & { wanted: WantedUser };
}

/**
 * Changes a user to what `apply` makes of its writable attributes. Writes nothing if that is no difference. Looks at the
 * user without a lock first, since a synchronization changes few users; but not at an existing one, of which enough is known.
 */
export async function changeUser(
  ctx: Context,
  provisioner: Provisioner,
  { id, ifMatch, existing }: Changing,
  apply: (user: Values) => Values,
): Promise<ScimUser> {
  const isRevived = existing?.isGone ?? false;
  const differenceOf = ({ row, account }: ScimUser) => {
    const before = writable(ctx, row);
    const after = apply(writable(ctx, row));
    if (!isRevived) return difference(before, after);
    const usual = account && isBeyond(ctx, account) ? before.active : true;
    return reviving(before, { ...after, active: existing!.wanted.active ?? usual });
  };
  const permission = permissionToLink(ctx);
  const maySee = !existing && (!permission || reach(ctx.actor, permission).everywhere);
  const seen = maySee ? await readUserRow(ctx, provisioner, id) : undefined;
  if (maySee && !seen) throw notFound();
  if (seen) requireVersion(seen, ifMatch);
  const expected = existing ? plannedFor(existing) : seen && differenceOf({ row: seen });
  if (seen && !expected) return { row: seen };

  const lock = (known?: Affected, planned?: Planned) =>
    lockedUser(ctx, provisioner, id, { ifMatch, isRevived, more: known && planned && columnsFor(ctx, known, planned) });
  let user = await lock(existing ?? seen, expected);
  let done = differenceOf(user);
  // The user was not seen, or has changed since then: now that it is locked, it stays as it is.
  if (done && !isCovered(done, expected)) {
    user = await lock(user.row, done);
    done = differenceOf(user);
  }
  if (isRevived) user = await withoutGroups(ctx, user);
  if (existing) await joinAsNew(ctx, provisioner, user.account);
  return done ? write(ctx, provisioner, user, done) : user;
}

/** Ends the memberships of a user that the source had deleted, which others gave it meanwhile. */
async function withoutGroups<User extends ScimUser>(ctx: Context, user: User): Promise<User> {
  await leaveGroups(ctx, user.row.id, isVisibleGroup(ctx));
  return { ...user, row: { ...user.row, groups: [] } };
}

/** Adds a user of none of the caller's organizations to all of them, as if it were new. */
async function joinAsNew(ctx: Context, { organizationIds = [] }: Provisioner, { id, memberships }: FoundUser) {
  if (memberships.some(({ organizationId }) => organizationIds.includes(organizationId))) return;
  for (const organizationId of organizationIds) await joinOrganization(ctx, organizationId, [id]);
}

/** Whether the columns that were read for one change are those for another. */
const isCovered = ({ isRenamed, status, wanted }: Difference, planned: Planned | undefined): boolean =>
  (!isRenamed || (planned?.isRenamed && planned.wanted.userName === wanted.userName) === true) &&
  (!status || planned?.status === status);

/** A user whom columns are about. */
type Affected = Pick<ScimUserRow, "id" | "username" | "name">;

function columnsFor(ctx: Context, user: Affected, { isRenamed, status, wanted }: Planned): Sql {
  const name =
    isRenamed && ctx.config.scimFollowUsername ? sql`, ${freeUsername(wanted, user.id)} as "newUsername"` : empty;
  return status ? sql`${name}, ${statusAnnouncement(ctx, user, status).recipients} as recipients` : name;
}

const statusFor = ({ active }: WantedUser): UserStatus => (active ? "active" : "suspended");

/** What will change in an existing user, as far as is known. */
function plannedFor({ wanted, isGone, hasUserName, status }: NonNullable<Changing["existing"]>): Planned {
  const active = wanted.active ?? (isGone ? true : status === "active");
  const future = statusFor({ ...wanted, active });
  return { wanted, isRenamed: !hasUserName, ...(future !== status && { status: future }) };
}

/** The difference between a user that the source deleted and what it should be. */
function reviving(before: Values, after: Values): Difference {
  const { attributes = {}, ...others } = difference(before, after) ?? {
    before,
    wanted: wantedUser(after),
    isRenamed: false,
  };
  return { ...others, attributes: { ...attributes, provisioned: { old: false, new: true } } };
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
  return {
    before,
    wanted,
    attributes,
    isRenamed,
    ...(active && { status: statusFor(wanted) }),
  };
}

/** Writes a difference, with its records, in the last statement of the mutation. */
async function write(
  ctx: Context,
  provisioner: Provisioner,
  { account, row, found }: LockedUser & { found: ForChange },
  { before, wanted, attributes, status, isRenamed }: Difference,
): Promise<ScimUser> {
  const isLinkChanged = Object.keys(attributes).length > 0;
  const permission = permissionToLink(ctx);
  if (isLinkChanged && permission) authorize(ctx.actor, permission, userTarget(account));
  if (status) requireWithin(ctx, account);
  const change = accountChange(ctx, account, wantedUser(before), wanted);
  if (isRenamed && ctx.config.scimFollowUsername) change.username = found.newUsername ?? tooManyNames();
  const diff = accountDiff(account, change);
  if (status) await checkStatus(ctx, account, status);
  const link = isLinkChanged ? relinked(provisioner, row, wanted) : undefined;

  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", ...identified(account), diff });
  if (status) recordStatus(ctx, account, status);
  // What changed in the account is recorded, too.
  if (isLinkChanged) ctx.audit({ action: "update", ...identified(account), diff: attributes });
  if (status) statusAnnouncement(ctx, account, status).send(found.recipients!);
  const besides = {
    ...(link && { tables: linking(provisioner, wanted, link.ownName), isRaised: true }),
    userName: isRenamed ? wanted.userName : undefined,
    isAnnounced: true,
    last: ctx.lastTables(),
  };
  const written = await writeUser(ctx, account, { ...change, ...(status && { status }) }, besides).catch(asUniqueness);
  const { updatedAt, version } = written;
  const values = { ...present(change), ...(status && { status }), updatedAt };
  return { account: { ...account, ...values }, row: { ...row, ...values, version, ...link?.columns } };
}

const present = (change: AccountChange): Partial<Record<keyof AccountChange, string>> =>
  Object.fromEntries(Object.entries(change).filter((entry): entry is [string, string] => entry[1] != null));

/** The change of the account, except the username. Throws FORBIDDEN if the caller may not make it. */
function accountChange(ctx: Context, account: FoundUser, former: WantedUser, wanted: WantedUser): AccountChange {
  const change: AccountChange = Object.fromEntries(
    Object.entries(wanted.account).filter(
      ([field, value]) => value !== former.account[field as "email"] && value !== account[field as "email"],
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
    throw error instanceof DomainError && error.code === "FORBIDDEN" ? privileged() : error;
  }
}

/**
 * The userName of the link of the source, null if that of another source keeps it, and what the link makes of a row. A
 * new userName is taken over from the link of another source.
 */
function relinked(provisioner: Provisioner, row: ScimUserRow, wanted: WantedUser) {
  const columns = linkOf(provisioner, wanted);
  const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
  const isKept = isElsewhere && wanted.userName === row.userName;
  return isKept
    ? { ownName: null, columns: { ...columns, nameSource: row.nameSource } }
    : { ownName: wanted.userName, columns };
}
