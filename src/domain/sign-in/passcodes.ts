import { timingSafeEqual } from "node:crypto";
import { Context } from "../kernel/context.js";
import { systemActor } from "../kernel/actor.js";
import { statement } from "../kernel/database.js";
import { DomainError, forbidden, Problems } from "../kernel/errors.js";
import { type Account, accountById, identified, readAccount, refused } from "./accounts.js";
import { rememberAddress } from "./failures.js";
import { transportOf } from "../notifications/methods.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/accounts.js";
import { foldedSql } from "../kernel/folding.js";
import { passwordProblem } from "./passwords.js";
import { emailProblem } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";
import { revokeGrantsOfUser } from "../oauth2/grants.js";
import { hashSecret, randomText } from "../tokens/text.js";

export interface RequestOneTimePasscode {
  email?: string | null;
}

export interface ChangePasswordWithPasscode {
  email?: string | null;
  oneTimePasscode?: string | null;
  /** The new password. */
  password?: string | null;
}

/** Unambiguous capital letters and digits. A code of ten has 49 bits. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeLength = 10;

/** Maximum number of attempts per code, successful or not. */
const triesPerCode = 5;

/** Maximum number of codes per user and hour, and minimum seconds between two of them. */
const codesPerHour = 5;
const pause = 60;

/** The condition that the password of the account `u` can be reset by passcode. */
const mayReset = `u.status = 'active' and u.login_type = 'password' and u.deleted_at is null and not u.is_system`;

/**
 * Sends a passcode to the email of an account, if it exists. The lookup follows the response, so that neither the
 * response nor its timing discloses whether the account exists.
 */
export async function requestOneTimePasscode(ctx: Context, { email }: RequestOneTimePasscode): Promise<true> {
  requirePasswords(ctx);
  const address = email ?? "";
  const problems = new Problems();
  problems.add("email", emailProblem(address));
  problems.throwIfAny();
  const asSystem = new Context(ctx.services, systemActor, ctx.request, () => new AbortController());
  ctx.services.errands.run("one-time passcode", () => asSystem.transactional(() => sendPasscode(asSystem, address)));
  return true;
}

// Locks the user: a concurrent change of the account voids the code, or is seen by this statement.
const upsertPasscode = statement<Pick<Account, "id" | "username">>(`
  with made as (
    insert into one_time_passcodes as p (user_id, code_hash, expires_at, requested_at)
    select u.id, $2, now() + make_interval(secs => $3), array[now()]
    from users u where ${foldedSql("u.email")} = ${foldedSql("$1")} and ${mayReset} for no key update
    on conflict (user_id) do update
    set code_hash = excluded.code_hash, expires_at = excluded.expires_at, attempts = 0,
      requested_at = array(select at from unnest(p.requested_at) at where at > now() - interval '1 hour') || now()
    where p.requested_at[cardinality(p.requested_at)] < now() - interval '${pause} s'
      and (select count(*) from unnest(p.requested_at) at where at > now() - interval '1 hour') < ${codesPerHour}
    returning user_id
  )
  select u.id, u.username from users u join made on made.user_id = u.id`);

/** Replaces the passcode of a user, within the limits, and sends it. */
async function sendPasscode(ctx: Context, email: string): Promise<void> {
  const code = randomText(codeLength, alphabet);
  const { passcodeLifetime: lifetime } = ctx.config;
  const user = await ctx.row(upsertPasscode, email, hashSecret(code), lifetime / 1000);
  if (!user) return;
  ctx.audit({ ...identified(user), action: "create", resourceType: "one_time_passcode" });
  const sent = await notify(ctx, {
    template: accountNotifications.passcode,
    recipients: [user.id],
    targets: [],
    labels: { one_time_passcode: code },
    data: { minutes: Math.round(lifetime / 60_000) },
    lifetime,
    isSecret: true,
  });
  if (sent.length === 0) ctx.log.warn("A one-time passcode was requested, but no mail server is configured.");
}

/** Changes a password by the passcode sent to the email of the account. Ends all sessions and tokens. */
export async function changePasswordWithPasscode(ctx: Context, input: ChangePasswordWithPasscode): Promise<true> {
  requirePasswords(ctx);
  const { email, oneTimePasscode: code, password } = withoutNulls(input);
  const problems = new Problems();
  problems.add("email", emailProblem(email));
  problems.add("oneTimePasscode", code === "" ? "Is required." : undefined);
  problems.add("password", password === "" ? "Is required." : await passwordProblem(password, { email }, "stranger"));
  problems.throwIfAny();

  const passcode = await tryCode(ctx, email, code);
  try {
    await spend(ctx, passcode, password);
  } catch (error) {
    // Only after domain errors: after others, the transaction may still lock the row.
    if (error instanceof DomainError) await ctx.services.database.query(giveTryBack, [passcode.id, passcode.codeHash]);
    throw error;
  }
  await rememberAddress(ctx, passcode.id);
  return true;
}

const withoutNulls = ({ email, oneTimePasscode, password }: ChangePasswordWithPasscode) => ({
  email: email ?? "",
  oneTimePasscode: oneTimePasscode ?? "",
  password: password ?? "",
});

/** Whether users can request passcodes: passwords are in use, and there is a way to deliver passcodes. */
export const sendsPasscodes = async (ctx: Context): Promise<boolean> =>
  ctx.config.passwordAuth && (await transportOf(ctx, accountNotifications.passcode)) !== undefined;

function requirePasswords({ config }: Context): void {
  if (!config.passwordAuth) throw forbidden("Password authentication is disabled.");
}

/** The stored passcode of an attempt, and its user. */
interface Passcode {
  id: string;
  username: string;
  codeHash: Buffer;
}

// Postgres checks the condition again after it waited for the row lock, so concurrent attempts cannot exceed the limit.
// The commit does not wait for the disk, because the timing would disclose that there is a code; a crash of Postgres can
// lose the count.
const countTry = statement<Passcode | { id: null }>(`
  with unawaited as (select set_config('synchronous_commit', 'off', true)),
  tried as (
    update one_time_passcodes p set attempts = p.attempts + 1 from users u
    where u.id = p.user_id and ${foldedSql("u.email")} = ${foldedSql("$1")} and ${mayReset}
      and p.code_hash is not null and p.attempts < ${triesPerCode} and p.expires_at > now()
    returning u.id, u.username, p.code_hash
  )
  select tried.id, tried.username, tried.code_hash as "codeHash" from unawaited left join tried on true`);

const giveTryBack = statement(`
  update one_time_passcodes set attempts = attempts - 1 where user_id = $1 and code_hash = $2`);

/**
 * Returns the passcode if the code is correct. Counts the attempt before the comparison and outside of the transaction
 * of the request, so that a rollback does not revert it.
 */
async function tryCode(ctx: Context, email: string, code: string): Promise<Passcode> {
  const [tried] = await ctx.services.database.query(countTry, [email]);
  if (!tried || tried.id === null) throw wrongCode();
  const given = hashSecret(code.trim().toUpperCase());
  if (!timingSafeEqual(given, tried.codeHash)) throw refused(ctx, tried, wrongCode());
  return tried;
}

/** The same error for a wrong code and a wrong email. */
const wrongCode = () => new DomainError("BAD_USER_INPUT", "Incorrect email or one-time passcode.");

// A concurrent login either commits its session before this statement, or fails because the password has changed.
const lockUser = statement(`select from users where id = $1 for no key update`);

// The change of the password voids the code.
const changePassword = statement<{ id: string }>(`
  with changed as (
    update users u set password_hash = $4, updated_at = now() from one_time_passcodes p
    where u.id = $1 and p.user_id = u.id and p.code_hash = $2 and p.expires_at > now()
      and u.password_hash is not distinct from $3 and ${mayReset}
    returning u.id
  ), ended as (
    delete from api_keys k using changed where k.user_id = changed.id
  )
  select id from changed`);

/** Changes the password and consumes the code. After an invalid password, the code stays valid. */
async function spend(ctx: Context, { id, codeHash }: Passcode, password: string): Promise<void> {
  const account = await readAccount(ctx, accountById, id);
  if (!account) throw wrongCode();
  const { passwords } = ctx.services;
  const problems = new Problems();
  problems.add("password", await passwordProblem(password, account, "stranger"));
  if (problems.isEmpty && (await passwords.verify(account.passwordHash ?? undefined, password, "stranger")))
    problems.add("password", "Must differ from the current password.");
  problems.throwIfAny();

  const hash = await passwords.hash(password, "stranger");
  await ctx.rows(lockUser, id);
  if (!(await ctx.row(changePassword, id, codeHash, account.passwordHash, hash))) throw wrongCode();
  await revokeGrantsOfUser(ctx, id, "password_reset");
  const diff = { password: { old: "***", new: "***" } };
  ctx.audit({ action: "update", actorId: id, ...identified(account), diff });
  ctx.publish(userHint(id));
}
