import type { Context } from "../kernel/context.js";
import { auditedAs } from "../audit/audit.js";
import { foldedSql } from "../kernel/folding.js";
import { newId } from "../kernel/ids.js";
import { statement } from "../kernel/database.js";
import { conflict, notFound, onViolation, Problems } from "../kernel/errors.js";
import { passwordProblem } from "../sign-in/passwords.js";
import { emailProblem, nameProblem } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";
import { randomText } from "../tokens/text.js";

/** The credentials of an administrator. */
export interface Administrator {
  email: string;
  /** Present only if generated; to be shown once and never logged. */
  password?: string;
}

export interface CreateAdministrator {
  email: string;
  username: string;
  /** Default: a generated one. */
  password?: string;
}

/** Characters of generated passwords: 142 bits of entropy, enough for every password rule. */
const generatedLength = 24;

const insertAdministrator = statement(`
  with created as (
    insert into users (id, created_at, updated_at, email, username, login_type, password_hash, site_roles)
    values ($1, now(), now(), $2, $3, 'password', $4, '{owner}')
    returning id
  )
  insert into organization_members (organization_id, user_id, created_at)
  select o.id, created.id, now() from organizations o, created where o.is_default`);

const taken = () => conflict("A user of this email or username exists already.");
const throwTaken = onViolation({ users_email_unique: taken, users_username_unique: taken });

/** Creates a site owner and member of the default organization. For operators: checks no permission. */
export async function createAdministrator(ctx: Context, input: CreateAdministrator): Promise<Administrator> {
  const { email, username, password: given } = input;
  const problems = new Problems();
  problems.add("email", emailProblem(email));
  problems.add("username", nameProblem(username));
  if (given !== undefined) problems.add("password", await passwordProblem(given, input));
  problems.throwIfAny();

  const id = newId();
  const password = given ?? randomText(generatedLength);
  const hash = await ctx.services.passwords.hash(password);
  await ctx.rows(insertAdministrator, id, email, username, hash).catch(throwTaken);
  const diff = { email: { new: email }, username: { new: username }, siteRoles: { new: ["owner"] } };
  ctx.audit({ action: "create", ...auditedAs("user", id, username), diff });
  return shown(email, given, password);
}

const userByEmail = statement<{
  id: string;
  email: string;
  username: string;
  name: string;
  isServiceAccount: boolean;
}>(`
  select id, email, username, name, is_service_account as "isServiceAccount" from users
  where ${foldedSql("email")} = ${foldedSql("$1")} and deleted_at is null and not is_system for no key update`);

const giveAccess = statement(`
  with ended as (delete from api_keys where user_id = $1), unlinked as (delete from user_links where user_id = $1)
  update users set password_hash = $2, login_type = 'password', status = 'active', updated_at = now() where id = $1`);

/**
 * Restores the access of a user: activates the account, sets a new password, and makes password the login type. Ends
 * all sessions and tokens. For operators: checks no permission.
 */
export async function recoverAccess(ctx: Context, email: string, given?: string): Promise<Administrator> {
  const user = await ctx.row(userByEmail, email);
  if (!user) throw notFound();
  if (user.isServiceAccount) throw conflict("Service accounts have no password.");
  const problems = new Problems();
  if (given !== undefined) problems.add("password", await passwordProblem(given, user));
  problems.throwIfAny();

  const password = given ?? randomText(generatedLength);
  await ctx.rows(giveAccess, user.id, await ctx.services.passwords.hash(password));
  const diff = { password: { old: "***", new: "***" } };
  ctx.audit({ action: "update", ...auditedAs("user", user.id, user.username), diff });
  ctx.publish(userHint(user.id));
  return shown(user.email, given, password);
}

const shown = (email: string, given: string | undefined, password: string): Administrator =>
  given === undefined ? { email, password } : { email };
