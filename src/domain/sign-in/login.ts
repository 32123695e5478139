import type { Context } from "../kernel/context.js";
import { authorize, ownAccount } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { badInput, conflict, DomainError, forbidden, notFound, Problems } from "../kernel/errors.js";
import {
  type Account,
  accountByEmail,
  accountById,
  givenPasswordProblem,
  identified,
  readAccount,
  refused,
  verify,
  wrongPassword,
} from "./accounts.js";
import { limitFailures, rememberAddress } from "./failures.js";
import { passwordProblem } from "./passwords.js";
import { endSessions, issueSession } from "../tokens/tokens.js";

export interface Login {
  email?: string | null;
  password?: string | null;
}

export interface ChangePassword {
  currentPassword?: string | null;
  newPassword?: string | null;
}

// What was verified must still be true: the password may have changed, or the user be suspended, meanwhile.
const enter = statement<{ id: string }>(`
  update users set password_hash = $3, last_seen_at = now()
  where id = $1 and password_hash = $2 and status = 'active' and login_type = 'password' and deleted_at is null
  returning id`);

/** Signs a user in by e-mail and password. Nobody can tell an unknown e-mail from a wrong password. */
export async function login(
  ctx: Context,
  { email, password }: Login,
): Promise<{ userId: string; sessionToken: string }> {
  if (!ctx.config.passwordAuth) throw forbidden("Password authentication is disabled.");
  const problems = new Problems();
  problems.add("email", email ? undefined : "Is required.");
  problems.add("password", givenPasswordProblem(password));
  problems.throwIfAny();

  const found = await readAccount(ctx, accountByEmail, email);
  const account = await limitFailures(ctx, email ?? "", found?.id, () =>
    verify(ctx, found, password ?? "", { lane: "stranger" }),
  );
  if (account.loginType !== "password") {
    throw refused(ctx, account, forbidden("Incorrect login type.", { detail: `Sign in by ${account.loginType}.` }));
  }
  if (account.status === "suspended") {
    throw refused(ctx, account, new DomainError("UNAUTHENTICATED", "Your account is suspended."));
  }
  const hash = await currentHash(ctx, account, password ?? "");
  if (!(await ctx.row(enter, account.id, account.passwordHash, hash))) throw refused(ctx, account, wrongPassword());
  const sessionToken = await issueSession(ctx, account.id);
  await rememberAddress(ctx, account.id);
  ctx.audit({ action: "login", actorId: account.id, ...identified(account) });
  return { userId: account.id, sessionToken };
}

/** No UNAUTHENTICATED: the session goes on, and clients take that code for its end. */
const notYourPassword = () => badInput([{ field: "currentPassword", detail: "Is not your password." }]);

const replacePassword = statement<{ id: string }>(`
  update users set password_hash = $3, updated_at = now() where id = $1 and password_hash = $2 returning id`);

/** Gives the caller another password. All other sessions of the caller end. */
export async function changePassword(ctx: Context, { currentPassword, newPassword }: ChangePassword): Promise<string> {
  const account = await readAccount(ctx, accountById, ctx.actor.userId);
  if (!account) throw notFound();
  authorize(ctx.actor, "user:update_personal", ownAccount(ctx.actor));
  const problems = new Problems();
  problems.add("currentPassword", givenPasswordProblem(currentPassword));
  problems.add("newPassword", await newPasswordProblem(newPassword ?? "", currentPassword, account));
  problems.throwIfAny();
  if (account.loginType !== "password") {
    throw badInput([{ field: "currentPassword", detail: "Only users who sign in with a password have one." }]);
  }

  await verify(ctx, account, currentPassword ?? "", { refusal: notYourPassword });
  const hash = await ctx.services.passwords.hash(newPassword ?? "");
  if (!(await ctx.row(replacePassword, account.id, account.passwordHash, hash))) {
    throw conflict("The password was changed by somebody else meanwhile.");
  }
  await endSessions(ctx, account.id, ctx.actor.credential?.id);
  ctx.audit({ action: "update", ...identified(account), diff: { password: { old: "***", new: "***" } } });
  return account.id;
}

/** The hash to keep: a new one if today's cost differs from that of the stored one. */
function currentHash({ services: { passwords } }: Context, { passwordHash }: Account, password: string) {
  return passwordHash && passwords.needsRehash(passwordHash) ? passwords.hash(password, "stranger") : passwordHash;
}

async function newPasswordProblem(wanted: string, current: string | null | undefined, account: Account) {
  return wanted === current ? "Must differ from the current password." : passwordProblem(wanted, account);
}
