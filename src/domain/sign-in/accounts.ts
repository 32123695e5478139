import type { Context } from "../kernel/context.js";
import { auditAtOnce, auditedAs } from "../audit/audit.js";
import { type Statement, statement } from "../kernel/database.js";
import { DomainError } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import type { Lane } from "../outside/lanes.js";
import { isTooLong, longestPassword } from "./passwords.js";
import type { LoginType, UserStatus } from "../users/users.js";

/** The fields of a user that sign-in reads. */
export interface Account {
  id: string;
  email: string;
  username: string;
  name: string;
  passwordHash: string | null;
  status: UserStatus;
  loginType: LoginType;
}

type Named = Pick<Account, "id" | "username">;

const select = (condition: string) => `
  select id, email, username, name, password_hash as "passwordHash", status, login_type as "loginType"
  from users where ${condition} and deleted_at is null and not is_system`;

export const accountByEmail = statement<Account>(select(`${foldedSql("email")} = ${foldedSql("$1")}`));
export const accountById = statement<Account>(select("id = $1"));

/**
 * Reads an account outside of the transaction of the request, which must not hold a connection while passwords are
 * queued for hashing.
 */
export async function readAccount(
  ctx: Context,
  by: Statement<Account>,
  value?: string | null,
): Promise<Account | undefined> {
  return (await ctx.services.database.query(by, [value ?? null]))[0];
}

/**
 * Returns the account if the password is correct, otherwise throws `refusal`. Neither the work nor the error depends on
 * whether the account exists and has a password.
 */
export async function verify(
  ctx: Context,
  account: Account | undefined,
  password: string,
  { lane = "signedIn", refusal = wrongPassword }: { lane?: Lane; refusal?: () => DomainError } = {},
): Promise<Account> {
  const isRight = await ctx.services.passwords.verify(account?.passwordHash ?? undefined, password, lane);
  if (account && isRight) return account;
  throw account ? refused(ctx, account, refusal()) : refusal();
}

/**
 * Returns the error to throw, and records the failed login: outside of the transaction, which is rolled back, and after
 * the response, so that its timing does not disclose whether the account exists.
 */
export function refused(ctx: Context, account: Named, refusal: DomainError): DomainError {
  setImmediate(() => void recordRefusal(ctx, account));
  return refusal;
}

async function recordRefusal(ctx: Context, account: Named): Promise<void> {
  try {
    await auditAtOnce(ctx, { action: "login_failed", actorId: account.id, ...identified(account) });
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.request.id }, "A failed login could not be recorded.");
  }
}

export const wrongPassword = () => new DomainError("UNAUTHENTICATED", "Incorrect email or password.");

export function givenPasswordProblem(password: string | null | undefined): string | undefined {
  if (!password) return "Is required.";
  return isTooLong(password) ? `Must be at most ${longestPassword} bytes long.` : undefined;
}

export const identified = ({ id, username }: Named) => auditedAs("user", id, username);
