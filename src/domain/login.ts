import type { Context } from "../context.js";
import { auditStatement } from "./audit.js";
import { authorize } from "./authorization.js";
import { statement } from "./database.js";
import { badInput, conflict, DomainError, forbidden, notFound, Problems } from "./errors.js";
import { isTooLong, longestPassword, passwordProblem } from "./passwords.js";
import { endSessions, issueSession } from "./tokens.js";
import type { LoginType, UserStatus } from "./users.js";

export interface Login {
  email?: string | null;
  password?: string | null;
}

export interface ChangePassword {
  currentPassword?: string | null;
  newPassword?: string | null;
}

/** What decides whether somebody may sign in. */
interface Account {
  id: string;
  email: string;
  username: string;
  name: string;
  passwordHash: string | null;
  status: UserStatus;
  loginType: LoginType;
}

const select = (condition: string) => `
  select id, email, username, name, password_hash as "passwordHash", status, login_type as "loginType"
  from users where ${condition} and deleted_at is null and not is_system`;

const accountByEmail = statement<Account>(select("lower(email) = lower($1)"));
const accountById = statement<Account>(select("id = $1"));

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

  const account = await verify(ctx, await readAccount(ctx, accountByEmail, email), password ?? "");
  if (account.loginType !== "password") {
    throw refused(ctx, account, forbidden("Incorrect login type.", { detail: `Sign in by ${account.loginType}.` }));
  }
  if (account.status === "suspended") {
    throw refused(ctx, account, new DomainError("UNAUTHENTICATED", "Your account is suspended."));
  }
  const hash = await currentHash(ctx, account, password ?? "");
  if (!(await ctx.row(enter, account.id, account.passwordHash, hash))) throw refused(ctx, account, wrongPassword());
  const sessionToken = await issueSession(ctx, account.id);
  ctx.audit({ action: "login", actorId: account.id, ...identified(account) });
  return { userId: account.id, sessionToken };
}

const replacePassword = statement<{ id: string }>(`
  update users set password_hash = $3, updated_at = now() where id = $1 and password_hash = $2 returning id`);

/** Gives the caller another password. All other sessions of the caller end. */
export async function changePassword(ctx: Context, { currentPassword, newPassword }: ChangePassword): Promise<string> {
  const account = await readAccount(ctx, accountById, ctx.actor.userId);
  if (!account) throw notFound();
  authorize(ctx.actor, "user:update_personal", { ownerId: account.id });
  if (ctx.actor.credential?.kind === "oauth") throw forbidden("OAuth2 tokens cannot change passwords.");
  const problems = new Problems();
  problems.add("currentPassword", givenPasswordProblem(currentPassword));
  problems.add("newPassword", await newPasswordProblem(newPassword ?? "", currentPassword, account));
  problems.throwIfAny();
  if (account.loginType !== "password") {
    throw badInput([{ field: "currentPassword", detail: "Only users who sign in with a password have one." }]);
  }

  await verify(ctx, account, currentPassword ?? "");
  const hash = await ctx.services.passwords.hash(newPassword ?? "");
  if (!(await ctx.row(replacePassword, account.id, account.passwordHash, hash))) {
    throw conflict("The password was changed by somebody else meanwhile.");
  }
  await endSessions(ctx, account.id, ctx.actor.credential?.id);
  ctx.audit({ action: "update", ...identified(account), diff: { password: { old: "***", new: "***" } } });
  return account.id;
}

/**
 * Reads outside the transaction, which has not begun yet: it begins with its first statement, and a connection must
 * not be held while passwords wait for their turn.
 */
async function readAccount(ctx: Context, by: typeof accountById, value?: string | null): Promise<Account | undefined> {
  return (await ctx.services.database.query(by, [value ?? null]))[0];
}

/** Gives the account if the password is right. The work and the answer are the same whatever is wrong. */
async function verify(ctx: Context, account: Account | undefined, password: string): Promise<Account> {
  const isRight = await ctx.services.passwords.verify(account?.passwordHash ?? undefined, password);
  if (account && isRight) return account;
  throw account ? refused(ctx, account, wrongPassword()) : wrongPassword();
}

/**
 * Records a refusal, and gives it to be thrown. It is written apart, since the transaction of the request comes to
 * nothing, and only once the answer is on its way: one that takes longer would tell that the account exists.
 */
function refused(ctx: Context, account: Account, refusal: DomainError): DomainError {
  setImmediate(() => void recordRefusal(ctx, account));
  return refusal;
}

async function recordRefusal(ctx: Context, account: Account): Promise<void> {
  const event = auditStatement(ctx, { action: "login_failed", actorId: account.id, ...identified(account) });
  try {
    await ctx.services.database.query(...event);
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.request.id }, "A failed login could not be recorded.");
  }
}

/** The hash to keep: a new one if today's cost differs from that of the stored one. */
function currentHash({ services: { passwords } }: Context, { passwordHash }: Account, password: string) {
  return passwordHash && passwords.needsRehash(passwordHash) ? passwords.hash(password) : passwordHash;
}

const wrongPassword = () => new DomainError("UNAUTHENTICATED", "Incorrect email or password.");

function givenPasswordProblem(password: string | null | undefined): string | undefined {
  if (!password) return "Is required.";
  return isTooLong(password) ? `Must be at most ${longestPassword} bytes long.` : undefined;
}

async function newPasswordProblem(wanted: string, current: string | null | undefined, account: Account) {
  return wanted === current ? "Must differ from the current password." : passwordProblem(wanted, account);
}

const identified = ({ id, username }: Account) => ({ resourceType: "user", resourceId: id, resourceLabel: username });
