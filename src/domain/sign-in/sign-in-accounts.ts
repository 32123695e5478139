import { type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { auditAtOnce, auditedAs } from "../kernel/audit.js";
import { badInput, DomainError } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn } from "../kernel/queries.js";
import type { PasswordQueue } from "../../infrastructure/passwords/password-queues.js";
import { isTooLong, longestPassword } from "./password-strength.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const users = columnsOf("users");

/** The columns of an `Account`. */
export const accountFields = ["id", "email", "username", "name", "passwordHash", "status", "loginType"] as const;

/** Selects what sign-in reads of users. */
export const accounts = (db: Db) =>
  db.selectFrom("users").where("deletedAt", "is", null).where("isSystem", "=", false).select(accountFields);

export type Account = InferResult<ReturnType<typeof accounts>>[number];

type Named = Pick<Account, "id" | "username">;

export const accountsWithEmail = (db: Db, email: string) =>
  accounts(db).where(foldedColumn("email"), "=", foldCase(email));

/**
 * Reads an account by its email, outside of the transaction of the request, which must not hold a connection while
 * passwords are queued for hashing.
 */
export const accountWithEmail = ({ services: { database } }: Context, email: string): Promise<Account | undefined> =>
  accountsWithEmail(database.db, email).executeTakeFirst();

/** Reads an account by its id, outside of the transaction of the request. */
export const accountWithId = ({ services: { database } }: Context, id: string): Promise<Account | undefined> =>
  accounts(database.db).where("id", "=", id).executeTakeFirst();

/** The condition that an account has not changed since its password was verified, and signs in with that password. */
export const isUnchanged = ({
  id,
  passwordHash,
}: Account) => sql<SqlBool>`(id = ${id} and ${users.passwordHash} = ${passwordHash}
  and status = 'active' and ${users.loginType} = 'password' and ${users.deletedAt} is null)`;

/**
 * Returns the account if the password is correct, otherwise throws `refusal`. Neither the work nor the error depends on
 * whether the account exists and has a password.
 */
export async function verify(
  ctx: Context,
  account: Account | undefined,
  password: string,
  { queue = "signedIn", refusal = wrongPassword }: { queue?: PasswordQueue; refusal?: () => DomainError } = {},
): Promise<Account> {
  const isRight = await ctx.services.passwords.verify(account?.passwordHash ?? undefined, password, queue);
  if (account && isRight) return account;
  throw account ? recordRejection(ctx, account, refusal()) : refusal();
}

/**
 * Returns the error to throw, and records the failed login: outside of the transaction, which is rolled back, and after
 * the response, so that its timing does not disclose whether the account exists.
 */
export function recordRejection(ctx: Context, account: Named, refusal: DomainError): DomainError {
  setImmediate(() => void recordRefusal(ctx, account));
  return refusal;
}

async function recordRefusal(ctx: Context, account: Named): Promise<void> {
  try {
    await auditAtOnce(ctx, { action: "login_failed", actorId: account.id, ...auditedAccount(account) });
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.request.id }, "A failed login could not be recorded.");
  }
}

/** Not UNAUTHENTICATED, which clients interpret as the end of the session. */
export const notYourPassword = (field: string) => badInput([{ field, detail: "Is not your password." }]);

export const wrongPassword = () => new DomainError("UNAUTHENTICATED", "Incorrect email or password.");

export function givenPasswordProblem(password: string): string | undefined {
  if (password === "") return "Is required.";
  return isTooLong(password) ? `Must be at most ${longestPassword} bytes long.` : undefined;
}

export const auditedAccount = ({ id, username }: Named) => auditedAs("user", id, username);
