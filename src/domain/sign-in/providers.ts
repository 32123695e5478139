import type { Context } from "../kernel/context.js";
import { requireFullSession } from "../authorization/authorization.js";
import { type Statement, statement } from "../kernel/database.js";
import { conflict, DomainError, forbidden } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { newId } from "../kernel/ids.js";
import { purge } from "../kernel/purge.js";
import { type Sql, sql } from "../kernel/sql.js";
import { type Account, accountByEmail, identified, refused } from "./accounts.js";
import { useConversion } from "./conversions.js";
import { counted } from "./counts.js";
import type { Identity, ProviderName } from "../outside/identity-providers.js";
import { emailProblem, nameProblem, realNameProblem } from "../kernel/text.js";
import { endSessions, issueSession } from "../tokens/sessions.js";
import { randomText } from "../tokens/text.js";
import { announcement, type Recipients } from "../users/account-events.js";

/** A completed sign-in at a provider. */
export interface ProviderSignIn {
  identity: Identity;
  /** SHA-256 of the state of the attempt, which is valid once. */
  stateHash: Buffer;
  /** The expiry of the state, RFC 3339. */
  expiresAt: string;
  /** SHA-256 of the state of a conversion, if the sign-in completes one. */
  conversion?: Buffer;
}

/** The user, with a new session unless the sign-in completed a conversion. */
export interface SignedIn {
  userId: string;
  sessionToken?: string;
}

const spendState = statement<{ spent: boolean }>(`
  insert into spent_sign_ins (state_hash, expires_at) values ($1, $2) on conflict do nothing returning true as spent`);

/**
 * Signs in the user of an identity: by its link to an account; otherwise by the email of an account that was created
 * for the provider and has no link; otherwise by creating an account, if allowed. An account with a password is linked
 * only by a conversion.
 */
export async function signInThroughProvider(ctx: Context, signIn: ProviderSignIn): Promise<SignedIn> {
  const { identity, stateHash, expiresAt, conversion } = signIn;
  if (!(await ctx.row(spendState, stateHash, expiresAt))) throw forbidden("This sign-in has already been used.");
  const linked = await ctx.row(accountByLink, ...keyOf(identity));
  if (conversion) {
    if (linked) throw conflict("This identity signs in to an account already.");
    return { userId: await convert(ctx, identity, conversion) };
  }
  return counted(ctx, identity.provider, async () => {
    const account = linked ?? (await linkByEmail(ctx, identity)) ?? (await createAccount(ctx, identity));
    return { userId: account.id, sessionToken: await begin(ctx, account, identity.provider) };
  });
}

const keyOf = ({ provider, issuer, subject }: Identity) => [provider, issuer, subject];

// Locks the user, so that what the sign-in checks cannot change before the commit.
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

/** Links the account with the email of the identity, if it was created for the provider and has no link. */
async function linkByEmail(ctx: Context, identity: Identity): Promise<Account | undefined> {
  const account = identity.email === undefined ? undefined : await ctx.row(lockByEmail, identity.email);
  if (!account) return undefined;
  if (account.loginType !== identity.provider) throw refused(ctx, account, otherLoginType(account));
  if (!(await ctx.row(insertLink, ...keyOf(identity), account.id))) {
    throw refused(ctx, account, forbidden("The account with this email belongs to another identity of the provider."));
  }
  ctx.audit({ action: "update", actorId: account.id, ...identified(account), diff: linkDiff(identity) });
  return account;
}

const linkDiff = ({ provider, issuer, subject }: Identity) => ({ link: { new: { provider, issuer, subject } } });

const otherLoginType = ({ loginType }: Account) =>
  forbidden("Incorrect login type.", { detail: `The account with this email signs in by ${loginType}.` });

const markSeen = statement(`update users set last_seen_at = now() where id = $1`);

/** Creates a session of a locked account. Returns its token. */
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

const changeLoginType = statement(
  `update users set login_type = $2, password_hash = null, updated_at = now() where id = $1`,
);

/** Converts the caller's login from the password to the provider. Ends the caller's other sessions. */
async function convert(ctx: Context, identity: Identity, conversion: Buffer): Promise<string> {
  if (ctx.actor.kind !== "user") throw conversionEnded();
  requireFullSession(ctx.actor);
  const { userId, credential } = ctx.actor;
  const account = identity.email === undefined ? undefined : await ctx.row(lockByEmail, identity.email);
  const isOwn = account !== undefined && account.id === userId && account.loginType === "password";
  if (!isOwn) throw forbidden("Your email at the provider differs from the email of your account.");
  if (account.status === "suspended" || !(await useConversion(ctx, conversion, userId, identity.provider))) {
    throw conversionEnded();
  }
  if (!(await ctx.row(insertLink, ...keyOf(identity), userId))) {
    throw conflict("This identity signs in to an account already.");
  }
  await ctx.rows(changeLoginType, userId, identity.provider);
  await endSessions(ctx, userId, credential.id);
  const diff = {
    loginType: { old: "password", new: identity.provider },
    password: { old: "***" },
    ...linkDiff(identity),
  };
  ctx.audit({ action: "update", ...identified(account), diff });
  return userId;
}

const conversionEnded = () => forbidden("The conversion has ended. Start a new one.");

type NewAccount = Pick<Account, "id" | "email" | "username" | "name"> & { loginType: string };

const insertAccount = ({ id, email, username, name, loginType }: NewAccount, recipients: Sql): Sql => sql`
  with created as (
    insert into users (id, created_at, updated_at, email, username, name, login_type)
    values (${id}, now(), now(), ${email}, ${username}, ${name}, ${loginType})
    on conflict do nothing
    returning *
  ), joined as (
    insert into organization_members (organization_id, user_id, created_at)
    select o.id, created.id, now() from organizations o, created where o.is_default
  )
  select id, email, username, name, password_hash as "passwordHash", status, login_type as "loginType",
    ${recipients} as recipients
  from created`;

/** Maximum number of usernames to try for a new account. */
const usernameTries = 5;

/** Creates an account, if the domain of the email is allowed. Throws FORBIDDEN otherwise. */
async function createAccount(ctx: Context, identity: Identity): Promise<Account> {
  const { email, provider } = identity;
  if (email === undefined) throw forbidden("The provider returned no verified email.");
  const domain = folded(email.slice(email.lastIndexOf("@") + 1));
  const isAllowed = ctx.config.oidcEmailDomains.includes(domain) && emailProblem(email) === undefined;
  if (!isAllowed) throw forbidden("There is no account for you here. Ask an administrator for one.");

  const name = identity.name && realNameProblem(identity.name) === undefined ? identity.name : "";
  for (let attempt = 1; attempt <= usernameTries; attempt++) {
    const username = usernameOf(identity, attempt);
    const wanted = { id: newId(), email, username, name, loginType: provider };
    const telling = announcement(ctx, "created", wanted);
    const [created] = await ctx.select<Account & { recipients: Recipients }>(insertAccount(wanted, telling.recipients));
    if (!created) continue;
    const { recipients, ...account } = created;
    if (!(await ctx.row(insertLink, ...keyOf(identity), account.id))) break;
    const diff = { email: { new: email }, username: { new: username }, loginType: { new: provider } };
    ctx.audit({
      action: "create",
      actorId: account.id,
      ...identified(account),
      diff: { ...diff, ...linkDiff(identity) },
    });
    telling.send(recipients);
    return account;
  }
  throw conflict("Another request has created an account for you. Sign in again.");
}

const longestUsername = 32;

/** Derives a username from the one at the provider or the email, with a random suffix after the first attempt. */
function usernameOf({ username, email = "" }: Identity, attempt: number): string {
  const base = (username ?? email)
    .split("@")[0]!
    .normalize("NFKD")
    .replace(/[^a-zA-Z0-9]+/g, "-");
  const suffix = attempt === 1 ? "" : `-${randomText(4).toLowerCase()}`;
  const plain = base.slice(0, longestUsername - suffix.length).replace(/^-+|-+$/g, "");
  const found = plain + suffix;
  return nameProblem(found) === undefined ? found : `user-${randomText(8).toLowerCase()}`;
}

/** Deletes expired states of sign-ins. */
export const signInPurge = purge("spent_sign_ins", { by: "expires_at" });
