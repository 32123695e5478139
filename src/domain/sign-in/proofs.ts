import { instantOf } from "../../runtime/clock.js";
import { requireProof } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, notFound, Problems } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { check, inputOf, type Input, optional } from "../kernel/values.js";
import { keyHint } from "../tokens/hints.js";
import { lockUser } from "../users/users.js";
import { type GivenFactor, rightFactorOf, spendFactor, wrongPasskey } from "./given-factors.js";
import { type HeldFactors, waysOf } from "./held-factors.js";
import { missingCode, oneTimeCode, wrongCode } from "./one-time-codes.js";
import { credentialJson } from "./passkey-challenges.js";
import { askForPasskey } from "./passkey-uses.js";
import { tellUser } from "./factor-notices.js";
import { givenPassword } from "./password-strength.js";
import {
  accountWithId,
  auditedAccount,
  givenPasswordProblem,
  isUnchanged,
  notYourPassword,
  recordRejection,
  verify,
} from "./sign-in-accounts.js";

export const ProveIdentity = inputOf({
  oneTimeCode: optional(
    oneTimeCode,
    "A code of the caller's authenticator, or a recovery code. Required if there is a second factor, and no `passkey`.",
  ),
  passkey: optional(
    credentialJson,
    "In place of a code: the JSON of the credential that a browser makes of the options of `beginPasskeyProof`.",
  ),
  password: optional(givenPassword, "The caller's password. Required if there is no second factor."),
});
export type ProveIdentity = Input<typeof ProveIdentity>;

/** Proves again who the caller is: by a second factor if the account holds one, else by the password. */
export async function proveIdentity(ctx: Context, input: ProveIdentity): Promise<true> {
  const { userId, credential } = requireUser(ctx.actor);
  const problems = new Problems();
  check(ProveIdentity, input, problems);
  problems.throwIfAny();
  const account = await accountWithId(ctx, userId);
  if (!account) throw notFound();
  if (account.loginType !== "password") throw conflict("Your account has no password. Sign in again.");
  const wrong = (field: keyof GivenFactor) =>
    recordRejection(ctx, account, field === "passkey" ? wrongPasskey() : wrongCode());
  const use = { purpose: "prove", userId, keyId: credential.id } as const;
  const factor = await rightFactorOf(ctx, use, input, { missing: missingCode, wrong });
  const kind = factor && ("passkeyId" in factor ? "passkey" : "code");
  if (!factor) {
    const password = input.password ?? "";
    problems.add("password", givenPasswordProblem(password));
    problems.throwIfAny();
    await verify(ctx, account, password, { refusal: () => notYourPassword("password") });
  }

  await lockUser(ctx, "me");
  if (factor && !(await spendFactor(ctx, userId, factor))) throw wrong(kind === "passkey" ? "passkey" : "oneTimeCode");
  if (factor && "recoveryHash" in factor) await tellUser(ctx, account, "recoveryCodeUsed");
  const isSame = await ctx.db.selectFrom("users").select("id").where(isUnchanged(account)).executeTakeFirst();
  if (!isSame) throw conflict("Another request has changed the account.");
  const { numUpdatedRows } = await ctx.db
    .updateTable("apiKeys")
    .set({ provedAt: now })
    .where("id", "=", credential.id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw notFound();
  ctx.audit({ action: "update", ...auditedAccount(account), diff: { proof: { new: kind ?? "password" } } });
  ctx.publish(keyHint(credential.id));
  return true;
}

/** Makes the options with which the caller's browser asks for a passkey of the caller, for `proveIdentity`. */
export async function beginPasskeyProof(ctx: Context): Promise<Record<string, unknown>> {
  const { userId, credential } = requireUser(ctx.actor);
  return askForPasskey(ctx, { purpose: "prove", userId, keyId: credential.id });
}

/**
 * Throws STEP_UP_REQUIRED unless the session of the caller was proven recently, also where the deployment asks for no proofs:
 * for changes of the factors that the caller holds.
 */
export async function requireFreshProof(ctx: Context, held: HeldFactors): Promise<void> {
  const actor = requireUser(ctx.actor);
  const { stepUpAfter } = ctx.config;
  const session = await ctx.db
    .selectFrom("apiKeys")
    .select(["createdAt", "provedAt"])
    .where("id", "=", actor.credential.id)
    .executeTakeFirst();
  if (!session) throw notFound();
  const until = instantOf(session.provedAt ?? session.createdAt) + stepUpAfter;
  requireProof({ ...actor, proof: { until, maxAge: stepUpAfter / 1000, ways: waysOf(held) } });
}
