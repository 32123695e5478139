import { timingSafeEqual } from "node:crypto";
import { sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { Context } from "../kernel/context.js";
import { systemActor } from "../kernel/actor.js";
import { DomainError, forbidden, Problems } from "../kernel/errors.js";
import { accountWithId, auditedAccount, recordRejection } from "./sign-in-accounts.js";
import { rememberAddress } from "./login-failures.js";
import { transportOf } from "../notifications/methods.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import { after, now, foldedColumn } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { foldCase } from "../../runtime/text.js";
import {
  check,
  emailAddress,
  faultOf,
  type Input,
  inputOf,
  meant,
  nonEmpty,
  pasted,
  presented,
  required,
} from "../kernel/values.js";
import { chosenPassword, passwordProblem } from "./password-strength.js";
import { userHint } from "../tokens/hints.js";
import { forgetDevices } from "./remembered-devices.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const u = columnsOf("users", "u");
const oneTimePasscodes = columnsOf("oneTimePasscodes", "oneTimePasscodes");

/** The address of an account, which the API has as any text. */
const accountEmail = meant(emailAddress, { scalar: undefined });

export const RequestOneTimePasscode = inputOf({
  email: required(pasted(accountEmail), "The email of the account, in any letter case."),
});
export type RequestOneTimePasscode = Input<typeof RequestOneTimePasscode>;

export const ChangePasswordWithPasscode = inputOf({
  email: required(pasted(accountEmail), "The email of the account, in any letter case."),
  oneTimePasscode: required(pasted(nonEmpty(presented(64))), "The passcode from the latest email."),
  password: required(chosenPassword, "The new password: hard to guess, {limits}."),
});
export type ChangePasswordWithPasscode = Input<typeof ChangePasswordWithPasscode>;

/** Unambiguous capital letters and digits. A code of ten has 49 bits. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeLength = 10;

/** Maximum number of attempts per code, successful or not. */
const triesPerCode = 5;

/** Maximum number of codes per user and hour, and minimum time between two of them. */
const codesPerHour = 5;
const pause = minute;

/** The condition that the password of the account `u` can be reset by passcode. */
const mayReset = sql<SqlBool>`(u.status = 'active' and ${u.loginType} = 'password' and ${u.deletedAt} is null and not ${u.isSystem})`;

/**
 * Sends a passcode to the email of an account, if it exists. The lookup follows the response, so that neither the
 * response nor its timing discloses whether the account exists.
 */
export async function requestOneTimePasscode(ctx: Context, { email }: RequestOneTimePasscode): Promise<true> {
  requirePasswords(ctx);
  const problems = new Problems();
  problems.add("email", faultOf(emailAddress, email));
  problems.throwIfAny();
  const asSystem = new Context(ctx.services, systemActor, ctx.request, () => new AbortController());
  ctx.services.backgroundTasks.run("one-time passcode", () =>
    asSystem.transactional(() => sendPasscode(asSystem, email)),
  );
  return true;
}

/** Replaces the passcode of a user, within the limits, and sends it. */
async function sendPasscode(ctx: Context, email: string): Promise<void> {
  const code = randomText(codeLength, alphabet);
  const { passcodeLifetime: lifetime } = ctx.config;
  // Locks the user: a concurrent change of the account voids the code, or is seen by this statement.
  const user = await ctx.db
    .selectFrom("users as u")
    .where(foldedColumn("u.email"), "=", foldCase(email))
    .where(mayReset)
    .select(["u.id", "u.username"])
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!user || !(await storeCode(ctx, user.id, code))) return;
  ctx.audit({ ...auditedAccount(user), action: "create", resourceType: "one_time_passcode" });
  const sent = await notify(ctx, {
    template: accountNotifications.passcode,
    recipients: [user.id],
    targets: [],
    labels: { one_time_passcode: code },
    data: { minutes: Math.round(lifetime / 60_000) },
    lifetime,
    isSecret: true,
  });
  if (sent.length === 0) ctx.log.warn("A one-time passcode was requested, but no mail server is configured.");
}

/** Replaces the passcode of a locked user. Returns false if the user has had too many. */
async function storeCode({ db, config }: Context, userId: string, code: string): Promise<boolean> {
  const stored = { codeHash: hashSecret(code), expiresAt: after(config.passcodeLifetime) };
  const recentRequests = sql<string[]>`
    array(select at from unnest(${oneTimePasscodes.requestedAt}) at where at > now() - interval '1 hour')`;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("oneTimePasscodes")
    .values({ ...stored, userId, requestedAt: sql<string[]>`array[now()]` })
    .onConflict((former) =>
      former
        .column("userId")
        .doUpdateSet({ ...stored, attempts: 0, requestedAt: sql<string[]>`${recentRequests} || now()` })
        .where(sql<SqlBool>`${oneTimePasscodes.requestedAt}[cardinality(${oneTimePasscodes.requestedAt})]
          < ${after(-pause)} and cardinality(${recentRequests}) < ${sql.lit(codesPerHour)}`),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Changes a password by the passcode sent to the email of the account. Ends all sessions and tokens. */
export async function changePasswordWithPasscode(ctx: Context, input: ChangePasswordWithPasscode): Promise<true> {
  requirePasswords(ctx);
  const { email, oneTimePasscode: code, password } = input;
  const problems = new Problems();
  check(ChangePasswordWithPasscode, { email, oneTimePasscode: code }, problems);
  problems.add("password", password === "" ? "Is required." : await passwordProblem(password, { email }, "stranger"));
  problems.throwIfAny();

  const passcode = await tryCode(ctx, email, code);
  try {
    await spend(ctx, passcode, password);
  } catch (error) {
    // Only after domain errors: after others, the transaction may still lock the row.
    if (error instanceof DomainError) await giveTryBack(ctx, passcode);
    throw error;
  }
  await rememberAddress(ctx, passcode.id);
  return true;
}

/** Whether users can request passcodes: passwords are in use, and there is a way to deliver passcodes. */
export const sendsPasscodes = async (ctx: Context): Promise<boolean> =>
  ctx.config.passwordAuth && (await transportOf(ctx, accountNotifications.passcode)) !== undefined;

function requirePasswords({ config }: Context): void {
  if (!config.passwordAuth) throw forbidden("Password authentication is disabled.");
}

/**
 * Counts an attempt to use the passcode of a user, if there is one that can be tried. Postgres checks the condition again
 * after it waited for the row lock, so concurrent attempts cannot exceed the limit. The commit does not wait for the disk,
 * because the timing would disclose that there is a code; a crash of Postgres can lose the count.
 */
const countTry = (db: Db, email: string) =>
  db
    .with("unawaited", (before) =>
      before.selectNoFrom(sql<string>`set_config('synchronous_commit', 'off', true)`.as("off")),
    )
    .with("tried", (update) =>
      update
        .updateTable("oneTimePasscodes as p")
        .from("users as u")
        .whereRef("u.id", "=", "p.userId")
        .where(foldedColumn("u.email"), "=", foldCase(email))
        .where(mayReset)
        .where("p.codeHash", "is not", null)
        .where("p.attempts", "<", triesPerCode)
        .where("p.expiresAt", ">", now)
        .set((eb) => ({ attempts: eb("p.attempts", "+", 1) }))
        .returning(["u.id", "u.username", "p.codeHash"]),
    )
    .selectFrom("unawaited")
    .leftJoin("tried", (join) => join.onTrue())
    .select(["tried.id", "tried.username", "tried.codeHash"]);

/** The stored passcode of an attempt, and its user. */
interface Passcode {
  id: string;
  username: string;
  codeHash: Buffer;
}

const giveTryBack = ({ services: { database } }: Context, { id, codeHash }: Passcode) =>
  database.db
    .updateTable("oneTimePasscodes")
    .set((eb) => ({ attempts: eb("attempts", "-", 1) }))
    .where("userId", "=", id)
    .where("codeHash", "=", codeHash)
    .execute();

/**
 * Returns the passcode if the code is correct. Counts the attempt before the comparison and outside of the transaction
 * of the request, so that a rollback does not revert it.
 */
async function tryCode(ctx: Context, email: string, code: string): Promise<Passcode> {
  const { id, username, codeHash } = await countTry(ctx.services.database.db, email).executeTakeFirstOrThrow();
  if (id === null || username === null || codeHash === null) throw wrongCode();
  const tried = { id, username, codeHash };
  const given = hashSecret(code.toUpperCase());
  if (!timingSafeEqual(given, codeHash)) throw recordRejection(ctx, tried, wrongCode());
  return tried;
}

/** The same error for a wrong code and a wrong email. */
const wrongCode = () => new DomainError("BAD_USER_INPUT", "Incorrect email or one-time passcode.");

/** Changes the password and consumes the code. After an invalid password, the code stays valid. */
async function spend(ctx: Context, { id, codeHash }: Passcode, password: string): Promise<void> {
  const account = await accountWithId(ctx, id);
  if (!account) throw wrongCode();
  const { passwords } = ctx.services;
  const problems = new Problems();
  problems.add("password", await passwordProblem(password, account, "stranger"));
  if (problems.isEmpty && (await passwords.verify(account.passwordHash ?? undefined, password, "stranger")))
    problems.add("password", "Must differ from the current password.");
  problems.throwIfAny();

  const hash = await passwords.hash(password, "stranger");
  // A concurrent login either commits its session before the next statements, or fails because the password has changed.
  await ctx.db.selectFrom("users").where("id", "=", id).select("id").forNoKeyUpdate().execute();
  // Voids the code, too.
  const { numUpdatedRows } = await ctx.db
    .updateTable("users as u")
    .from("oneTimePasscodes as p")
    .where("u.id", "=", id)
    .whereRef("p.userId", "=", "u.id")
    .where("p.codeHash", "=", codeHash)
    .where("p.expiresAt", ">", now)
    .where("u.passwordHash", "is not distinct from", account.passwordHash)
    .where(mayReset)
    .set({ passwordHash: hash, mustChangePassword: false, updatedAt: now })
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw wrongCode();
  await ctx.db.deleteFrom("apiKeys").where("userId", "=", id).execute();
  await forgetDevices(ctx, id);
  await revokeGrantsOfUser(ctx, id, "password_reset");
  const diff = { password: { old: "***", new: "***" } };
  ctx.audit({ action: "update", actorId: id, ...auditedAccount(account), diff });
  ctx.publish(userHint(id));
}
