import { databaseTime } from "../../runtime/clock.js";
import { minute } from "../../runtime/durations.js";
import { newTotpSecret, totpStepOf, totpUri } from "../../infrastructure/totp.js";
import { authorize, requireProof } from "../authorization/authorization.js";
import { authenticatorSecrets } from "../encryption/columns.js";
import { requireUser, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, Problems, unauthenticated } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { check, inputOf, type Input, optional, reference, required } from "../kernel/values.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import { endSessions } from "../tokens/sessions.js";
import { auditedUser, authorizeOn, findUser, type FoundUser, lockUser, userTarget } from "../users/users.js";
import {
  authenticatorOf,
  authenticators,
  countRecoveryCodes,
  findCode,
  limitCodes,
  missingCode,
  oneTimeCode,
  replaceRecoveryCodes,
  type RightCode,
  secretOf,
  spendCode,
  type StoredAuthenticator,
  wrongCode,
} from "./one-time-codes.js";
import { givenPassword } from "./password-strength.js";
import { accountWithId, givenPasswordProblem, notYourPassword, verify } from "./sign-in-accounts.js";

/** Time in which a new authenticator has to be confirmed, in milliseconds. */
const pendingLifetime = 15 * minute;

/** The second factors of a user. */
export interface SecondFactors {
  userId: string;
  /** When the authenticator was confirmed; null without one. */
  authenticatorConfirmedAt: string | null;
  recoveryCodesLeft: number;
}

/** Reads the second factors of a user. */
export async function readSecondFactors(ctx: Context, ref: string): Promise<SecondFactors> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user:read_personal", userTarget(user));
  const authenticator = await authenticatorOf(ctx.db, user.id);
  return {
    userId: user.id,
    authenticatorConfirmedAt: authenticator?.confirmedAt ?? null,
    recoveryCodesLeft: await countRecoveryCodes(ctx, user.id),
  };
}

export const BeginAuthenticator = inputOf({
  password: required(givenPassword, "The current password."),
  oneTimeCode: optional(
    oneTimeCode,
    "A code of the authenticator that the new one will replace, or a recovery code. Required if there is one.",
  ),
});
export type BeginAuthenticator = Input<typeof BeginAuthenticator>;

/** A new authenticator without its first code. The secret is not readable later. */
export interface AuthenticatorBegun {
  secret: string;
  uri: string;
  expiresAt: string;
}

/**
 * Begins to add an authenticator to the account of the caller, or to replace its authenticator. It counts once `confirmAuthenticator`
 * has its first code.
 */
export async function beginAuthenticator(ctx: Context, input: BeginAuthenticator): Promise<AuthenticatorBegun> {
  requireOffered(ctx);
  const actor = requireUser(ctx.actor);
  const account = await accountWithId(ctx, actor.userId);
  if (account?.loginType !== "password") throw hasNoPassword();
  const problems = new Problems();
  check(BeginAuthenticator, input, problems);
  problems.add("password", givenPasswordProblem(input.password));
  problems.throwIfAny();
  await verify(ctx, account, input.password, { refusal: () => notYourPassword("password") });
  const present = await authenticatorOf(ctx.services.database.db, account.id);
  const code = present && (await requireRightCode(ctx, present, input.oneTimeCode));

  const user = await lockOwnAccount(ctx);
  if (code) await requireSpent(ctx, user, code);
  // Another request may have added an authenticator since it was looked for.
  else if (await authenticatorOf(ctx.db, user.id)) throw missingCode();
  const secret = newTotpSecret();
  const id = newId();
  const sealed = ctx.services.vault.seal(authenticatorSecrets.place({ id, ownerId: user.id }), secret);
  await ctx.db.deleteFrom("authenticators").where("userId", "=", user.id).where("confirmedAt", "is", null).execute();
  const { keyId, nonce: secretNonce, ciphertext: secretCiphertext } = sealed;
  await ctx.db
    .insertInto("authenticators")
    .values({ id, userId: user.id, createdAt: now, keyId, secretNonce, secretCiphertext })
    .execute();
  const { hostname } = new URL(ctx.config.accessUrl);
  return {
    secret,
    uri: totpUri(secret, user.email, `Steward ${hostname}`),
    expiresAt: new Date(databaseTime() + pendingLifetime).toISOString(),
  };
}

export const ConfirmAuthenticator = inputOf({
  oneTimeCode: required(oneTimeCode, "The code that the new authenticator shows."),
});
export type ConfirmAuthenticator = Input<typeof ConfirmAuthenticator>;

/** New recovery codes of a user. They are not readable later. */
export interface NewRecoveryCodes {
  userId: string;
  recoveryCodes: string[];
}

/**
 * Confirms the new authenticator of the caller by its first code. It replaces the former one, and there are new recovery
 * codes. The other sessions of the caller end.
 */
export async function confirmAuthenticator(ctx: Context, input: ConfirmAuthenticator): Promise<NewRecoveryCodes> {
  requireOffered(ctx);
  const actor = requireUser(ctx.actor);
  checkCode(ConfirmAuthenticator, input);
  const pending = await authenticators(ctx.services.database.db, actor.userId)
    .where("confirmedAt", "is", null)
    .where("createdAt", ">", after(-pendingLifetime))
    .executeTakeFirst();
  if (!pending) throw nothingToConfirm();
  const code = input.oneTimeCode.replaceAll(/\s/g, "");
  const secret = secretOf(ctx, pending);
  const step = await limitCodes(ctx, actor.userId, async () => totpStepOf(secret, code, databaseTime()));
  if (step === undefined) throw wrongCode();

  const user = await lockOwnAccount(ctx);
  const { numDeletedRows } = await ctx.db
    .deleteFrom("authenticators")
    .where("userId", "=", user.id)
    .where("confirmedAt", "is not", null)
    .where("id", "<>", pending.id)
    .executeTakeFirst();
  const { numUpdatedRows } = await ctx.db
    .updateTable("authenticators")
    .set({ confirmedAt: now, lastStep: step })
    .where("id", "=", pending.id)
    .where("confirmedAt", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw nothingToConfirm();
  const recoveryCodes = await replaceRecoveryCodes(ctx, user.id);
  // The password and the code prove who the caller is.
  const proven = ctx.db.updateTable("apiKeys").set({ provedAt: now }).where("id", "=", actor.credential.id);
  // The session may have been ended meanwhile, by the user who found it in other hands.
  if ((await proven.executeTakeFirst()).numUpdatedRows === 0n) throw unauthenticated("The session has ended.");
  await endSessions(ctx, user.id, actor.credential.id);
  const former = numDeletedRows > 0n ? { old: "***" } : {};
  ctx.audit({ action: "update", ...auditedUser(user), diff: { authenticator: { ...former, new: "***" } } });
  await tellUser(ctx, user, "factorAdded");
  return { userId: user.id, recoveryCodes };
}

const nothingToConfirm = () => conflict("There is no authenticator to confirm. Begin again.");

export const RegenerateRecoveryCodes = inputOf({
  oneTimeCode: required(oneTimeCode, "A code of the authenticator, or a recovery code that is left."),
});
export type RegenerateRecoveryCodes = Input<typeof RegenerateRecoveryCodes>;

/** Replaces the recovery codes of the caller. */
export async function regenerateRecoveryCodes(ctx: Context, input: RegenerateRecoveryCodes): Promise<NewRecoveryCodes> {
  checkCode(RegenerateRecoveryCodes, input);
  const user = await lockWithCode(ctx, input.oneTimeCode);
  const recoveryCodes = await replaceRecoveryCodes(ctx, user.id);
  ctx.audit({
    action: "update",
    ...auditedUser(user),
    diff: { recoveryCodes: { old: "***", new: "***" } },
  });
  return { userId: user.id, recoveryCodes };
}

export const RemoveAuthenticator = inputOf({
  oneTimeCode: required(oneTimeCode, "A code of the authenticator, or a recovery code."),
});
export type RemoveAuthenticator = Input<typeof RemoveAuthenticator>;

/** Removes the authenticator of the caller with its recovery codes. Returns the id of the user. */
export async function removeAuthenticator(ctx: Context, input: RemoveAuthenticator): Promise<string> {
  checkCode(RemoveAuthenticator, input);
  if (ctx.config.secondFactors === "required")
    throw conflict("This deployment requires a second factor. You can replace the authenticator.");
  const user = await lockWithCode(ctx, input.oneTimeCode);
  await forgetFactors(ctx, user);
  return user.id;
}

export const ResetSecondFactors = inputOf({
  user: required(reference, "The user: ID or username."),
});
export type ResetSecondFactors = Input<typeof ResetSecondFactors>;

/**
 * Removes the second factors of another user, who has lost them, and ends the user's sessions. Without any, changes
 * nothing. Returns the id of the user.
 */
export async function resetSecondFactors(ctx: Context, { user: ref }: ResetSecondFactors): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  requireProof(ctx.actor);
  if (user.id === userIdOf(ctx.actor))
    throw conflict("You remove your own authenticator with a code of it, or with a recovery code.");
  if (await forgetFactors(ctx, user)) await endSessions(ctx, user.id);
  return user.id;
}

/** Removes the second factors of a locked user, if there are any, and tells the user. Returns whether there were. */
export async function forgetFactors(ctx: Context, user: Pick<FoundUser, "id" | "username" | "name">): Promise<boolean> {
  const removed = await removeFactors(ctx, user.id);
  if (!removed) return false;
  ctx.audit({ action: "update", ...auditedUser(user), diff: { authenticator: { old: "***" } } });
  await tellUser(ctx, user, "factorRemoved");
  return true;
}

/** Removes the second factors of a locked user. Returns whether there was a confirmed one. */
export async function removeFactors({ db }: Context, userId: string): Promise<boolean> {
  await db.deleteFrom("recoveryCodes").where("userId", "=", userId).execute();
  const removed = await db.deleteFrom("authenticators").where("userId", "=", userId).returning("confirmedAt").execute();
  return removed.some(({ confirmedAt }) => confirmedAt !== null);
}

/** Tells a user that something happened to the second factors. */
export const tellUser = (
  ctx: Context,
  { id, username, name }: Pick<FoundUser, "id" | "username" | "name">,
  event: "factorAdded" | "factorRemoved" | "recoveryCodeUsed",
) =>
  notify(ctx, {
    template: accountNotifications[event],
    recipients: [id],
    targets: [id],
    labels: { account_name: name || username },
    data: {},
  });

function requireOffered({ config }: Context): void {
  if (config.secondFactors === "off") throw forbidden("Second factors are switched off.");
}

const hasNoPassword = () => conflict("Only accounts that sign in with a password have a second factor here.");

/** Locks the account of the caller, who signs in with a password. */
async function lockOwnAccount(ctx: Context): Promise<FoundUser> {
  const user = await lockUser(ctx, "me", "user:update_personal");
  authorizeOn(ctx, "user:update_personal", user);
  if (user.loginType !== "password") throw hasNoPassword();
  return user;
}

/** Locks the account of the caller, and spends a code of it. */
async function lockWithCode(ctx: Context, given: string): Promise<FoundUser> {
  const actor = requireUser(ctx.actor);
  const present = await authenticatorOf(ctx.services.database.db, actor.userId);
  if (!present) throw conflict("The account has no authenticator.");
  const code = await requireRightCode(ctx, present, given);
  const user = await lockOwnAccount(ctx);
  await requireSpent(ctx, user, code);
  return user;
}

/** Checks the form of the code that an input consists of. */
function checkCode(schema: typeof ConfirmAuthenticator, input: ConfirmAuthenticator): void {
  const problems = new Problems();
  check(schema, input, problems);
  problems.throwIfAny();
}

async function requireRightCode(
  ctx: Context,
  authenticator: StoredAuthenticator,
  given: string | null | undefined,
): Promise<RightCode> {
  if (given == null || given === "") throw missingCode();
  const code = await findCode(ctx, authenticator, given);
  if (!code) throw wrongCode();
  return code;
}

async function requireSpent(ctx: Context, { id }: FoundUser, code: RightCode): Promise<void> {
  if (!(await spendCode(ctx, id, code))) throw wrongCode();
}
