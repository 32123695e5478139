// The second factor that a user gives, at sign-in and as a proof later: a code, a recovery code, or a passkey.
import type { Context } from "../kernel/context.js";
import { badInput, type DomainError } from "../kernel/errors.js";
import { SessionFactor } from "../tokens/sessions.js";
import { isOffered } from "./factor-demands.js";
import { factorsOf, type HeldFactors } from "./held-factors.js";
import { findCode, limitCodes, type RightCode, spendCode } from "./one-time-codes.js";
import type { ChallengeUse } from "./passkey-challenges.js";
import { rightPasskeyOf, type RightPasskey, storeUse } from "./passkey-uses.js";

/** A second factor as it came. */
export interface GivenFactor {
  oneTimeCode?: string | null | undefined;
  passkey?: string | null | undefined;
}

/** A right second factor, which is yet to be spent. */
export type RightFactor = RightCode | RightPasskey;

/** The errors for a factor that is missing or wrong. */
interface FactorErrors {
  missing: (held: HeldFactors) => DomainError;
  wrong: (field: "oneTimeCode" | "passkey") => DomainError;
}

/** Returns the right factor of a user who holds one; `undefined` for others, and where second factors are off. */
export async function rightFactorOf(
  ctx: Context,
  use: ChallengeUse & { userId: string },
  { oneTimeCode, passkey }: GivenFactor,
  { missing, wrong }: FactorErrors,
): Promise<RightFactor | undefined> {
  const { userId } = use;
  const { db } = ctx.services.database;
  const held = await factorsOf(db, userId);
  if (!held || !(await isOffered({ db, config: ctx.config }, userId))) return undefined;
  if (passkey != null) {
    const right = await limitCodes(ctx, userId, () => rightPasskeyOf(ctx, passkey, use));
    if (!right) throw wrong("passkey");
    return right;
  }
  if (oneTimeCode == null) throw missing(held);
  const code = await findCode(ctx, userId, held.authenticator, oneTimeCode);
  if (!code) throw wrong("oneTimeCode");
  return code;
}

/** How a session begins with a right factor after the password, or without one. */
export function sessionFactorOf(factor: RightFactor | undefined): SessionFactor {
  if (!factor) return SessionFactor.PASSWORD;
  if ("passkeyId" in factor) return SessionFactor.PASSKEY;
  return "recoveryHash" in factor ? SessionFactor.RECOVERY_CODE : SessionFactor.AUTHENTICATOR;
}

/** Spends a factor in the transaction of the request, which has locked the user. Returns false if another request has. */
export const spendFactor = (ctx: Context, userId: string, factor: RightFactor): Promise<boolean> =>
  "passkeyId" in factor ? storeUse(ctx, userId, factor) : spendCode(ctx, userId, factor);

export const wrongPasskey = (): DomainError =>
  badInput([{ field: "passkey", detail: "Is no right use of a passkey of yours, or came too late. Try again." }]);
