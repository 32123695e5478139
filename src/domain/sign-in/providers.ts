import type { Context, Services } from "../kernel/context.js";
import { requireFullSession } from "../authorization/authorization.js";
import { type Statement, statement } from "../kernel/database.js";
import { conflict, DomainError, forbidden } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { newId } from "../kernel/ids.js";
import { type Account, accountByEmail, identified, refused } from "./accounts.js";
import { useConversion } from "./conversions.js";
import type { Identity, ProviderName } from "../outside/identity-providers.js";
import { emailProblem, nameProblem, realNameProblem } from "../kernel/text.js";
import { endSessions, issueSession } from "../tokens/tokens.js";
import { randomText } from "../tokens/text.js";

/** Somebody who comes back from a provider. */
export interface ProviderSignIn {
  identity: Identity;
  /** SHA-256 of the state that led there: it is good for one sign-in. */
  stateHash: Buffer;
  /** RFC 3339: the state ends here. */
  expiresAt: string;
  /** SHA-256 of the state of a conversion that the caller asked for. */
  conversion?: Buffer;
}

/** What became of it: a new session, or a converted account whose session goes on. */
export interface SignedIn {
  userId: string;
  sessionToken?: string;
}

const spendState = statement<{ spent: boolean }>(`
  insert into spent_sign_ins (state_hash, expires_at) values ($1, $2) on conflict do nothing returning true as spent`);

/**
 * Signs somebody in whom a provider vouches for: by the link to an account; else by the e-mail of an account that waits
 * for its first sign-in there; else as a new account, where that is allowed. An account with a password is linked only
 * when its user asks for the conversion.
 */
export async function signInThroughProvider(ctx: Context, signIn: ProviderSignIn): Promise<SignedIn> {
  const { identity, stateHash, expiresAt, conversion } = signIn;
  if (!(await ctx.row(spendState, stateHash, expiresAt))) throw forbidden("This sign-in was used already.");
  const linked = await ctx.row(accountByLink, ...keyOf(identity));
  if (conversion) {
    if (linked) throw conflict("This identity signs in to an account already.");
    return { userId: await convert(ctx, identity, conversion) };
  }
  const account = linked ?? (await adopt(ctx, identity)) ?? (await createAccount(ctx, identity));
  return { userId: account.id, sessionToken: await begin(ctx, account, identity.provider) };
}

const keyOf = ({ provider, issuer, subject }: Identity) => [provider, issuer, subject];

// Whoever signs in holds the user's row, so that nothing is decided about what changes meanwhile.
const locked = ({ text }: Statement<Account>) => statement<Account>(`${text} for no key update`);
const lockByEmail = locked(accountByEmail);
const accountByLink = locked(
  statement<Account>(`
    select id, email, username, name, password_hash as "passwordHash", status, login_type as "loginType" from users
    where id = (select user_id from user_links where provider = $1 and issuer = $2 and subject = $3)
      and deleted_at is null and not is_system`),
);

const insertLink = statement<{ linked: boolean }>(`
  insert into user_links (provider, issuer, subject, user_id, created_at) values ($1, $2, $3, $4, now())
  on conflict do nothing returning true as linked`);

/** Links the account of the identity's e-mail, if there is one that was made to sign in there and never did. */
async function adopt(ctx: Context, identity: Identity): Promise<Account | undefined> {
  const account = identity.email === undefined ? undefined : await ctx.row(lockByEmail, identity.email);
  if (!account) return undefined;
  if (account.loginType !== identity.provider) throw refused(ctx, account, otherLoginType(account));
  if (!(await ctx.row(insertLink, ...keyOf(identity), account.id))) {
    throw refused(ctx, account, forbidden("The account of this e-mail belongs to another identity of the provider."));
  }
  ctx.audit({ action: "update", actorId: account.id, ...identified(account), diff: linkDiff(identity) });
  return account;
}

const linkDiff = ({ provider, issuer, subject }: Identity) => ({ link: { new: { provider, issuer, subject } } });

const otherLoginType = ({ loginType }: Account) =>
  forbidden("Incorrect login type.", { detail: `The account of this e-mail signs in by ${loginType}.` });

const markSeen = statement(`update users set last_seen_at = now() where id = $1`);

/** Begins a session of an account that is locked. */
async function begin(ctx: Context, account: Account, provider: ProviderName): Promise<string> {
  if (account.loginType !== provider) throw refused(ctx, account, otherLoginType(account));
  if (account.status === "suspended") {
    throw refused(ctx, account, new DomainError("UNAUTHENTICATED", "Your account is suspended."));
  }
  await ctx.rows(markSeen, account.id);
  const sessionToken = await issueSession(ctx, account.id);
  ctx.audit({ action: "login", actorId: account.id, ...identified(account), diff: { provider: { new: provider } } });
  return sessionToken;
}

const changeLoginType = statement(`
  with forgotten as (delete from one_time_passcodes where user_id = $1)
  update users set login_type = $2, password_hash = null, updated_at = now() where id = $1`);

/** Lets the caller sign in through the provider from now on, and with the password no more. Other sessions end. */
async function convert(ctx: Context, identity: Identity, conversion: Buffer): Promise<string> {
  const { userId, credential } = ctx.actor;
  if (userId === undefined) throw conversionEnded();
  requireFullSession(ctx.actor);
  const account = identity.email === undefined ? undefined : await ctx.row(lockByEmail, identity.email);
  const isOwn = account !== undefined && account.id === userId && account.loginType === "password";
  if (!isOwn) throw forbidden("The provider knows you by another e-mail than your account has.");
  if (account.status === "suspended" || !(await useConversion(ctx, conversion, userId, identity.provider))) {
    throw conversionEnded();
  }
  if (!(await ctx.row(insertLink, ...keyOf(identity), userId))) {
    throw conflict("This identity signs in to an account already.");
  }
  await ctx.rows(changeLoginType, userId, identity.provider);
  await endSessions(ctx, userId, credential?.id);
  const diff = {
    loginType: { old: "password", new: identity.provider },
    password: { old: "***" },
    ...linkDiff(identity),
  };
  ctx.audit({ action: "update", ...identified(account), diff });
  return userId;
}

const conversionEnded = () => forbidden("The conversion has ended. Ask for another one.");

const insertAccount = statement<Account>(`
  with created as (
    insert into users (id, created_at, updated_at, email, username, name, login_type)
    values ($1, now(), now(), $2, $3, $4, $5)
    on conflict do nothing
    returning *
  ), joined as (
    insert into organization_members (organization_id, user_id, created_at)
    select o.id, created.id, now() from organizations o, created where o.is_default
  )
  select id, email, username, name, password_hash as "passwordHash", status, login_type as "loginType" from created`);

/** Usernames that are tried for one newcomer. */
const usernameTries = 5;

/** Makes an account for somebody new, if people of their e-mail's domain are welcome. */
async function createAccount(ctx: Context, identity: Identity): Promise<Account> {
  const { email, provider } = identity;
  if (email === undefined) throw forbidden("The provider does not vouch for an e-mail of yours.");
  const domain = folded(email.slice(email.lastIndexOf("@") + 1));
  const isWelcome = ctx.config.oidcEmailDomains.includes(domain) && emailProblem(email) === undefined;
  if (!isWelcome) throw forbidden("There is no account for you here. Ask an administrator for one.");

  const name = identity.name && realNameProblem(identity.name) === undefined ? identity.name : "";
  for (let attempt = 1; attempt <= usernameTries; attempt++) {
    const username = usernameOf(identity, attempt);
    const account = await ctx.row(insertAccount, newId(), email, username, name, provider);
    if (!account) continue;
    if (!(await ctx.row(insertLink, ...keyOf(identity), account.id))) break;
    const diff = { email: { new: email }, username: { new: username }, loginType: { new: provider } };
    ctx.audit({
      action: "create",
      actorId: account.id,
      ...identified(account),
      diff: { ...diff, ...linkDiff(identity) },
    });
    return account;
  }
  throw conflict("An account for you was made at the same moment. Sign in again.");
}

const longestUsername = 32;

/** What the provider calls the person, in characters that usernames have; with something random if that is taken. */
function usernameOf({ username, email = "" }: Identity, attempt: number): string {
  const wanted = (username ?? email)
    .split("@")[0]!
    .normalize("NFKD")
    .replace(/[^a-zA-Z0-9]+/g, "-");
  const suffix = attempt === 1 ? "" : `-${randomText(4).toLowerCase()}`;
  const plain = wanted.slice(0, longestUsername - suffix.length).replace(/^-+|-+$/g, "");
  const found = plain + suffix;
  return nameProblem(found) === undefined ? found : `user-${randomText(8).toLowerCase()}`;
}

const deleteEnded = statement<{ stateHash: Buffer }>(`
  delete from spent_sign_ins where state_hash in (
    select state_hash from spent_sign_ins where expires_at < now() limit 1000 for update skip locked
  )
  returning state_hash as "stateHash"`);

const deleteConversions = statement<{ userId: string }>(`
  delete from login_conversions where user_id in (
    select user_id from login_conversions where expires_at < now() limit 1000 for update skip locked
  )
  returning user_id as "userId"`);

/** Deletes what sign-ins and conversions leave behind, once their time is over. Every replica may run it at any time. */
export async function deleteEndedSignIns({ database }: Pick<Services, "database">): Promise<void> {
  await database.exhaust(deleteEnded);
  await database.exhaust(deleteConversions);
}
