import { databaseTime, instantOf } from "../../runtime/clock.js";
import { secondFactorRequired } from "../authorization/missing-factors.js";
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
import { bytes, check, flag, type Input, inputOf, nonEmpty, optional, pasted, required } from "../kernel/values.js";
import { oneTimeCode } from "./one-time-codes.js";
import { demandOn, isOffered } from "./factor-demands.js";
import { countSignIn } from "./counted-sign-ins.js";
import { type GivenFactor, type RightFactor, rightFactorOf, sessionFactorOf, spendFactor } from "./given-factors.js";
import { factorsOf, type HeldFactors, waysOf } from "./held-factors.js";
import { credentialJson } from "./passkey-challenges.js";
import { limitFailures, rememberAddress } from "./login-failures.js";
import { chosenPassword, passwordProblem, givenPassword } from "./password-strength.js";
import { deviceToken, forgetDevices, isRemembered, noteDeviceUse } from "./remembered-devices.js";
import { tellUser } from "./factor-notices.js";
import { endSessions, issueSession, SessionFactor } from "../tokens/sessions.js";
import { longestEmail } from "../../entities/lengths.js";

export const Login = inputOf({
  email: required(pasted(nonEmpty(bytes(1, longestEmail))), "The email of the account, in any letter case."),
  password: required(givenPassword, "The password."),
  oneTimeCode: optional(
    oneTimeCode,
    "A code of the account's authenticator, or a recovery code. Required if the account has a second factor, which a failure says after the right password only.",
  ),
  passkey: optional(
    credentialJson,
    "In place of a code: the JSON of the credential that a browser makes of the options of `beginPasskeyLogin`, with the same email and password.",
  ),
  deviceToken: optional(
    deviceToken,
    "The secret of a browser that `rememberDevice` has remembered. As long as it is, it takes the place of a code, but is no recent proof.",
  ),
  addsFactor: optional(
    flag,
    "Whether a user who must add a second factor first gets a session, which can do nothing but that. Otherwise, the sign-in fails then with the reason `second_factor_required`. Default: false.",
  ),
});
export type Login = Input<typeof Login>;

export const ChangePassword = inputOf({
  currentPassword: required(givenPassword, "The current password."),
  newPassword: required(chosenPassword, "Hard to guess, {limits}."),
});
export type ChangePassword = Input<typeof ChangePassword>;

/** A user with a new session. */
export interface NewSession {
  userId: string;
  sessionToken: string;
}

/** Signs in a user by email and password. An unknown email is indistinguishable from a wrong password. */
export const login = (ctx: Context, given: Login): Promise<NewSession> =>
  countSignIn(ctx, "password", () => signIn(ctx, given));

async function signIn(ctx: Context, given: Login): Promise<NewSession> {
  const account = await accountWithPassword(ctx, given);
  return startSession(ctx, account, given);
}

/** Returns the active account whose email and password these are. */
export async function accountWithPassword(ctx: Context, { email, password, ...given }: Login): Promise<Account> {
  if (!ctx.config.passwordAuth) throw forbidden("Password authentication is disabled.");
  const problems = new Problems();
  check(Login, { email, ...given }, problems);
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
  return account;
}

/** Starts a session of the account with this password, with its second factor if it holds one. */
async function startSession(ctx: Context, account: Account, { password, ...given }: Login): Promise<NewSession> {
  // A missing factor is no attempt to guess one.
  const wrong = (field: keyof GivenFactor) => recordRejection(ctx, account, factorWrong[field]());
  const use = { purpose: "complete", userId: account.id } as const;
  const device = (await isRemembered(ctx, account.id, given.deviceToken)) ? given.deviceToken : undefined;
  const factor = device == null ? await rightFactorOf(ctx, use, given, { missing: factorRequired, wrong }) : undefined;
  const hash = await currentHash(ctx, account, password);
  // Checks the account again, which may have been changed or suspended since its verification.
  const { numUpdatedRows } = await ctx.db
    .updateTable("users")
    .set({ passwordHash: hash, lastSeenAt: now })
    .where(isUnchanged(account))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw recordRejection(ctx, account, wrongPassword());
  const isRememberedStill = device != null && (await noteDeviceUse(ctx, account.id, device));
  if (!isRememberedStill) {
    await useFactor(ctx, account, factor);
    if (!factor && given.addsFactor !== true) await requireNoFactorDue(ctx, account);
  }
  // A remembered browser proves nothing.
  const origin = isRememberedStill
    ? { factor: SessionFactor.PASSWORD, provedAt: 0 }
    : { factor: sessionFactorOf(factor) };
  const sessionToken = await issueSession(ctx, account.id, origin);
  await rememberAddress(ctx, account.id);
  const diff = { rememberedDevice: { new: true } };
  ctx.audit({
    action: "login",
    actorId: account.id,
    ...auditedAccount(account),
    ...(isRememberedStill && { diff }),
  });
  return { userId: account.id, sessionToken };
}

/**
 * Spends the factor of a sign-in. Its user is locked: without a factor, the account has got none since they were looked for.
 */
async function useFactor(ctx: Context, account: Account, factor: RightFactor | undefined): Promise<void> {
  if (!factor) {
    const held = await factorsOf(ctx.db, account.id);
    if (held && (await isOffered(ctx, account.id))) throw factorRequired(held);
    return;
  }
  if (!(await spendFactor(ctx, account.id, factor)))
    throw recordRejection(ctx, account, factorWrong["passkeyId" in factor ? "passkey" : "oneTimeCode"]());
  if ("recoveryHash" in factor) await tellUser(ctx, account, "recoveryCodeUsed");
}

/** Throws UNAUTHENTICATED for a user without a second factor who had to add one by now. */
async function requireNoFactorDue(ctx: Context, account: Account): Promise<void> {
  const { dueAt } = await demandOn(ctx, account.id);
  if (dueAt === null || instantOf(dueAt) > databaseTime()) return;
  throw recordRejection(
    ctx,
    account,
    new DomainError("UNAUTHENTICATED", "A second factor is required.", {
      detail: "The account has none, and had to add one by now. Sign in on the page /login, which adds it.",
      reason: secondFactorRequired,
    }),
  );
}

/** The reason of a sign-in that was rejected for its second factor, for programs. */
export const codeReason = "one_time_code";

const factorRequired = (held: HeldFactors) =>
  new DomainError("UNAUTHENTICATED", held.authenticator ? "A one-time code is required." : "A passkey is required.", {
    detail: held.authenticator
      ? "The account has an authenticator. Send its code, or a recovery code, as well."
      : "The account has a passkey. Sign in with it in a browser, or send a recovery code as well.",
    reason: codeReason,
    satisfiedBy: waysOf(held),
    validations: [{ field: "oneTimeCode", detail: "Is required." }],
  });

const rejected = (message: string, field: keyof GivenFactor, detail: string) =>
  new DomainError("UNAUTHENTICATED", message, { reason: codeReason, validations: [{ field, detail }] });

const factorWrong: Record<keyof GivenFactor, () => DomainError> = {
  oneTimeCode: () =>
    rejected("Incorrect one-time code.", "oneTimeCode", "Is wrong, or was used before. Wait for the next code."),
  passkey: () =>
    rejected("The passkey was not accepted.", "passkey", "Is no passkey of the account, or came too late. Try again."),
};

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
  await forgetDevices(ctx, account.id);
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
