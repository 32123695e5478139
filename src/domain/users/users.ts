import type { Context } from "../kernel/context.js";
import type { Actor } from "../kernel/actor.js";
import {
  type Action,
  authorize,
  may,
  type OrganizationRole,
  reach,
  sees,
  type SiteRole,
} from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { forbidden, notFound } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import { isUuid } from "../kernel/text.js";

export const UserStatus = { ACTIVE: "active", SUSPENDED: "suspended" } as const;
export type UserStatus = (typeof UserStatus)[keyof typeof UserStatus];

/** How a user signs in: with a password, through an identity provider, or not at all. */
export const LoginType = { PASSWORD: "password", OIDC: "oidc", GITHUB: "github", NONE: "none" } as const;
export type LoginType = (typeof LoginType)[keyof typeof LoginType];

/** That a user belongs to an organisation, with the roles held there. */
export interface Membership {
  organizationId: string;
  roles: OrganizationRole[];
}

export interface UserRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  email: string;
  username: string;
  name: string;
  avatarUrl: string;
  status: UserStatus;
  loginType: LoginType;
  siteRoles: SiteRole[];
  isServiceAccount: boolean;
  /** An identity of the system itself: no sign-in, no changes, not in lists or counts. */
  isSystem: boolean;
  lastSeenAt: string | null;
  /** Read along where one user is read; lists load them when they are asked for. */
  memberships?: Membership[];
}

/** The columns of a `UserRow`, for statements that call the table `u`. */
export const userColumns = `u.id, u.created_at as "createdAt", u.updated_at as "updatedAt", u.email, u.username, u.name,
  u.avatar_url as "avatarUrl", u.status, u.login_type as "loginType", u.site_roles as "siteRoles",
  u.is_service_account as "isServiceAccount", u.is_system as "isSystem", u.last_seen_at as "lastSeenAt"`;

/** One user, with the organisations that decide who may read it. */
export type FoundUser = UserRow & { memberships: Membership[] };

const select = (condition: string, lock: string) =>
  statement<FoundUser>(`
    select ${userColumns}, array(
      select json_build_object('organizationId', m.organization_id, 'roles', m.roles)
      from organization_members m where m.user_id = u.id order by m.created_at, m.organization_id
    ) as memberships
    from users u where u.deleted_at is null and ${condition} ${lock}`);

const finders = (lock: string) => ({
  byId: select("u.id = $1", lock),
  byName: select(`${foldedSql("u.username")} = ${foldedSql("$1")}`, lock),
});

const reading = finders("");
// Not `for update`: rows that refer to the user may come and go meanwhile.
const locking = finders("for no key update of u");

/** The user that `ref` means to the caller: an id, a username in any letter case, or `me`. Throws if it is not readable. */
export const findUser = (ctx: Context, ref: string): Promise<FoundUser> => find(ctx, ref, reading);

/**
 * The same for a caller who has a permission on the user, and no other transaction changes the user, its roles or its
 * memberships until this one ends: all that change them take this lock first. Throws for all other callers, and locks
 * nothing for them. The permission is to be checked again on what was locked. None: the caller was authorized for
 * something that is no part of the user.
 */
export async function lockUser(ctx: Context, ref: string, permission?: OnAccount): Promise<FoundUser> {
  const { actor } = ctx;
  // An account has all that any of these permissions read.
  if (permission && !holdsOn(actor, permission, ref))
    authorize(actor, permission as "user:update", userTarget(await findUser(ctx, ref)));
  const user = await find(ctx, ref, locking);
  // The caller's own account is changed on no condition of its roles.
  return user.id === actor.userId ? user : { ...user, memberships: await membershipsNow(ctx, user.id) };
}

/** Permissions that are decided by an account alone. */
type OnAccount =
  | `user:${Action<"user">}`
  | `user_secret:${Action<"user_secret">}`
  | "api_key:create"
  | "assign_role:assign";

/** Whether the actor holds the permission on that user whatever is stored about the user. */
function holdsOn(actor: Actor, permission: OnAccount, ref: string): boolean {
  const { everywhere, own } = reach(actor, permission);
  return everywhere || (own && (ref === "me" || ref === actor.userId));
}

async function find(ctx: Context, ref: string, { byId, byName }: typeof reading): Promise<FoundUser> {
  const idOrName = ref === "me" ? ctx.actor.userId : ref;
  if (idOrName === undefined) throw notFound();
  const user = await ctx.row(isUuid(idOrName) ? byId : byName, idOrName);
  if (!user || !sees(ctx.actor, "user:read", userTarget(user))) throw notFound();
  return user;
}

/**
 * The memberships of a user who is locked. The statement that took the lock may have waited for it, and then it read
 * other tables as they were before.
 */
export const membershipsNow = (ctx: Context, id: string): Promise<Membership[]> => ctx.rows(membershipsOfUsers, [id]);

/** What the policy asks about a user, and about what belongs to a user. */
export const userTarget = ({ id, siteRoles, isServiceAccount, memberships }: FoundUser) => ({
  ownerId: id,
  siteRoles,
  isServiceAccount,
  memberships,
});

/** Refuses a change by whoever lacks the permission on the user, and by everybody where it is the system itself. */
export function authorizeOn(ctx: Context, permission: `user:${Action<"user">}`, user: FoundUser): void {
  authorize(ctx.actor, permission, userTarget(user));
  refuseSystemIdentity(user);
}

export function refuseSystemIdentity({ isSystem }: UserRow): void {
  if (isSystem) throw forbidden("Identities of the system cannot be changed.");
}

/** What the audit log calls a user. */
export const identified = ({ id, username }: UserRow) => ({
  resourceType: "user",
  resourceId: id,
  resourceLabel: username,
});

const usersByIds = statement<UserRow>(`select ${userColumns} from users u where u.id = any($1::uuid[])`);

/**
 * Users by id, for `ctx.load`: deleted ones and system identities too, since records refer to them. Does not ask who
 * reads: what leads to the id decides.
 */
export async function usersById(ctx: Context, ids: readonly string[]): Promise<Array<UserRow | undefined>> {
  const users = new Map((await ctx.rows(usersByIds, ids)).map((user) => [user.id, user]));
  return ids.map((id) => users.get(id));
}

/** The whole account behind a user that a record refers to, if the caller may read it. */
export async function readableAccount(ctx: Context, user: UserRow): Promise<UserRow | null> {
  const memberships = await membershipsOf(ctx, user);
  return may(ctx.actor, "user:read", userTarget({ ...user, memberships })) ? user : null;
}

/** The memberships of a user whom the caller may read, oldest first. */
export const membershipsOf = async (ctx: Context, user: UserRow): Promise<Membership[]> =>
  user.memberships ?? ctx.load(membershipsByUser, user.id);

/** The ids of the organisations of a user whom the caller may read. */
export const organizationIdsOf = async (ctx: Context, user: UserRow): Promise<string[]> =>
  (await membershipsOf(ctx, user)).map(({ organizationId }) => organizationId);

const membershipsOfUsers = statement<Membership & { userId: string }>(`
  select user_id as "userId", organization_id as "organizationId", roles
  from organization_members where user_id = any($1::uuid[]) order by created_at, organization_id`);

async function membershipsByUser(ctx: Context, ids: readonly string[]): Promise<Membership[][]> {
  const memberships = Map.groupBy(await ctx.rows(membershipsOfUsers, ids), ({ userId }) => userId);
  return ids.map((id) => memberships.get(id) ?? []);
}
