// Sign-in with a passkey alone, which is both factors, and the options for it.
import { readUsedCredential } from "../../infrastructure/webauthn.js";
import type { Context } from "../kernel/context.js";
import { DomainError, Problems } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { bytes, check, inputOf, type Input, nonEmpty, optional, pasted, required } from "../kernel/values.js";
import { longestEmail } from "../../entities/lengths.js";
import { issueSession, SessionFactor } from "../tokens/sessions.js";
import { hashSecret } from "../tokens/token-text.js";
import { countSignIn } from "./counted-sign-ins.js";
import { isOffered } from "./factor-demands.js";
import { accountWithPassword, type NewSession } from "./login.js";
import { limitFailures, rememberAddress } from "./login-failures.js";
import { credentialJson, requirePasskeys, spendChallenge } from "./passkey-challenges.js";
import { askForPasskey, findPasskey, rightUseOf, type RightPasskey, storeUse } from "./passkey-uses.js";
import { givenPassword } from "./password-strength.js";
import { type Account, accountWithId, auditedAccount, recordRejection } from "./sign-in-accounts.js";

export const BeginPasskeyLogin = inputOf({
  email: optional(
    pasted(nonEmpty(bytes(1, longestEmail))),
    "The email of the account whose password is given. Without both, any passkey signs in that knows who uses it.",
  ),
  password: optional(givenPassword, "The password, to complete with a passkey of the account."),
});
export type BeginPasskeyLogin = Input<typeof BeginPasskeyLogin>;

/**
 * Makes the options with which a browser asks for a passkey: any for a sign-in without a password, or those of the account with
 * a right password, to complete `login`.
 */
export async function beginPasskeyLogin(
  ctx: Context,
  { email, password }: BeginPasskeyLogin,
): Promise<Record<string, unknown>> {
  await requirePasskeys(ctx);
  if (email == null && password == null) return askForPasskey(ctx, { purpose: "sign_in" });
  const account = await accountWithPassword(ctx, { email: email ?? "", password: password ?? "" });
  return askForPasskey(ctx, { purpose: "complete", userId: account.id });
}

export const LoginWithPasskey = inputOf({
  passkey: required(
    credentialJson,
    "The JSON of the credential that a browser makes of the options of `beginPasskeyLogin`.",
  ),
});
export type LoginWithPasskey = Input<typeof LoginWithPasskey>;

/**
 * Signs in the user of a passkey, whom its authenticator has verified. Unknown passkeys and those of accounts that cannot sign
 * in are indistinguishable.
 */
export const loginWithPasskey = (ctx: Context, { passkey }: LoginWithPasskey): Promise<NewSession> =>
  countSignIn(ctx, "password", () => signIn(ctx, passkey));

async function signIn(ctx: Context, given: string): Promise<NewSession> {
  await requirePasskeys(ctx);
  const problems = new Problems();
  check(LoginWithPasskey, { passkey: given }, problems);
  problems.throwIfAny();
  const received = readUsedCredential(given);
  if (!received || !(await spendChallenge(ctx, received.challenge, { purpose: "sign_in" }))) throw notAccepted();
  const { id: credentialId } = received.credential;
  const stored = await findPasskey(ctx.services.database.db, credentialId);
  const account = stored && (await accountWithId(ctx, stored.userId));
  const name = `passkey ${hashSecret(credentialId).toString("hex")}`;
  const { use, user } = await limitFailures(ctx, name, account?.id, async () => {
    if (!stored || !account) throw notAccepted();
    const right = await rightUseOf(ctx, stored, received);
    const isAccepted =
      right?.isUserVerified &&
      account.status === "active" &&
      account.loginType === "password" &&
      (await isOffered(ctx, account.id));
    if (!isAccepted) throw recordRejection(ctx, account, notAccepted());
    return { use: right, user: account };
  });
  return startSession(ctx, user, use);
}

async function startSession(ctx: Context, account: Account, use: RightPasskey): Promise<NewSession> {
  // Checks the account again, which may have been changed or suspended meanwhile.
  const { numUpdatedRows } = await ctx.db
    .updateTable("users")
    .set({ lastSeenAt: now })
    .where("id", "=", account.id)
    .where("status", "=", "active")
    .where("loginType", "=", "password")
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n || !(await storeUse(ctx, account.id, use)))
    throw recordRejection(ctx, account, notAccepted());
  const sessionToken = await issueSession(ctx, account.id, { factor: SessionFactor.PASSKEY });
  await rememberAddress(ctx, account.id);
  ctx.audit({ action: "login", actorId: account.id, ...auditedAccount(account), diff: { passkey: { new: true } } });
  return { userId: account.id, sessionToken };
}

/** One error for all: it must not say which passkeys and accounts exist. */
const notAccepted = () =>
  new DomainError("UNAUTHENTICATED", "This passkey does not sign in here, or it came too late. Try again.");
