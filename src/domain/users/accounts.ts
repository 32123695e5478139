import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { foldedSql } from "../kernel/folding.js";
import { newId } from "../kernel/ids.js";
import { auditedAs, diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { badInput, conflict, onViolation, Problems, type Validation } from "../kernel/errors.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { lockMemberships } from "../groups/memberships.js";
import { maxOrganizationsPerUser, tooManyOrganizations } from "../organizations/organizations.js";
import { passwordProblem } from "../sign-in/passwords.js";
import { emailProblem, iconProblem, nameProblem, realNameProblem } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";
import { announce } from "./account-events.js";
import { authorizeOn, findUser, type FoundUser, identified, lockUser, type LoginType, type UserRow } from "./users.js";
import { requireAnotherOwner } from "./owners.js";

export interface CreateUser {
  email?: string | null;
  username?: string | null;
  name?: string | null;
  /** Default: `none` for service accounts, `password` for all others. */
  loginType?: LoginType | null;
  /** Required if `loginType` is `password`, otherwise not allowed. */
  password?: string | null;
  /** Default: the default organization. */
  organizationIds?: string[] | null;
  isServiceAccount?: boolean | null;
}

/** Whether another user has the email, and whether another user has the username. */
type Taken = Record<"email" | "username", boolean>;

/**
 * Common table expressions for a statement that writes the user `$1` with the email `$2` and the username `$3`: `taken`
 * has the columns of `Taken`, so that both conflicts are reported together; `free` has a row if there is no conflict.
 * Conflicts with concurrent transactions are left to the unique indexes.
 */
const taken = `
  taken as (
    select coalesce(bool_or(has_email), false) as email, coalesce(bool_or(has_username), false) as username
    from users u cross join lateral (
      select ${foldedSql("u.email")} = ${foldedSql("$2")} as has_email,
        ${foldedSql("u.username")} = ${foldedSql("$3")} as has_username
    ) same
    where u.deleted_at is null and u.id <> $1 and (has_email or has_username)
  ), free as (
    select from taken where not email and not username
  )`;

const insertUser = statement<Taken & { organizationIds: string[] }>(`
  with ${taken}, joined as (
    select id from organizations
    where deleted_at is null and case when $9::uuid[] is null then is_default else id = any($9) end
    order by id for share
  ), created as (
    insert into users
      (id, created_at, updated_at, email, username, name, login_type, password_hash, is_service_account, created_by)
    select $1, now(), now(), $2, $3, $4, $5, $6, $7, $8 from free
    returning id
  ), memberships as (
    insert into organization_members (organization_id, user_id, created_at)
    select joined.id, created.id, now() from joined, created
  )
  select email, username, array(select id from joined) as "organizationIds" from taken`);

/** Creates a user or a service account with memberships in organizations. Returns its id. */
export async function createUser(ctx: Context, input: CreateUser): Promise<string> {
  authorize(ctx.actor, "user:create");
  const isServiceAccount = input.isServiceAccount ?? false;
  const account = {
    email: input.email ?? "",
    username: input.username ?? "",
    name: input.name ?? "",
    loginType: input.loginType ?? (isServiceAccount ? "none" : "password"),
    isServiceAccount,
  };
  const problems = accountProblems(account);
  if (isServiceAccount && account.loginType !== "none")
    problems.add("loginType", "Service accounts cannot sign in: their login type is none.");
  problems.add("password", await firstPasswordProblem(input.password ?? undefined, account));
  if (input.organizationIds?.length === 0) problems.add("organizationIds", "Must name at least one organization.");
  problems.throwIfAny();
  if ((input.organizationIds?.length ?? 0) > maxOrganizationsPerUser) throw tooManyOrganizations();

  const id = newId();
  const hash = input.password ? await ctx.services.passwords.hash(input.password) : null;
  const { email, username, name, loginType } = account;
  const values = [
    id,
    email,
    username,
    name,
    loginType,
    hash,
    isServiceAccount,
    userIdOf(ctx.actor),
    input.organizationIds,
  ];
  const { organizationIds, ...found } = (await ctx.row(insertUser, ...values).catch(throwTaken))!;
  requireFree(found);
  requireAll(input.organizationIds ?? [], organizationIds);
  const diff = diffOf({}, { ...account, organizationIds, password: hash && "***" });
  ctx.audit({ action: "create", ...auditedAs("user", id, username), diff });
  await announce(ctx, "created", { id, username, name });
  return id;
}

async function firstPasswordProblem(password: string | undefined, account: UserNames & { loginType: LoginType }) {
  if (account.loginType === "password") return passwordProblem(password ?? "", account);
  return password === undefined ? undefined : hasNoPassword;
}

const hasNoPassword = "Only users who sign in with a password have one.";

function requireAll(wanted: string[], found: string[]): void {
  const problems = new Problems();
  for (const [index, id] of wanted.entries())
    if (!found.includes(id)) problems.add(`organizationIds[${index}]`, "Must be the id of an organization.");
  problems.throwIfAny();
}

type UserNames = Pick<UserRow, "email" | "username" | "name">;

/** New values of an account. Null and absent fields stay unchanged. */
export type AccountChange = { [Field in keyof UserNames | "avatarUrl"]?: string | null };

function accountProblems({ email, username, name, avatarUrl }: AccountChange): Problems {
  const problems = new Problems();
  if (email != null) problems.add("email", emailProblem(email));
  if (username != null) problems.add("username", nameProblem(username));
  if (name != null) problems.add("name", realNameProblem(name));
  if (avatarUrl != null) problems.add("avatarUrl", iconProblem(avatarUrl));
  return problems;
}

/** The faults of values that another user has. */
const takenFields: Record<keyof Taken, Validation> = {
  email: { field: "email", detail: "This email is in use." },
  username: { field: "username", detail: "This username is in use." },
};

/** Throws CONFLICT, with one fault for each value that another user has. */
function requireFree({ email, username }: Taken): void {
  if (email && username)
    throw conflict("This email and this username are in use.", [takenFields.email, takenFields.username]);
  if (email || username) throw conflictOver(email ? "email" : "username");
}

const conflictOver = (field: keyof Taken) => conflict(takenFields[field].detail, [takenFields[field]]);

/** Translates violations of the unique indexes, which concurrent transactions cause. */
const throwTaken = onViolation({
  users_email_unique: () => conflictOver("email"),
  users_username_unique: () => conflictOver("username"),
});

/** Changes the account of a user. Returns its id. */
export async function updateUser(
  ctx: Context,
  { user: ref, ...change }: AccountChange & { user: string },
): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  return changeAccount(ctx, user, change);
}

/** Changes the caller's own account, except the email. Returns its id. */
export async function updateProfile(ctx: Context, change: Omit<AccountChange, "email">): Promise<string> {
  const user = await lockUser(ctx, "me", "user:update_personal");
  authorizeOn(ctx, "user:update_personal", user);
  return changeAccount(ctx, user, change);
}

const updateAccount = statement<Taken>(`
  with ${taken}, changed as (
    update users set email = coalesce($2, users.email), username = coalesce($3, users.username),
      name = coalesce($4, name), avatar_url = coalesce($5, avatar_url), updated_at = now()
    from free where id = $1
  )
  select email, username from taken`);

/** Changes the account of a user that the caller has locked and was authorized on. Returns its id. */
export async function changeAccount(ctx: Context, user: FoundUser, change: AccountChange): Promise<string> {
  accountProblems(change).throwIfAny();
  const diff = diffOf<UserRow>(user, change);
  if (Object.keys(diff).length === 0) return user.id;
  const { email, username, name, avatarUrl } = change;
  requireFree((await ctx.row(updateAccount, user.id, email, username, name, avatarUrl).catch(throwTaken))!);
  ctx.audit({ action: "update", ...identified(user), diff });
  return user.id;
}

const markDeleted = statement(`
  with ended as (delete from api_keys where user_id = $1),
    memberships as (delete from organization_members where user_id = $1),
    links as (delete from user_links where user_id = $1),
    scim_links as (delete from scim_user_links where user_id = $1),
    passcodes as (delete from one_time_passcodes where user_id = $1),
    conversions as (delete from login_conversions where user_id = $1),
    secrets as (delete from user_secrets where user_id = $1),
    states as (delete from external_auth_states where user_id = $1),
    devices as (delete from external_auth_devices where user_id = $1),
    accounts as (update external_auth_links set revoke_at = now() where user_id = $1)
  update users set deleted_at = now(), updated_at = now(), password_hash = null where id = $1`);

/**
 * Deletes a user permanently, with its keys, memberships, identity links, secrets and linked accounts, whose tokens are
 * revoked in the background. The email and the username become available. Returns the user before the deletion.
 */
export async function deleteUser(ctx: Context, ref: string): Promise<FoundUser> {
  const user = await lockUser(ctx, ref, "user:delete");
  authorizeOn(ctx, "user:delete", user);
  if (user.id === userIdOf(ctx.actor)) throw conflict("You cannot delete yourself.");
  await requireAnotherOwner(ctx, user);

  await lockMemberships(ctx, { userId: user.id });
  await ctx.row(markDeleted, user.id);
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
