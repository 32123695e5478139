import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, notFound, Problems } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { check, inputOf, type Input, optional } from "../kernel/values.js";
import { keyHint } from "../tokens/hints.js";
import { lockUser } from "../users/users.js";
import { missingCode, oneTimeCode, rightCodeOf, spendCode, wrongCode } from "./one-time-codes.js";
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
    "A code of the caller's authenticator, or a recovery code. Required if there is an authenticator.",
  ),
  password: optional(givenPassword, "The caller's password. Required if there is no authenticator."),
});
export type ProveIdentity = Input<typeof ProveIdentity>;

/** Proves again who the caller is: by a code if the account has an authenticator, else by the password. */
export async function proveIdentity(ctx: Context, input: ProveIdentity): Promise<true> {
  const { userId, credential } = requireUser(ctx.actor);
  const problems = new Problems();
  check(ProveIdentity, input, problems);
  problems.throwIfAny();
  const account = await accountWithId(ctx, userId);
  if (!account) throw notFound();
  if (account.loginType !== "password") throw conflict("Your account has no password. Sign in again.");
  const wrong = () => recordRejection(ctx, account, wrongCode());
  const code = await rightCodeOf(ctx, userId, input.oneTimeCode, { missing: missingCode, wrong });
  if (!code) {
    const password = input.password ?? "";
    problems.add("password", givenPasswordProblem(password));
    problems.throwIfAny();
    await verify(ctx, account, password, { refusal: () => notYourPassword("password") });
  }

  await lockUser(ctx, "me");
  if (code && !(await spendCode(ctx, userId, code))) throw wrong();
  const isSame = await ctx.db.selectFrom("users").select("id").where(isUnchanged(account)).executeTakeFirst();
  if (!isSame) throw conflict("Another request has changed the account.");
  const { numUpdatedRows } = await ctx.db
    .updateTable("apiKeys")
    .set({ provedAt: now })
    .where("id", "=", credential.id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw notFound();
  ctx.audit({ action: "update", ...auditedAccount(account), diff: { proof: { new: code ? "code" : "password" } } });
  ctx.publish(keyHint(credential.id));
  return true;
}
