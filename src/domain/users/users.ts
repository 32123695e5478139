import { type InferResult, type QueryCreator, sql, type SqlBool } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { User } from "../../entities/users.js";
import { anyOf, rowById, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { type Actor, userIdOf } from "../kernel/actor.js";
import {
  type Action,
  authorize,
  may,
  type OrganizationRole,
  selectPermitted,
  sees,
  type SiteRole,
} from "../authorization/authorization.js";
import { forbidden, notFound } from "../kernel/errors.js";
import { foldCase, isUuid } from "../../runtime/text.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const m = columnsOf("organizationMembers", "m");
const u = columnsOf("users", "u");

export const UserStatus = { ACTIVE: "active", SUSPENDED: "suspended" } as const;
export type UserStatus = (typeof UserStatus)[keyof typeof UserStatus];

/** How a user signs in: with a password, through an identity provider, or not at all. */
export const LoginType = { PASSWORD: "password", OIDC: "oidc", GITHUB: "github", NONE: "none" } as const;
export type LoginType = (typeof LoginType)[keyof typeof LoginType];

/** A membership in an organization, with the roles of the user there. */
export interface Membership {
  organizationId: string;
  roles: OrganizationRole[];
}

/** The columns of a `UserRow`, from `users as u`. */
export const userFields = [
  "u.id",
  "u.createdAt",
  "u.updatedAt",
  "u.email",
  "u.username",
  "u.name",
  "u.avatarUrl",
  "u.status",
  "u.loginType",
  "u.siteRoles",
  "u.mustChangePassword",
  "u.isServiceAccount",
  "u.isSystem",
  "u.lastSeenAt",
  "u.aiSeatAt",
  "u.deprovisionedAt",
  "u.formerEmail",
] as const;

/** Columns whose values are narrower than their type in the database. */
export interface UserRoles {
  siteRoles: SiteRole[];
}

/** All users, deleted ones included. */
export const allUsers = (db: QueryCreator<Schema>) =>
  db.selectFrom("users as u").select(userFields).$narrowType<UserRoles>();

type StoredUser = InferResult<ReturnType<typeof allUsers>>[number];

export interface UserRow extends StoredUser {
  /** Absent where another object refers to the user: then they are loaded on demand. */
  memberships?: Membership[];
}

/** A user with its memberships, which decide who may read it. */
export type FoundUser = UserRow & { memberships: Membership[] };

/** The memberships of the user with the id in a column, oldest first, as `memberships`. */
export const membershipsOfUser = (id: "u.id" | "page.id") =>
  sql<Membership[]>`to_json(array(
    select json_build_object('organizationId', ${m.organizationId}, 'roles', m.roles)
    from organization_members m where ${m.userId} = ${sql.ref(id)} order by ${m.createdAt}, ${m.organizationId}))`.as(
    "memberships",
  );

/** The column `lower(username collate "C")` of a user `u`, as in its indexes. */
export const foldedUsername = sql<string>`lower(u.username collate "C")`;

/** The condition that a user `u` is the one with an id, with a username in any letter case, or `me`, and is not deleted. */
export function isUserNamed({ actor }: Context, ref: string) {
  const idOrName = ref === "me" ? userIdOf(actor) : ref;
  if (idOrName === undefined) throw notFound();
  return isUuid(idOrName)
    ? sql<SqlBool>`${u.deletedAt} is null and u.id = ${idOrName}`
    : sql<SqlBool>`${u.deletedAt} is null and ${foldedUsername} = ${foldCase(idOrName)}`;
}

/**
 * Selects the id of the user that `isUserNamed` describes, for statements that find an object of the user. Checks no
 * permission: whether the caller may read the object decides.
 */
export const idOfUserNamed = (ctx: Context, ref: string) =>
  sql<string>`(select u.id from users u where ${isUserNamed(ctx, ref)})`;

/** Finds a user by id, by username in any letter case, or by `me`. Throws NOT_FOUND if the caller may not read it. */
export async function findUser(ctx: Context, ref: string): Promise<FoundUser> {
  const named = allUsers(ctx.db).where(isUserNamed(ctx, ref));
  const user = await named.select(membershipsOfUser("u.id")).executeTakeFirst();
  return visible(ctx, user);
}

/**
 * Finds a user like `findUser` and locks it until the transaction ends. Every transaction that changes a user, its
 * roles or its memberships takes this lock first. If the actor lacks `permission` on the user, throws and locks
 * nothing. Check the permission again on the returned row. Without `permission`, authorize the actor otherwise before
 * the call.
 */
export async function lockUser(ctx: Context, ref: string, permission?: OnAccount): Promise<FoundUser> {
  if (permission) await requireOn(ctx, permission, ref);
  return visible(ctx, await lockChosen(ctx, (users) => users.where(isUserNamed(ctx, ref))).executeTakeFirst());
}

/** Locks users until the transaction ends, without a check. Omits those that are deleted, and system identities. */
export const lockUsers = (ctx: Context, ids: readonly string[]): Promise<FoundUser[]> =>
  lockChosen(ctx, (users) => people(users, ids)).execute();

/**
 * Keeps users unchanged until the transaction ends, like `lockUsers`, but others may keep them unchanged at the same time:
 * for transactions that decide by users and change none. Such a transaction must not lock one of them later.
 */
export const holdUsers = (ctx: Context, ids: readonly string[]): Promise<FoundUser[]> =>
  lockChosen(ctx, (users) => people(users, ids), "share").execute();

const people = (users: ReturnType<typeof allUsers>, ids: readonly string[]) =>
  users.where("u.id", "=", anyOf(ids)).where("u.deletedAt", "is", null).where("u.isSystem", "=", false);

/**
 * Locks users in the order of their ids. Not `for update`, which would block inserts of rows that refer to the user. A
 * function reads the memberships, since the snapshot of the statement is older than its wait for the lock.
 */
const lockChosen = (
  ctx: Context,
  choose: (users: ReturnType<typeof allUsers>) => ReturnType<typeof allUsers>,
  mode: "change" | "share" = "change",
) =>
  ctx.db
    .with("locked", (db) => {
      const chosen = choose(allUsers(db)).orderBy("u.id");
      return mode === "share" ? chosen.forShare() : chosen.forNoKeyUpdate();
    })
    .selectFrom("locked")
    .selectAll()
    .select(sql<Membership[]>`memberships_now(locked.id)`.as("memberships"));

function visible<User extends FoundUser>(ctx: Context, user: User | undefined): User {
  if (!user || !sees(ctx.actor, "user:read", userTarget(user))) throw notFound();
  return user;
}

/** Permissions whose rules read only the account. */
type OnAccount =
  | `user:${Action<"user">}`
  | `user_secret:${Action<"user_secret">}`
  | `notification_preference:${Action<"notification_preference">}`
  | "api_key:create"
  | "assign_role:assign";

/** Whether the actor holds the permission on the user, whatever its roles and memberships. */
function holdsOn(actor: Actor, permission: OnAccount, ref: string): boolean {
  const { everywhere, own } = selectPermitted(actor, permission);
  return everywhere || (own && (ref === "me" || ref === userIdOf(actor)));
}

/** Throws, and locks nothing, if the actor lacks a permission on a user. */
async function requireOn(ctx: Context, permission: OnAccount, ref: string): Promise<void> {
  // The cast is safe: the target has the values that any of these permissions read.
  if (!holdsOn(ctx.actor, permission, ref))
    authorize(ctx.actor, permission as "user:update", userTarget(await findUser(ctx, ref)));
}

/** A user, or an object of the user, as the target of a permission check. */
export const userTarget = ({ id, siteRoles, isServiceAccount, memberships }: FoundUser) => ({
  ownerId: id,
  siteRoles,
  isServiceAccount,
  memberships,
});

/** Throws FORBIDDEN if the caller lacks the permission on the user, and for system identities. */
export function authorizeOn(ctx: Context, permission: `user:${Action<"user">}`, user: FoundUser): void {
  authorize(ctx.actor, permission, userTarget(user));
  rejectSystemIdentity(user);
}

export function rejectSystemIdentity({ isSystem }: UserRow): void {
  if (isSystem) throw forbidden("Identities of the system cannot be changed.");
}

export const auditedUser = ({ id, username }: Pick<UserRow, "id" | "username">) => auditedAs("user", id, username);

auditChangesOf(User, {
  resource: ({ id }, before) => auditedUser({ id, username: before("username") }),
  fields: ["email", "username", "name", "avatarUrl", "status", "siteRoles"],
});

/**
 * Batch read of users by id, for `ctx.load`, deleted users and system identities included. Checks no permission: the
 * object that has the id does.
 */
export async function usersById(ctx: Context, ids: readonly string[]): Promise<Array<UserRow | undefined>> {
  const found = await allUsers(ctx.db).where("u.id", "=", anyOf(ids)).execute();
  return rowById(found, ids);
}

/** Returns the user if the caller may read the whole account, otherwise null. */
export async function readableAccount(ctx: Context, user: UserRow): Promise<UserRow | null> {
  const memberships = await membershipsOf(ctx, user);
  return may(ctx.actor, "user:read", userTarget({ ...user, memberships })) ? user : null;
}

/** The memberships of a user that the caller may read, oldest first. */
export const membershipsOf = async (ctx: Context, user: UserRow): Promise<Membership[]> =>
  user.memberships ?? ctx.load(membershipsByUser, user.id);

/** The ids of the organizations of a user that the caller may read. */
export const organizationIdsOf = async (ctx: Context, user: UserRow): Promise<string[]> =>
  (await membershipsOf(ctx, user)).map(({ organizationId }) => organizationId);

/** The memberships of users as they are now. For a locked user, they do not change until the transaction ends. */
export const readMemberships = (ctx: Context, userIds: readonly string[]) =>
  ctx.db
    .selectFrom("organizationMembers")
    .select(["userId", "organizationId", "roles"])
    .$narrowType<{ roles: OrganizationRole[] }>()
    .where("userId", "=", anyOf(userIds))
    .orderBy("createdAt")
    .orderBy("organizationId")
    .execute();

async function membershipsByUser(ctx: Context, ids: readonly string[]): Promise<Membership[][]> {
  return rowsByKey(await readMemberships(ctx, ids), ids, ({ userId }) => userId);
}

/**
 * The condition that the caller may read the user `u`. Callers who read the users of organizations are members of these
 * themselves, so one part suffices for all callers.
 */
export function isReadableUser({ actor }: Context) {
  const { everywhere, own, organizations } = selectPermitted(actor, "user:read");
  if (everywhere) return sql<SqlBool>`true`;
  if (organizations.length === 0) return own ? sql<SqlBool>`u.id = ${userIdOf(actor)}` : sql<SqlBool>`false`;
  const isTheirs = sql`${m.organizationId} = ${anyOf(organizations)}`;
  return sql<SqlBool>`exists(select from organization_members m where ${m.userId} = u.id and ${isTheirs})`;
}
