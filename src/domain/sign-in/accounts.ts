import type { Context } from "../kernel/context.js";
import { auditStatement } from "../audit/audit.js";
import { type Statement, statement } from "../kernel/database.js";
import { DomainError } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import type { Lane } from "../outside/lanes.js";
import { isTooLong, longestPassword } from "./passwords.js";
import type { LoginType, UserStatus } from "../users/users.js";

/** What decides whether somebody may sign in. */
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
 * Reads outside the transaction, which has not begun yet: it begins with its first statement, and a connection must
 * not be held while passwords wait for their turn.
 */
export async function readAccount(
  ctx: Context,
  by: Statement<Account>,
  value?: string | null,
): Promise<Account | undefined> {
  return (await ctx.services.database.query(by, [value ?? null]))[0];
}

/**
 * Gives the account if the password is right, else throws what `refusal` makes. The work and the response are the same
 * whatever is wrong.
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
 * Records a refusal, and gives it to be thrown. It is written apart, since the transaction of the request comes to
 * nothing, and only once the answer is on its way: one that takes longer would tell that the account exists.
 */
export function refused(ctx: Context, account: Named, refusal: DomainError): DomainError {
  setImmediate(() => void recordRefusal(ctx, account));
  return refusal;
}

async function recordRefusal(ctx: Context, account: Named): Promise<void> {
  const event = auditStatement(ctx, { action: "login_failed", actorId: account.id, ...identified(account) });
  try {
    await ctx.services.database.query(...event);
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.request.id }, "A failed login could not be recorded.");
  }
}

export const wrongPassword = () => new DomainError("UNAUTHENTICATED", "Incorrect email or password.");

export function givenPasswordProblem(password: string | null | undefined): string | undefined {
  if (!password) return "Is required.";
  return isTooLong(password) ? `Must be at most ${longestPassword} bytes long.` : undefined;
}

export const identified = ({ id, username }: Named) => ({
  resourceType: "user",
  resourceId: id,
  resourceLabel: username,
});
