import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorize, ownAccount } from "../authorization/authorization.js";
import { badInput, conflict, DomainError, forbidden, notFound, Problems } from "../kernel/errors.js";
import {
  type Account,
  accountWithEmail,
  accountWithId,
  givenPasswordProblem,
  auditedAccount,
  isUnchanged,
  notYourPassword,
  recordRejection,
  verify,
  wrongPassword,
} from "./sign-in-accounts.js";
import { now } from "../kernel/queries.js";
import { bytes, check, type Input, inputOf, nonEmpty, optional, pasted, required } from "../kernel/values.js";
import { authenticatorOf, oneTimeCode, type RightCode, rightCodeOf, spendCode } from "./one-time-codes.js";
import { countSignIn } from "./counted-sign-ins.js";
import { limitFailures, rememberAddress } from "./login-failures.js";
import { chosenPassword, passwordProblem, givenPassword } from "./password-strength.js";
import { tellUser } from "./second-factors.js";
import { endSessions, issueSession } from "../tokens/sessions.js";
import { longestEmail } from "../../entities/lengths.js";

export const Login = inputOf({
  email: required(pasted(nonEmpty(bytes(1, longestEmail))), "The email of the account, in any letter case."),
  password: required(givenPassword, "The password."),
  oneTimeCode: optional(
    oneTimeCode,
    "A code of the account's authenticator, or a recovery code. Required if the account has a second factor, which a failure says after the right password only.",
  ),
});
export type Login = Input<typeof Login>;

export const ChangePassword = inputOf({
  currentPassword: required(givenPassword, "The current password."),
  newPassword: required(chosenPassword, "Hard to guess, {limits}."),
});
export type ChangePassword = Input<typeof ChangePassword>;

/** A user with a new session. */
interface NewSession {
  userId: string;
  sessionToken: string;
}

/** Signs in a user by email and password. An unknown email is indistinguishable from a wrong password. */
export const login = (ctx: Context, given: Login): Promise<NewSession> =>
  countSignIn(ctx, "password", () => signIn(ctx, given));

async function signIn(ctx: Context, { email, password, oneTimeCode: given }: Login): Promise<NewSession> {
  if (!ctx.config.passwordAuth) throw forbidden("Password authentication is disabled.");
  const problems = new Problems();
  check(Login, { email, oneTimeCode: given }, problems);
  problems.add("password", givenPasswordProblem(password));
  problems.throwIfAny();

  const found = await accountWithEmail(ctx, email);
  const account = await limitFailures(ctx, email, found?.id, () => verify(ctx, found, password, { queue: "stranger" }));
  if (account.loginType !== "password") {
    throw recordRejection(
      ctx,
      account,
      forbidden("Incorrect login type.", { detail: `Sign in by ${account.loginType}.` }),
    );
  }
  if (account.status === "suspended") {
    throw recordRejection(ctx, account, new DomainError("UNAUTHENTICATED", "Your account is suspended."));
  }
  // A missing code is no attempt to guess one.
  const wrong = () => recordRejection(ctx, account, codeWrong());
  const code = await rightCodeOf(ctx, account.id, given, { missing: codeRequired, wrong });
  const hash = await currentHash(ctx, account, password);
  // Checks the account again, which may have been changed or suspended since its verification.
  const { numUpdatedRows } = await ctx.db
    .updateTable("users")
    .set({ passwordHash: hash, lastSeenAt: now })
    .where(isUnchanged(account))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw recordRejection(ctx, account, wrongPassword());
  await useCode(ctx, account, code);
  const sessionToken = await issueSession(ctx, account.id);
  await rememberAddress(ctx, account.id);
  ctx.audit({ action: "login", actorId: account.id, ...auditedAccount(account) });
  return { userId: account.id, sessionToken };
}

/**
 * Spends the code of a sign-in. Its user is locked: without a code, the account has got no authenticator since it was looked
 * for.
 */
async function useCode(ctx: Context, account: Account, code: RightCode | undefined): Promise<void> {
  if (!code) {
    const isAsked = ctx.config.secondFactors !== "off" && (await authenticatorOf(ctx.db, account.id)) !== undefined;
    if (isAsked) throw codeRequired();
    return;
  }
  if (!(await spendCode(ctx, account.id, code))) throw recordRejection(ctx, account, codeWrong());
  if ("recoveryHash" in code) await tellUser(ctx, account, "recoveryCodeUsed");
}

/** The reason of a sign-in that was rejected for its code, for programs. */
export const codeReason = "one_time_code";

const codeRequired = () =>
  new DomainError("UNAUTHENTICATED", "A one-time code is required.", {
    detail: "The account has an authenticator. Send its code, or a recovery code, as well.",
    reason: codeReason,
    validations: [{ field: "oneTimeCode", detail: "Is required." }],
  });

const codeWrong = () =>
  new DomainError("UNAUTHENTICATED", "Incorrect one-time code.", {
    reason: codeReason,
    validations: [{ field: "oneTimeCode", detail: "Is wrong, or was used before. Wait for the next code." }],
  });

/** Changes the password of the caller and ends its other sessions. Returns the id of the user. */
export async function changePassword(ctx: Context, { currentPassword, newPassword }: ChangePassword): Promise<string> {
  const actor = requireUser(ctx.actor);
  const account = await accountWithId(ctx, actor.userId);
  if (!account) throw notFound();
  authorize(actor, "user:update_personal", ownAccount(actor));
  const problems = new Problems();
  problems.add("currentPassword", givenPasswordProblem(currentPassword));
  problems.add("newPassword", await newPasswordProblem(newPassword, currentPassword, account));
  problems.throwIfAny();
  if (account.loginType !== "password") {
    throw badInput([{ field: "currentPassword", detail: "Only users who sign in with a password have one." }]);
  }

  await verify(ctx, account, currentPassword, { refusal: () => notYourPassword("currentPassword") });
  const hash = await ctx.services.passwords.hash(newPassword);
  const { numUpdatedRows } = await ctx.db
    .updateTable("users")
    .set({ passwordHash: hash, mustChangePassword: false, updatedAt: now })
    .where("id", "=", account.id)
    .where("passwordHash", "=", account.passwordHash)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw conflict("Another request has changed the password.");
  await endSessions(ctx, account.id, actor.credential.id);
  ctx.audit({ action: "update", ...auditedAccount(account), diff: { password: { old: "***", new: "***" } } });
  return account.id;
}

/** Returns the hash to store: a new one if the hashing parameters have changed. */
function currentHash({ services: { passwords } }: Context, { passwordHash }: Account, password: string) {
  return passwordHash && passwords.needsRehash(passwordHash) ? passwords.hash(password, "stranger") : passwordHash;
}

async function newPasswordProblem(wanted: string, current: string, account: Account) {
  return wanted === current ? "Must differ from the current password." : passwordProblem(wanted, account);
}
