import { sql } from "kysely";
import type { Context } from "../kernel/context.js";
import { auditedAs } from "../kernel/audit.js";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn, now } from "../kernel/queries.js";
import { emailAddress, faultOf } from "../kernel/values.js";
import { usernameValue } from "../users/names.js";
import { newId } from "../kernel/ids.js";
import { randomText } from "../../runtime/random.js";
import { conflict, notFound, onViolation, Problems } from "../kernel/errors.js";
import { passwordProblem } from "../sign-in/password-strength.js";
import { forgetDevices } from "../sign-in/remembered-devices.js";
import { forgetFactors } from "../sign-in/second-factors.js";
import { endSessions } from "../tokens/sessions.js";
import { userHint } from "../tokens/hints.js";
import { releaseFormerEmail } from "../users/former-emails.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const organizations = columnsOf("organizations");

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

const nameConflict = () => conflict("A user of this email or username exists already.");
const throwTaken = onViolation({ users_email_unique: nameConflict, users_username_unique: nameConflict });

/** Creates a site owner and member of the default organization. For operators: checks no permission. */
export async function createAdministrator(ctx: Context, input: CreateAdministrator): Promise<Administrator> {
  const { email, username, password: given } = input;
  const problems = new Problems();
  problems.add("email", faultOf(emailAddress, email));
  problems.add("username", faultOf(usernameValue, username));
  if (given !== undefined) problems.add("password", await passwordProblem(given, input, "operator"));
  problems.throwIfAny();

  const id = newId();
  const password = given ?? randomText(generatedLength);
  const hash = await ctx.services.passwords.hash(password);
  await releaseFormerEmail(ctx, email);
  await ctx.db
    .insertInto("users")
    .values({
      id,
      email,
      username,
      loginType: "password",
      passwordHash: hash,
      siteRoles: ["owner"],
      createdAt: now,
      updatedAt: now,
    })
    .execute()
    .catch(throwTaken);
  await ctx.db
    .insertInto("organizationMembers")
    .columns(["organizationId", "userId", "createdAt"])
    .expression(sql`select id, ${id}::uuid, now() from organizations where ${organizations.isDefault}`)
    .execute();
  const diff = { email: { new: email }, username: { new: username }, siteRoles: { new: ["owner"] } };
  ctx.audit({ action: "create", ...auditedAs("user", id, username), diff });
  return given === undefined ? { email, password } : { email };
}

/** Locks the account of an email address. For operators: checks no permission. */
async function lockAccount({ db }: Context, email: string) {
  const user = await db
    .selectFrom("users")
    .select(["id", "email", "username", "name", "isServiceAccount"])
    .where(foldedColumn("email"), "=", foldCase(email))
    .where("deletedAt", "is", null)
    .where("isSystem", "=", false)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!user) throw notFound();
  return user;
}

/**
 * Removes the second factors of a user who has lost them, tells the user, and ends the user's sessions. For operators: checks
 * no permission. Returns whether there were any.
 */
export async function recoverFactors(ctx: Context, email: string): Promise<boolean> {
  const user = await lockAccount(ctx, email);
  if (!(await forgetFactors(ctx, user))) return false;
  await endSessions(ctx, user.id);
  return true;
}

/**
 * Restores the access of a user: activates the account, sets a new password, and makes password the login type. Ends
 * all sessions and tokens. For operators: checks no permission.
 */
export async function recoverAccess(ctx: Context, email: string): Promise<Administrator> {
  const user = await lockAccount(ctx, email);
  if (user.isServiceAccount) throw conflict("Service accounts have no password.");

  const password = randomText(generatedLength);
  const passwordHash = await ctx.services.passwords.hash(password);
  await ctx.db.deleteFrom("apiKeys").where("userId", "=", user.id).execute();
  await forgetDevices(ctx, user.id);
  await ctx.db.deleteFrom("userLinks").where("userId", "=", user.id).execute();
  await ctx.db
    .updateTable("users")
    .set({ passwordHash, mustChangePassword: false, loginType: "password", status: "active", updatedAt: now })
    .where("id", "=", user.id)
    .execute();
  const diff = { password: { old: "***", new: "***" } };
  ctx.audit({ action: "update", ...auditedAs("user", user.id, user.username), diff });
  ctx.publish(userHint(user.id));
  return { email: user.email, password };
}
