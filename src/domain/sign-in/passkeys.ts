import { creationOptions, readNewCredential, verifyNew } from "../../infrastructure/webauthn.js";
import { longestLabel } from "../../entities/lengths.js";
import { readAppearance } from "../appearance/appearance.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { check, inputOf, type Input, label, nonEmpty, optional, required, uuid } from "../kernel/values.js";
import { userHint } from "../tokens/hints.js";
import { endSessions, proveSession, SessionFactor } from "../tokens/sessions.js";
import { auditedUser, type FoundUser } from "../users/users.js";
import { tellUser } from "./factor-notices.js";
import { factorsOf } from "./held-factors.js";
import { replaceRecoveryCodes } from "./one-time-codes.js";
import { hasNoPassword, lockOwnAccount } from "./own-account.js";
import {
  challengeLifetime,
  credentialJson,
  issueChallenge,
  requirePasskeys,
  spendChallenge,
} from "./passkey-challenges.js";
import { passkeysOf } from "./passkey-uses.js";
import { givenPassword } from "./password-strength.js";
import { requireFreshProof } from "./proofs.js";
import { keepCodesOfFactors, requireOffered } from "./second-factors.js";
import { accountWithId, givenPasswordProblem, notYourPassword, verify } from "./sign-in-accounts.js";

/** Maximum number of passkeys of a user. */
export const passkeysPerUser = 20;

const passkeyName = nonEmpty(label(longestLabel));

export const BeginPasskey = inputOf({
  password: optional(
    givenPassword,
    "The current password. Required if the account holds no second factor: otherwise a recent proof is.",
  ),
});
export type BeginPasskey = Input<typeof BeginPasskey>;

/** Makes the options with which a browser makes a passkey for the caller. It counts once `confirmPasskey` has it. */
export async function beginPasskey(ctx: Context, { password }: BeginPasskey): Promise<Record<string, unknown>> {
  const party = await requirePasskeys(ctx);
  const { userId, credential } = requireUser(ctx.actor);
  await requireOffered(ctx, userId);
  const account = await accountWithId(ctx, userId);
  if (account?.loginType !== "password") throw hasNoPassword();
  const held = await factorsOf(ctx.services.database.db, userId);
  if (held) await requireFreshProof(ctx, held);
  else {
    const problems = new Problems();
    problems.add("password", givenPasswordProblem(password ?? ""));
    problems.throwIfAny();
    await verify(ctx, account, password!, { refusal: () => notYourPassword("password") });
  }
  const known = await passkeysOf(ctx.db, userId).execute();
  if (known.length >= passkeysPerUser) throw tooMany();
  const { id, email, name, username } = account;
  const { applicationName } = await readAppearance(ctx);
  return creationOptions({
    party,
    partyName: applicationName || "Steward",
    user: { id, email, name: name || username },
    challenge: await issueChallenge(ctx, { purpose: "add", userId, keyId: credential.id }),
    known,
    timeout: challengeLifetime,
  });
}

const tooMany = () => conflict(`A user can have at most ${passkeysPerUser} passkeys.`);

export const ConfirmPasskey = inputOf({
  passkey: required(
    credentialJson,
    "The JSON of the credential that the browser has made of the options of `beginPasskey`.",
  ),
  name: optional(passkeyName, "Name by which the user knows it, {limits}. Default: `Passkey`."),
});
export type ConfirmPasskey = Input<typeof ConfirmPasskey>;

/** A passkey that was added, with recovery codes if it is the first factor of the account. */
export interface PasskeyAdded {
  userId: string;
  id: string;
  recoveryCodes: string[] | null;
}

/**
 * Adds a passkey to the account of the caller. If it is the first factor, there are recovery codes, and the other sessions of
 * the caller end.
 */
export async function confirmPasskey(ctx: Context, input: ConfirmPasskey): Promise<PasskeyAdded> {
  const party = await requirePasskeys(ctx);
  const { userId, credential } = requireUser(ctx.actor);
  await requireOffered(ctx, userId);
  const problems = new Problems();
  check(ConfirmPasskey, input, problems);
  problems.throwIfAny();
  const received = readNewCredential(input.passkey);
  const isOwn =
    received && (await spendChallenge(ctx, received.challenge, { purpose: "add", userId, keyId: credential.id }));
  const made = isOwn ? await verifyNew(received, party) : undefined;
  if (!made) throw notMade();

  const user = await lockOwnAccount(ctx);
  const held = await factorsOf(ctx.db, user.id);
  const { length } = await passkeysOf(ctx.db, user.id).execute();
  if (length >= passkeysPerUser) throw tooMany();
  const id = newId();
  const name = input.name ?? "Passkey";
  await ctx.db
    .insertInto("passkeys")
    .values({ id, userId: user.id, name, ...made, createdAt: now })
    .execute()
    .catch(throwKnown);
  const recoveryCodes = held ? null : await replaceRecoveryCodes(ctx, user.id);
  await proveSession(ctx, credential.id, SessionFactor.PASSKEY);
  if (!held) await endSessions(ctx, user.id, credential.id);
  ctx.audit({ action: "update", ...auditedUser(user), diff: { passkey: { new: name } } });
  await tellUser(ctx, user, "passkeyAdded", { passkey: name });
  ctx.publish(userHint(user.id));
  return { userId: user.id, id, recoveryCodes };
}

const notMade = () =>
  badInput([
    { field: "passkey", detail: "Was not made for this deployment and session, or came too late. Try again." },
  ]);

const throwKnown = onViolation({
  passkeys_credential_id_unique: () => conflict("This passkey belongs to an account already."),
});

export const UpdatePasskey = inputOf({
  id: required(uuid, "ID of the passkey."),
  name: required(passkeyName, "New name, {limits}."),
});
export type UpdatePasskey = Input<typeof UpdatePasskey>;

/** Renames a passkey of the caller. Returns the id of the user. */
export async function updatePasskey(ctx: Context, input: UpdatePasskey): Promise<string> {
  const problems = new Problems();
  check(UpdatePasskey, input, problems);
  problems.throwIfAny();
  const { user, name: passkey } = await lockPasskey(ctx, input.id);
  if (passkey === input.name) return user.id;
  await ctx.db.updateTable("passkeys").set({ name: input.name }).where("id", "=", input.id).execute();
  const diff = { passkey: { old: passkey, new: input.name } };
  ctx.audit({ action: "update", ...auditedUser(user), diff });
  return user.id;
}

export const RemovePasskey = inputOf({ id: required(uuid, "ID of the passkey.") });
export type RemovePasskey = Input<typeof RemovePasskey>;

/**
 * Removes a passkey of the caller, with the recovery codes if no other factor is left. Takes a recent proof. Returns the id of
 * the user.
 */
export async function removePasskey(ctx: Context, { id }: RemovePasskey): Promise<string> {
  const { user, name } = await lockPasskey(ctx, id);
  const held = await factorsOf(ctx.db, user.id);
  if (held) await requireFreshProof(ctx, held);
  await ctx.db.deleteFrom("passkeys").where("id", "=", id).where("userId", "=", user.id).execute();
  const isLeft = await keepCodesOfFactors(ctx, user.id);
  ctx.audit({ action: "update", ...auditedUser(user), diff: { passkey: { old: name } } });
  await tellUser(ctx, user, "passkeyRemoved", { passkey: name, isLeft });
  ctx.publish(userHint(user.id));
  return user.id;
}

/** Finds a passkey of the caller, locks the account, and returns both. An unknown ID locks nothing. */
async function lockPasskey(ctx: Context, id: string): Promise<{ user: FoundUser; name: string }> {
  await nameOfPasskey(ctx, requireUser(ctx.actor).userId, id);
  const user = await lockOwnAccount(ctx);
  return { user, name: await nameOfPasskey(ctx, user.id, id) };
}

async function nameOfPasskey({ db }: Context, userId: string, id: string): Promise<string> {
  const passkey = await db
    .selectFrom("passkeys")
    .select("name")
    .where("id", "=", id)
    .where("userId", "=", userId)
    .executeTakeFirst();
  if (!passkey) throw notFound();
  return passkey.name;
}
