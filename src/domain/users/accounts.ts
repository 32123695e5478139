import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { diffOf } from "../audit/audit.js";
import { statement } from "../kernel/database.js";
import { badInput, conflict, Problems } from "../kernel/errors.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { lockMemberships } from "../groups/memberships.js";
import { passwordProblem } from "../sign-in/passwords.js";
import { type Sql, sql } from "../kernel/sql.js";
import { now } from "../kernel/times.js";
import { emailProblem, iconProblem, nameProblem, realNameProblem } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";
import { announce } from "./account-events.js";
import { authorizeOn, findUser, type FoundUser, identified, lockUser, type UserRow } from "./users.js";
import { requireAnotherOwner } from "./roles.js";
import { type AccountChange, requireFree, throwTaken } from "./writes.js";

/** The fault of a password of a user who signs in otherwise. */
export const hasNoPassword = "Only users who sign in with a password have one.";

/** The faults of values of an account. */
export function accountProblems({ email, username, name, avatarUrl }: AccountChange): Problems {
  const problems = new Problems();
  if (email != null) problems.add("email", emailProblem(email));
  if (username != null) problems.add("username", nameProblem(username));
  if (name != null) problems.add("name", realNameProblem(name));
  if (avatarUrl != null) problems.add("avatarUrl", iconProblem(avatarUrl));
  return problems;
}

/** Changes the account of a user. Returns its id. */
export async function updateUser(
  ctx: Context,
  { user: ref, ...change }: AccountChange & { user: string },
): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  await changeAccount(ctx, user, change);
  return user.id;
}

/** Changes the caller's own account, except the email. Returns its id. */
export async function updateProfile(ctx: Context, change: Omit<AccountChange, "email">): Promise<string> {
  const user = await lockUser(ctx, "me", "user:update_personal");
  authorizeOn(ctx, "user:update_personal", user);
  await changeAccount(ctx, user, change);
  return user.id;
}

/**
 * Changes the account of a user that the caller has locked and was authorized on. Throws BAD_USER_INPUT for values that are
 * not allowed, and CONFLICT for those of other users. Returns whether anything was changed.
 */
export async function changeAccount(ctx: Context, user: UserRow, change: AccountChange): Promise<boolean> {
  accountProblems(change).throwIfAny();
  const diff = diffOf<UserRow>(user, change);
  const fields = Object.keys(diff) as Array<keyof AccountChange>;
  if (fields.length === 0) return false;
  const values = Object.fromEntries(fields.map((field) => [field, change[field]!]));
  await requireFree(ctx, values, user.id);
  await ctx.db
    .updateTable("users")
    .set({ ...values, updatedAt: now })
    .where("id", "=", user.id)
    .execute()
    .catch(throwTaken);
  ctx.audit({ action: "update", ...identified(user), diff });
  return true;
}

const markDeleted = (id: string): Sql => sql`
  with ended as (delete from api_keys where user_id = ${id}),
    memberships as (delete from organization_members where user_id = ${id}),
    links as (delete from user_links where user_id = ${id}),
    scim_links as (delete from scim_user_links where user_id = ${id}),
    passcodes as (delete from one_time_passcodes where user_id = ${id}),
    conversions as (delete from login_conversions where user_id = ${id}),
    secrets as (delete from user_secrets where user_id = ${id}),
    template_entries as (delete from template_acl_entries where user_id = ${id}),
    workspace_entries as (delete from workspace_acl_entries where user_id = ${id}),
    states as (delete from external_auth_states where user_id = ${id}),
    devices as (delete from external_auth_devices where user_id = ${id}),
    accounts as (update external_auth_links set revoke_at = now() where user_id = ${id}),
    written as (update users set deleted_at = now(), updated_at = now(), password_hash = null where id = ${id})
  select exists (select from workspaces where owner_id = ${id} and deleted_at is null) as "ownsWorkspaces"`;

/**
 * Deletes a user permanently, with its keys, memberships, entries of access lists, identity links, secrets and linked
 * accounts, whose tokens are revoked in the background. The email and the username become available. Throws CONFLICT for owners of
 * workspaces. Returns the user before the deletion.
 */
export async function deleteUser(ctx: Context, ref: string): Promise<FoundUser> {
  const user = await lockUser(ctx, ref, "user:delete");
  authorizeOn(ctx, "user:delete", user);
  if (user.id === userIdOf(ctx.actor)) throw conflict("You cannot delete yourself.");
  await requireAnotherOwner(ctx, user);

  await lockMemberships(ctx, { userId: user.id });
  const [row] = await ctx.select<{ ownsWorkspaces: boolean }>(markDeleted(user.id));
  if (row!.ownsWorkspaces) throw conflict("The user owns workspaces. Delete them first.");
  await revokeGrantsOfUser(ctx, user.id, "user_deleted");
  ctx.audit({ action: "delete", ...identified(user) });
  ctx.publish(userHint(user.id));
  await announce(ctx, "deleted", user);
  return user;
}

const replacePassword = statement(`
  with ended as (delete from api_keys where user_id = $1)
  update users set password_hash = $2, updated_at = now() where id = $1`);

/** Replaces the password of a user and ends all of its sessions and tokens. Returns the id. */
export async function resetUserPassword(
  ctx: Context,
  { user: ref, password }: { user: string; password?: string | null },
): Promise<string> {
  const hash = await newPasswordHash(ctx.afresh(), ref, password ?? "");
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  if (user.loginType !== "password") throw badInput([{ field: "password", detail: hasNoPassword }]);

  await ctx.row(replacePassword, user.id, hash);
  await revokeGrantsOfUser(ctx, user.id, "password_reset");
  ctx.audit({ action: "update", ...identified(user), diff: { password: { old: "***", new: "***" } } });
  ctx.publish(userHint(user.id));
  return user.id;
}

/**
 * Checks and hashes a new password of a user whom the caller may update. Takes a context without a transaction, so that
 * no connection and no lock on the user is held while passwords are queued for hashing.
 */
async function newPasswordHash(ctx: Context, ref: string, password: string): Promise<string> {
  const user = await findUser(ctx, ref);
  authorizeOn(ctx, "user:update", user);
  const problems = new Problems();
  problems.add("password", await passwordProblem(password, user));
  problems.throwIfAny();
  return ctx.services.passwords.hash(password);
}
