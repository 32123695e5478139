import { sql, type SqlBool } from "kysely";
import { User } from "../../entities/users.js";
import { requireProof } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, onViolation, Problems, type Validation } from "../kernel/errors.js";
import { changesOf, isEmpty } from "../kernel/changed-fields.js";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn, now } from "../kernel/queries.js";
import {
  check,
  flag,
  icon,
  inputOf,
  type Input,
  meant,
  optional,
  pasted,
  reference,
  required,
  secret,
} from "../kernel/values.js";
import { newEmail, realName, usernameValue } from "./names.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { lockMemberships } from "../groups/memberships.js";
import { hasUserName, isUserNameOfAnother } from "../scim/user-names.js";
import { passwordProblem } from "../sign-in/password-strength.js";
import { forgetDevices } from "../sign-in/remembered-devices.js";
import { userHint } from "../tokens/hints.js";
import { announce } from "./account-events.js";
import { releaseFormerEmail } from "./former-emails.js";
import { authorizeOn, findUser, type FoundUser, auditedUser, lockUser, type UserRow } from "./users.js";
import { requireNoWorkspaces } from "./owned-workspaces.js";
import { requireAnotherOwner } from "./user-roles.js";

/** An avatar, which the API has as a URL. */
const avatar = meant(icon, { scalar: "URL" });

export const UpdateUser = inputOf({
  user: required(reference, "The user: ID, username, or `me`."),
  email: optional(pasted(newEmail), "New email address."),
  username: optional(usernameValue, "New username."),
  name: optional(realName, "New real name, {limits}."),
  avatarUrl: optional(avatar, "New URL of the avatar; empty for none."),
});
export type UpdateUser = Input<typeof UpdateUser>;

/** New values of an account. Null and absent fields stay unchanged. */
export type AccountChange = Omit<UpdateUser, "user">;

/** The fault of a password of a user who signs in otherwise. */
export const hasNoPassword = "Only users who sign in with a password have one.";

/** The faults of values of an account. */
export function accountProblems(change: AccountChange): Problems {
  const problems = new Problems();
  check(UpdateUser, change, problems);
  return problems;
}

/** Changes the account of a user. Returns its id. */
export async function updateUser(ctx: Context, { user: ref, ...change }: UpdateUser): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  // By the email, the user signs in: with a passcode for another password, or through a provider.
  if (change.email != null && change.email !== user.email) requireProof(ctx.actor);
  await changeAccount(ctx, user, change);
  return user.id;
}

export const UpdateProfile = inputOf({
  name: optional(realName, "New real name, {limits}."),
  avatarUrl: optional(avatar, "New URL of the avatar; empty for none."),
  username: optional(usernameValue, "New username."),
});
export type UpdateProfile = Input<typeof UpdateProfile>;

/** Changes the caller's own account, except the email. Returns its id. */
export async function updateProfile(ctx: Context, change: UpdateProfile): Promise<string> {
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
  const changes = changesOf(user, change);
  accountProblems(changes).throwIfAny();
  if (isEmpty(changes)) return false;
  await requireFree(ctx, changes, user.id);
  const more = changes.email === undefined ? {} : { formerEmail: null };
  ctx.em.assign(await ctx.em.findOneOrFail(User, user.id), { ...changes, ...more });
  await ctx.em.flush().catch(throwTaken);
  return true;
}

/** The tables of what others share with a user. */
const sharedTables = ["templateAclEntries", "workspaceAclEntries"] as const;

/** The tables of what is only for the person behind an account: how it signs in, its secrets, and its linked accounts. */
const personalTables = [
  "apiKeys",
  "userLinks",
  "claimedGifts",
  "oneTimePasscodes",
  "loginConversions",
  "authenticators",
  "recoveryCodes",
  "passkeys",
  "passkeyChallenges",
  "rememberedDevices",
  "userSecrets",
  "externalAuthStates",
  "externalAuthDevices",
] as const;

/**
 * The tables of what belongs to a user. Deleted users keep their row, so no foreign key deletes these; the inbox and the
 * preferences of notifications stay.
 */
const ownTables = [
  ...personalTables,
  ...sharedTables,
  "organizationMembers",
  "scimUserLinks",
  "userQuietHours",
] as const;

/** Ends all that others share with a locked user. */
export async function endShares(ctx: Context, userId: string): Promise<void> {
  for (const table of sharedTables) await ctx.db.deleteFrom(table).where("userId", "=", userId).execute();
  ctx.publish(userHint(userId));
}

/**
 * Removes from the account of a locked user what is only for the person behind it, for another one: how it signs in,
 * grants of applications, secrets, and linked accounts, whose tokens are revoked in the background.
 */
export async function forgetPerson(ctx: Context, user: Pick<UserRow, "id" | "username">): Promise<void> {
  await removePersonal(ctx, user.id, personalTables);
  await ctx.db
    .updateTable("users")
    .set({ passwordHash: null, mustChangePassword: false, updatedAt: now })
    .where("id", "=", user.id)
    .execute();
  await forgetNotifications(ctx, user.id);
  // Offered to the former person, and where that one signed in from.
  await ctx.db.deleteFrom("workspaceTransfers").where("receiverId", "=", user.id).execute();
  await ctx.db.deleteFrom("loginAddresses").where("userId", "=", user.id).execute();
  await revokeGrantsOfUser(ctx, user.id, "user_suspended");
  const gone = { old: "***" };
  ctx.audit({ action: "update", ...auditedUser(user), diff: { password: gone, secrets: gone, identities: gone } });
  ctx.publish(userHint(user.id));
}

/**
 * Removes what a user was notified of, what the user chose about it, and the messages that wait for their delivery, or could
 * be sent again by an administrator: they would reach the next person by the email.
 */
async function forgetNotifications({ db }: Context, userId: string): Promise<void> {
  await db.deleteFrom("inbox").where("userId", "=", userId).execute();
  await db.updateTable("inboxCursors").set({ unreadCount: 0 }).where("userId", "=", userId).execute();
  await db.deleteFrom("notificationPreferences").where("userId", "=", userId).execute();
  const content = { payload: null, keyId: null, secretNonce: null, secretCiphertext: null };
  await db
    .updateTable("notificationMessages")
    .set({ state: "discarded", reason: "The account went to another person.", leaseToken: null, ...content })
    .set({ finishedAt: now })
    .where("userId", "=", userId)
    .where("method", "<>", "inbox")
    .where("state", "in", ["pending", "leased", "temporary_failure", "permanent_failure"])
    .execute();
}

async function removePersonal(ctx: Context, userId: string, tables: typeof ownTables | typeof personalTables) {
  for (const table of tables) await ctx.db.deleteFrom(table).where("userId", "=", userId).execute();
  await ctx.db.updateTable("externalAuthLinks").set({ revokeAt: now }).where("userId", "=", userId).execute();
}

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
  await requireNoWorkspaces(ctx, user.id);
  await removePersonal(ctx, user.id, ownTables);
  const deleted = { deletedAt: now, updatedAt: now, passwordHash: null };
  await ctx.db.updateTable("users").set(deleted).where("id", "=", user.id).execute();
  await revokeGrantsOfUser(ctx, user.id, "user_deleted");
  ctx.audit({ action: "delete", ...auditedUser(user) });
  ctx.publish(userHint(user.id));
  await announce(ctx, "deleted", user);
  return user;
}

/** The input of mutations whose only argument is a user. */
export const NamedUser = inputOf({ user: required(reference, "The user: ID or username.") });
export type NamedUser = Input<typeof NamedUser>;

export const ResetUserPassword = inputOf({
  user: required(reference, "The user: ID, username, or `me`."),
  password: required(secret, "The new password; weak passwords are rejected."),
  mustChangePassword: optional(
    flag,
    "Whether the user can sign in with it, but do nothing else, until it was changed. Default: false.",
  ),
});
export type ResetUserPassword = Input<typeof ResetUserPassword>;

/** Replaces the password of a user and ends all of its sessions and tokens. Returns the id. */
export async function resetUserPassword(ctx: Context, input: ResetUserPassword): Promise<string> {
  const { user: ref, password } = input;
  const mustChangePassword = input.mustChangePassword ?? false;
  const hash = await newPasswordHash(ctx.afresh(), ref, password);
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  requireProof(ctx.actor);
  if (user.loginType !== "password") throw badInput([{ field: "password", detail: hasNoPassword }]);

  // By Kysely, whose statements have no values in their text: Postgres may log the text.
  const changes = { passwordHash: hash, mustChangePassword, updatedAt: now };
  await ctx.db.updateTable("users").set(changes).where("id", "=", user.id).execute();
  await ctx.db.deleteFrom("apiKeys").where("userId", "=", user.id).execute();
  await forgetDevices(ctx, user.id);
  await revokeGrantsOfUser(ctx, user.id, "password_reset");
  const diff = {
    password: { old: "***", new: "***" },
    ...(mustChangePassword && { mustChangePassword: { new: true } }),
  };
  ctx.audit({ action: "update", ...auditedUser(user), diff });
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

/** The faults of values that another user has. */
const takenFields = {
  email: { field: "email", detail: "This email is in use." },
  username: { field: "username", detail: "This username is in use." },
} satisfies Record<string, Validation>;

const conflictOver = (field: keyof typeof takenFields) => conflict(takenFields[field].detail, [takenFields[field]]);

const has = (column: string, value: string | null | undefined) =>
  value == null ? sql<SqlBool>`false` : sql<SqlBool>`${foldedColumn(column)} = ${foldCase(value)}`;

/**
 * Throws CONFLICT if another user than `id` has the email or the username, or is known by it to identity providers, with
 * one fault for each. Takes the email from a deprovisioned user. Conflicts with concurrent transactions are left to the
 * unique indexes.
 */
export async function requireFree(
  ctx: Context,
  { email, username }: Pick<AccountChange, "email" | "username">,
  id: string | null = null,
): Promise<void> {
  if (email == null && username == null) return;
  if (email != null) await releaseFormerEmail(ctx, email, id);
  const hasEmail = has("u.email", email);
  const hasUsername = has("u.username", username);
  const others = await ctx.db
    .selectFrom("users as u")
    .select([hasEmail.as("hasEmail"), hasUsername.as("hasUsername")])
    .where("u.deletedAt", "is", null)
    .where((eb) => eb.or([hasEmail, hasUsername]))
    .where("u.id", "is distinct from", id)
    .execute();
  const isEmailTaken = others.some((other) => other.hasEmail);
  const isUsernameTaken =
    others.some((other) => other.hasUsername) || (username != null && (await isKnownAs(ctx, username, id)));
  if (isEmailTaken && isUsernameTaken)
    throw conflict("This email and this username are in use.", [takenFields.email, takenFields.username]);
  if (isEmailTaken || isUsernameTaken) throw conflictOver(isEmailTaken ? "email" : "username");
}

/** Whether identity providers know another user by the name by which they would know the user `id`. */
export async function isKnownAs(ctx: Context, username: string, id: string | null): Promise<boolean> {
  const isNamed = sql<SqlBool>`exists(select from users u where u.id = ${id}::uuid and ${hasUserName})`;
  const { isKnown } = await ctx.db
    .selectNoFrom(sql<boolean>`${isUserNameOfAnother(username, id)} and not ${isNamed}`.as("isKnown"))
    .executeTakeFirstOrThrow();
  return isKnown;
}

/** Translates violations of the unique indexes, which concurrent transactions cause. */
export const throwTaken = onViolation({
  users_email_unique: () => conflictOver("email"),
  users_username_unique: () => conflictOver("username"),
});
