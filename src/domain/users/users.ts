import { rowsByKey } from "../kernel/batches.js";
import { User } from "../../entities/users.js";
import type { Context } from "../kernel/context.js";
import { auditedAs } from "../audit/audit.js";
import { type Actor, userIdOf } from "../kernel/actor.js";
import {
  type Action,
  authorize,
  may,
  type OrganizationRole,
  reach,
  sees,
  type SiteRole,
} from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { statement } from "../kernel/database.js";
import { forbidden, notFound } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";

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
  "u.isServiceAccount",
  "u.isSystem",
  "u.lastSeenAt",
  "u.aiSeatAt",
] as const;

/** The columns of a `UserRow`, from `users u`, for statements that are text. */
export const userColumns = columnsOf(User, "u", [
  "id",
  "createdAt",
  "updatedAt",
  "email",
  "username",
  "name",
  "avatarUrl",
  "status",
  "loginType",
  "siteRoles",
  "isServiceAccount",
  "isSystem",
  "lastSeenAt",
  "aiSeatAt",
]);

export interface UserRow extends RowOf<typeof userColumns> {
  siteRoles: SiteRole[];
  /** Absent where another object refers to the user: then they are loaded on demand. */
  memberships?: Membership[];
}

/** A user with its memberships, which decide who may read it. */
export type FoundUser = UserRow & { memberships: Membership[] };

/** The columns of a user `u` with its memberships. */
export const foundColumns = `${userColumns}, to_json(array(
  select json_build_object('organizationId', m.organization_id, 'roles', m.roles)
  from organization_members m where m.user_id = u.id order by m.created_at, m.organization_id
)) as memberships`;

/** Statements that select a user by its id or by its username. */
const finders = (select: (condition: string) => string) => ({
  byId: statement<FoundUser>(select("u.deleted_at is null and u.id = $1")),
  byName: statement<FoundUser>(select(`u.deleted_at is null and ${foldedSql("u.username")} = ${foldedSql("$1")}`)),
});

const reading = finders((condition) => `select ${foundColumns} from users u where ${condition}`);

// Not `for update`, which would block inserts of rows that refer to the user.
const locked = (columns: string, condition: string) =>
  `select ${columns} from users u where ${condition} for no key update of u`;

// A function reads the memberships: the statement that waited for the lock reads other tables in a snapshot from before
// the wait.
const locking = finders(
  (condition) => `
    with locked as materialized (${locked(userColumns, condition)})
    select locked.*, memberships_now(locked.id) as memberships from locked`,
);
// No permission on the caller's own account depends on memberships.
const lockingOwn = finders((condition) => locked(foundColumns, condition));

/** Finds a user by id, by username in any letter case, or by `me`. Throws NOT_FOUND if the caller may not read it. */
export const findUser = (ctx: Context, ref: string): Promise<FoundUser> => find(ctx, ref, reading);

/**
 * Finds a user like `findUser` and locks it until the transaction ends. Every transaction that changes a user, its
 * roles or its memberships takes this lock first. If the actor lacks `permission` on the user, throws and locks
 * nothing. Check the permission again on the returned row. Without `permission`, authorize the actor otherwise before
 * the call.
 */
export async function lockUser(ctx: Context, ref: string, permission?: OnAccount): Promise<FoundUser> {
  const { actor } = ctx;
  if (permission) await requireOn(ctx, permission, ref);
  const isOwn = ref === "me" || ref === userIdOf(actor);
  return find(ctx, ref, isOwn ? lockingOwn : locking);
}

/** Permissions whose rules read only the account. */
type OnAccount =
  | `user:${Action<"user">}`
  | `user_secret:${Action<"user_secret">}`
  | "api_key:create"
  | "assign_role:assign";

/** Whether the actor holds the permission on the user, whatever its roles and memberships. */
function holdsOn(actor: Actor, permission: OnAccount, ref: string): boolean {
  const { everywhere, own } = reach(actor, permission);
  return everywhere || (own && (ref === "me" || ref === userIdOf(actor)));
}

async function find(ctx: Context, ref: string, { byId, byName }: typeof reading): Promise<FoundUser> {
  const idOrName = ref === "me" ? userIdOf(ctx.actor) : ref;
  if (idOrName === undefined) throw notFound();
  return visible(ctx, await ctx.row(isUuid(idOrName) ? byId : byName, idOrName));
}

function visible<User extends FoundUser>(ctx: Context, user: User | undefined): User {
  if (!user || !sees(ctx.actor, "user:read", userTarget(user))) throw notFound();
  return user;
}

/** `lockUser` by id, with further columns that are selected from `locked`. */
export async function lockUserWith<More>(
  ctx: Context,
  id: string,
  permission: OnAccount | undefined,
  more: Sql,
): Promise<FoundUser & More> {
  if (permission) await requireOn(ctx, permission, id);
  const [user] = await ctx.select<FoundUser & More>(sql`
    with locked as materialized (
      select ${raw(userColumns)} from users u where u.deleted_at is null and u.id = ${id} for no key update of u
    )
    select locked.*, memberships_now(locked.id) as memberships, ${more} from locked`);
  return visible(ctx, user);
}

/** Throws, and locks nothing, if the actor lacks a permission on a user. */
async function requireOn(ctx: Context, permission: OnAccount, ref: string): Promise<void> {
  // The cast is safe: the target has the values that any of these permissions read.
  if (!holdsOn(ctx.actor, permission, ref))
    authorize(ctx.actor, permission as "user:update", userTarget(await findUser(ctx, ref)));
}

/**
 * Reads the memberships of a locked user. They need a statement of their own: the one that waited for the lock read
 * other tables in a snapshot from before the wait.
 */
export const membershipsNow = (ctx: Context, id: string): Promise<Membership[]> => ctx.rows(membershipsOfUsers, [id]);

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

export const identified = ({ id, username }: UserRow) => auditedAs("user", id, username);

const usersByIds = statement<UserRow>(`select ${userColumns} from users u where u.id = any($1::uuid[])`);

/**
 * Batch read of users by id, for `ctx.load`, deleted users and system identities included. Checks no permission: the
 * object that has the id does.
 */
export async function usersById(ctx: Context, ids: readonly string[]): Promise<Array<UserRow | undefined>> {
  const users = new Map((await ctx.rows(usersByIds, ids)).map((user) => [user.id, user]));
  return ids.map((id) => users.get(id));
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

const membershipsOfUsers = statement<Membership & { userId: string }>(`
  select user_id as "userId", organization_id as "organizationId", roles
  from organization_members where user_id = any($1::uuid[]) order by created_at, organization_id`);

async function membershipsByUser(ctx: Context, ids: readonly string[]): Promise<Membership[][]> {
  return rowsByKey(await ctx.rows(membershipsOfUsers, ids), ids, ({ userId }) => userId);
}
