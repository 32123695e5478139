import { databaseTime } from "../../runtime/clock.js";
import { minute } from "../../runtime/durations.js";
import { newTotpSecret, totpStepOf, totpUri } from "../../infrastructure/totp.js";
import { authorize, requireProof } from "../authorization/authorization.js";
import { authenticatorSecrets } from "../encryption/columns.js";
import { requireUser, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { check, inputOf, type Input, optional, reference, required } from "../kernel/values.js";
import { userHint } from "../tokens/hints.js";
import { endSessions, proveSession, SessionFactor } from "../tokens/sessions.js";
import { auditedUser, authorizeOn, findUser, type FoundUser, lockUser, userTarget } from "../users/users.js";
import { tellUser } from "./factor-notices.js";
import { factorsOf, type StoredAuthenticator } from "./held-factors.js";
import { demandOn, type FactorLevel, isOffered } from "./factor-demands.js";
import {
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
  wrongCode,
} from "./one-time-codes.js";
import { hasNoPassword, lockOwnAccount } from "./own-account.js";
import { passkeysOf } from "./passkey-uses.js";
import { givenPassword } from "./password-strength.js";
import { requireFreshProof } from "./proofs.js";
import { devicesOf, forgetDevices, type RememberedDeviceRow } from "./remembered-devices.js";
import { accountWithId, givenPasswordProblem, notYourPassword, verify } from "./sign-in-accounts.js";

/** Time in which a new authenticator has to be confirmed, in milliseconds. */
const pendingLifetime = 15 * minute;

/** The second factors of a user. */
export interface SecondFactors {
  userId: string;
  level: FactorLevel;
  /** Until when one has to be added; null unless one is required and missing. */
  addBy: string | null;
  /** When the authenticator was confirmed; null without one. */
  authenticatorConfirmedAt: string | null;
  passkeys: PasskeyRow[];
  recoveryCodesLeft: number;
  /** The browsers in which sign-in takes no second factor. */
  rememberedDevices: RememberedDeviceRow[];
}

/** A passkey of a user. */
export interface PasskeyRow {
  id: string;
  name: string;
  transports: string[];
  isBackedUp: boolean;
  createdAt: string;
  lastUsedAt: string | null;
}

/** Reads the second factors of a user. */
export async function readSecondFactors(ctx: Context, ref: string): Promise<SecondFactors> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user:read_personal", userTarget(user));
  const held = await factorsOf(ctx.db, user.id);
  const { level, dueAt } = await demandOn(ctx, user.id);
  return {
    userId: user.id,
    level,
    addBy: held ? null : dueAt,
    authenticatorConfirmedAt: held?.authenticator?.confirmedAt ?? null,
    passkeys: await passkeysOf(ctx.db, user.id).execute(),
    recoveryCodesLeft: await countRecoveryCodes(ctx, user.id),
    rememberedDevices: await devicesOf(ctx, user.id).orderBy("createdAt", "desc").orderBy("id", "desc").execute(),
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
  const actor = requireUser(ctx.actor);
  await requireOffered(ctx, actor.userId);
  const account = await accountWithId(ctx, actor.userId);
  if (account?.loginType !== "password") throw hasNoPassword();
  const problems = new Problems();
  check(BeginAuthenticator, input, problems);
  problems.add("password", givenPasswordProblem(input.password));
  problems.throwIfAny();
  await verify(ctx, account, input.password, { refusal: () => notYourPassword("password") });
  const present = (await factorsOf(ctx.services.database.db, account.id))?.authenticator;
  const code = present && (await requireRightCode(ctx, account.id, present, input.oneTimeCode));

  const user = await lockOwnAccount(ctx);
  const held = await factorsOf(ctx.db, user.id);
  if (code) await requireSpent(ctx, user, code);
  // Another request may have added an authenticator since it was looked for.
  else if (held?.authenticator) throw missingCode();
  else if (held) await requireFreshProof(ctx, held);
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
  const actor = requireUser(ctx.actor);
  await requireOffered(ctx, actor.userId);
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
  await proveSession(ctx, actor.credential.id, SessionFactor.AUTHENTICATOR);
  await endSessions(ctx, user.id, actor.credential.id);
  const former = numDeletedRows > 0n ? { old: "***" } : {};
  ctx.audit({ action: "update", ...auditedUser(user), diff: { authenticator: { ...former, new: "***" } } });
  await tellUser(ctx, user, "factorAdded");
  return { userId: user.id, recoveryCodes };
}

const nothingToConfirm = () => conflict("There is no authenticator to confirm. Begin again.");

export const RegenerateRecoveryCodes = inputOf({
  oneTimeCode: optional(
    oneTimeCode,
    "A code of the authenticator, or a recovery code that is left. Required if there is an authenticator: accounts with passkeys alone take a recent proof in place of it.",
  ),
});
export type RegenerateRecoveryCodes = Input<typeof RegenerateRecoveryCodes>;

/** Replaces the recovery codes of the caller. */
export async function regenerateRecoveryCodes(ctx: Context, input: RegenerateRecoveryCodes): Promise<NewRecoveryCodes> {
  const problems = new Problems();
  check(RegenerateRecoveryCodes, input, problems);
  problems.throwIfAny();
  const user = await lockWithFactor(ctx, input.oneTimeCode);
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

/**
 * Removes the authenticator of the caller, with the recovery codes if no other factor is left. Returns the id of the user.
 */
export async function removeAuthenticator(ctx: Context, input: RemoveAuthenticator): Promise<string> {
  checkCode(RemoveAuthenticator, input);
  const actor = requireUser(ctx.actor);
  const held = await factorsOf(ctx.services.database.db, actor.userId);
  if (!held?.hasPasskey) await requireNoNeed(ctx, actor.userId);
  if (!held?.authenticator) throw conflict("The account has no authenticator.");
  const code = await requireRightCode(ctx, actor.userId, held.authenticator, input.oneTimeCode);
  const user = await lockOwnAccount(ctx);
  await requireSpent(ctx, user, code);
  await ctx.db.deleteFrom("authenticators").where("userId", "=", user.id).execute();
  const isLeft = await keepCodesOfFactors(ctx, user.id);
  ctx.audit({ action: "update", ...auditedUser(user), diff: { authenticator: { old: "***" } } });
  await tellUser(ctx, user, "factorRemoved", { isAuthenticator: true, isLeft });
  ctx.publish(userHint(user.id));
  return user.id;
}

/**
 * Deletes the recovery codes of a locked user without another factor. Returns whether a factor is left. Throws CONFLICT if
 * none is, and the user must hold one.
 */
export async function keepCodesOfFactors(ctx: Context, userId: string): Promise<boolean> {
  if (await factorsOf(ctx.db, userId)) return true;
  await requireNoNeed(ctx, userId);
  await removeFactors(ctx, userId);
  return false;
}

/** Throws CONFLICT for a user who must hold a second factor. */
async function requireNoNeed(ctx: Context, userId: string): Promise<void> {
  if ((await demandOn(ctx, userId)).level === "required")
    throw conflict("Your account requires a second factor. You can replace it, or add another one first.");
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
  if (user.id === userIdOf(ctx.actor)) throw conflict("You remove your own factors on the page of your second factor.");
  if (await forgetFactors(ctx, user)) await endSessions(ctx, user.id);
  return user.id;
}

/** Removes the second factors of a locked user, if there are any, and tells the user. Returns whether there were. */
export async function forgetFactors(ctx: Context, user: Pick<FoundUser, "id" | "username" | "name">): Promise<boolean> {
  const { isAuthenticator, passkeys } = await removeFactors(ctx, user.id);
  if (!isAuthenticator && passkeys.length === 0) return false;
  const diff = {
    ...(isAuthenticator && { authenticator: { old: "***" } }),
    ...(passkeys.length > 0 && { passkeys: { old: passkeys } }),
  };
  ctx.audit({ action: "update", ...auditedUser(user), diff });
  await tellUser(ctx, user, "factorRemoved", { isAuthenticator, isPasskey: passkeys.length > 0 });
  return true;
}

/**
 * Removes the second factors of a locked user, with all that belongs to them. Returns whether there was a confirmed
 * authenticator, and the names of the passkeys.
 */
export async function removeFactors(
  { db }: Context,
  userId: string,
): Promise<{ isAuthenticator: boolean; passkeys: string[] }> {
  await db.deleteFrom("recoveryCodes").where("userId", "=", userId).execute();
  await db.deleteFrom("passkeyChallenges").where("userId", "=", userId).execute();
  await forgetDevices({ db }, userId);
  const removed = await db.deleteFrom("authenticators").where("userId", "=", userId).returning("confirmedAt").execute();
  const passkeys = await db.deleteFrom("passkeys").where("userId", "=", userId).returning("name").execute();
  return {
    isAuthenticator: removed.some(({ confirmedAt }) => confirmedAt !== null),
    passkeys: passkeys.map(({ name }) => name),
  };
}

export async function requireOffered(ctx: Context, userId: string): Promise<void> {
  if (!(await isOffered(ctx, userId))) throw forbidden("Second factors are switched off.");
}

/** Locks the account of the caller, and spends a code of it. Holders of passkeys alone need none, but a recent proof. */
async function lockWithFactor(ctx: Context, given: string | null | undefined): Promise<FoundUser> {
  const actor = requireUser(ctx.actor);
  const held = await factorsOf(ctx.services.database.db, actor.userId);
  if (!held) throw conflict("The account has no second factor.");
  const { authenticator } = held;
  const code =
    authenticator || given != null ? await requireRightCode(ctx, actor.userId, authenticator, given) : undefined;
  const user = await lockOwnAccount(ctx);
  if (code) await requireSpent(ctx, user, code);
  else await requireFreshProof(ctx, held);
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
  userId: string,
  authenticator: StoredAuthenticator | undefined,
  given: string | null | undefined,
): Promise<RightCode> {
  if (given == null || given === "") throw missingCode();
  const code = await findCode(ctx, userId, authenticator, given);
  if (!code) throw wrongCode();
  return code;
}

async function requireSpent(ctx: Context, user: FoundUser, code: RightCode): Promise<void> {
  const { id } = user;
  if (!(await spendCode(ctx, id, code))) throw wrongCode();
  if ("recoveryHash" in code) await tellUser(ctx, user, "recoveryCodeUsed");
}
