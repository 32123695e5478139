import { sql } from "kysely";
import type { Context } from "../kernel/context.js";
import { requireFullSession } from "../authorization/authorization.js";
import { conflict, DomainError, forbidden, onViolation } from "../kernel/errors.js";
import { now, foldedColumn } from "../kernel/queries.js";
import { purge } from "../../infrastructure/database/purge.js";
import { cleanLabel, foldCase } from "../../runtime/text.js";
import { emailAddress, isValid } from "../kernel/values.js";
import { usernameValue } from "../users/names.js";
import { newId } from "../kernel/ids.js";
import { randomText } from "../../runtime/random.js";
import {
  type Account,
  accountFields,
  accounts,
  accountsWithEmail,
  auditedAccount,
  recordRejection,
} from "./sign-in-accounts.js";
import { useConversion } from "./conversions.js";
import { countSignIn } from "./counted-sign-ins.js";
import type { Identity, ProviderName } from "../../infrastructure/identity-providers.js";
import { endSessions, issueSession } from "../tokens/sessions.js";
import { isInDomains } from "../../infrastructure/oidc-claims.js";
import { link, linkDiff, userLinkedTo } from "./user-identities.js";
import { giveAccess, type Offer, offerToIdentity } from "../invitations/accepting.js";
import { announce } from "../users/account-events.js";
import { isKnownAs } from "../users/accounts.js";
import { releaseFormerEmail } from "../users/former-emails.js";
import { longestName } from "../../entities/lengths.js";

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

/**
 * Signs in the user of an identity: by its link to an account; otherwise by the email of an account that was created
 * for the provider and has no link; otherwise by creating an account, if allowed. An account with a password is linked
 * only by a conversion.
 */
export async function signInThroughProvider(ctx: Context, signIn: ProviderSignIn): Promise<SignedIn> {
  const { identity, stateHash, expiresAt, conversion } = signIn;
  const { numInsertedOrUpdatedRows } = await ctx.db
    .insertInto("spentSignIns")
    .values({ stateHash, expiresAt })
    .onConflict((used) => used.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) throw forbidden("This sign-in has already been used.");
  const linked = await accountLinkedTo(ctx, identity);
  if (conversion) {
    if (linked) throw conflict("This identity signs in to an account already.");
    return { userId: await convert(ctx, identity, conversion) };
  }
  return countSignIn(ctx, identity.provider, async () => {
    const account = linked ?? (await linkByEmail(ctx, identity)) ?? (await createAccount(ctx, identity));
    const sessionToken = await begin(ctx, account, identity.provider);
    if (linked) await followEmail(ctx, linked, identity);
    return { userId: account.id, sessionToken };
  });
}

// Both lock the user, so that what the sign-in checks cannot change before the commit.

async function accountLinkedTo(ctx: Context, identity: Identity): Promise<Account | undefined> {
  const id = await userLinkedTo(ctx, identity);
  if (id === undefined) return undefined;
  const account = await accounts(ctx.db).where("id", "=", id).forNoKeyUpdate().executeTakeFirst();
  // An administrator may have unlinked the identity, or linked it to another user, while the lock was awaited.
  return (await userLinkedTo(ctx, identity)) === id ? account : accountLinkedTo(ctx, identity);
}

const accountWithEmailOf = async ({ db }: Context, { email }: Identity): Promise<Account | undefined> =>
  email === undefined ? undefined : accountsWithEmail(db, email).forNoKeyUpdate().executeTakeFirst();

/** Links the account with the email of the identity, if it was created for the provider and has no link. */
async function linkByEmail(ctx: Context, identity: Identity): Promise<Account | undefined> {
  if (identity.email !== undefined) await releaseFormerEmail(ctx, identity.email);
  const account = await accountWithEmailOf(ctx, identity);
  if (!account) return undefined;
  if (account.loginType !== identity.provider) throw recordRejection(ctx, account, otherLoginType(account));
  if (!(await link(ctx, identity, account.id))) {
    throw recordRejection(
      ctx,
      account,
      forbidden("The account with this email belongs to another identity of the provider."),
    );
  }
  ctx.audit({ action: "update", actorId: account.id, ...auditedAccount(account), diff: linkDiff({ new: identity }) });
  return account;
}

const otherLoginType = ({ loginType }: Account) =>
  forbidden("Incorrect login type.", { detail: `The account with this email signs in by ${loginType}.` });

/** Creates a session of a locked account. Returns its token. */
async function begin(ctx: Context, account: Account, provider: ProviderName): Promise<string> {
  if (account.loginType !== provider) throw recordRejection(ctx, account, otherLoginType(account));
  if (account.status === "suspended") {
    throw recordRejection(ctx, account, new DomainError("UNAUTHENTICATED", "Your account is suspended."));
  }
  await ctx.db.updateTable("users").set({ lastSeenAt: now }).where("id", "=", account.id).execute();
  const sessionToken = await issueSession(ctx, account.id);
  ctx.audit({
    action: "login",
    actorId: account.id,
    ...auditedAccount(account),
    diff: { provider: { new: provider } },
  });
  return sessionToken;
}

/**
 * Gives an account the address that its identity has now, if it is in the domains of this deployment. Not if SCIM is the
 * source of the account, and not if another account has the address: then the log says so, and the sign-in goes on.
 */
async function followEmail(ctx: Context, { id, username, email: old }: Account, { email }: Identity): Promise<void> {
  const { oidcEmailDomains, oidcFollowEmail } = ctx.config;
  if (!oidcFollowEmail || email === undefined || foldCase(email) === foldCase(old)) return;
  if (!isInDomains(email, oidcEmailDomains) || !isValid(emailAddress, email)) return;
  const scimLink = ctx.db.selectFrom("scimUserLinks").select("userId").where("userId", "=", id);
  if (await scimLink.executeTakeFirst()) return;
  const stays = (reason: string) =>
    ctx.log.warn(
      { userId: id, requestId: ctx.request.id },
      `The email of a user was not changed as at the provider: ${reason}`,
    );
  await releaseFormerEmail(ctx, email, id);
  const another = ctx.db.selectFrom("users").select("id").where("deletedAt", "is", null);
  if (await another.where(foldedColumn("email"), "=", foldCase(email)).executeTakeFirst())
    return stays("another account has it.");
  if (!(await setEmail(ctx, id, email))) return stays("another account just got it.");
  ctx.audit({
    action: "update",
    actorId: id,
    ...auditedAccount({ id, username }),
    diff: { email: { old, new: email } },
  });
}

/** Sets the email of an account. Returns false, and leaves the transaction usable, if another one has just got it. */
async function setEmail({ db }: Context, id: string, email: string): Promise<boolean> {
  const taken = conflict("This email is in use.");
  await sql`savepoint set_email`.execute(db);
  try {
    const change = db.updateTable("users").set({ email, updatedAt: now }).where("id", "=", id).execute();
    await change.catch(onViolation({ users_email_unique: () => taken }));
    return true;
  } catch (error) {
    if (error !== taken) throw error;
    await sql`rollback to savepoint set_email`.execute(db);
    return false;
  }
}

/** Converts the caller's login from the password to the provider. Ends the caller's other sessions. */
async function convert(ctx: Context, identity: Identity, conversion: Buffer): Promise<string> {
  if (ctx.actor.kind !== "user") throw conversionEnded();
  requireFullSession(ctx.actor);
  const { userId, credential } = ctx.actor;
  const account = await accountWithEmailOf(ctx, identity);
  const isOwn = account !== undefined && account.id === userId && account.loginType === "password";
  if (!isOwn) throw forbidden("Your email at the provider differs from the email of your account.");
  if (account.status === "suspended" || !(await useConversion(ctx, conversion, userId, identity.provider))) {
    throw conversionEnded();
  }
  if (!(await link(ctx, identity, userId))) {
    throw conflict("This identity signs in to an account already.");
  }
  await ctx.db
    .updateTable("users")
    .set({ loginType: identity.provider, passwordHash: null, mustChangePassword: false, updatedAt: now })
    .where("id", "=", userId)
    .execute();
  await endSessions(ctx, userId, credential.id);
  const diff = {
    loginType: { old: "password", new: identity.provider },
    password: { old: "***" },
    ...linkDiff({ new: identity }),
  };
  ctx.audit({ action: "update", ...auditedAccount(account), diff });
  return userId;
}

const conversionEnded = () => forbidden("The conversion has ended. Start a new one.");

/** Maximum number of usernames to try for a new account. */
const usernameTries = 5;

/** Creates an account, if the domain of the email is allowed. Throws FORBIDDEN otherwise. */
async function createAccount(ctx: Context, identity: Identity): Promise<Account> {
  const { email, provider } = identity;
  if (email === undefined) throw forbidden("The provider returned no verified email.", { detail: identity.emailDoubt });
  const offer = await offerToIdentity(ctx, email, provider);
  const isAllowed =
    offer !== undefined || (isInDomains(email, ctx.config.oidcEmailDomains) && isValid(emailAddress, email));
  if (!isAllowed) throw forbidden("There is no account for you here. Ask an administrator for one.");

  const name = cleanLabel(identity.name ?? "", 128);
  for (let attempt = 1; attempt <= usernameTries; attempt++) {
    const username = usernameOf(identity, attempt);
    if (await isKnownAs(ctx, username, null)) continue;
    const account = await insertAccount(ctx, { email, username, name, loginType: provider }, offer);
    if (!account) continue;
    if (!(await link(ctx, identity, account.id))) break;
    const diff = {
      email: { new: email },
      username: { new: username },
      loginType: { new: provider },
      ...(offer && offer.siteRoles.length > 0 && { siteRoles: { new: offer.siteRoles } }),
    };
    ctx.audit({
      action: "create",
      actorId: account.id,
      ...auditedAccount(account),
      diff: { ...diff, ...linkDiff({ new: identity }) },
    });
    if (offer) await giveAccess(ctx, offer, account);
    await announce(ctx, "created", account);
    return account;
  }
  throw conflict("Another request has created an account for you. Sign in again.");
}

/**
 * Inserts an account, into the default organization unless an invitation offers others. Returns nothing if the email or the
 * username is taken.
 */
async function insertAccount(
  { db }: Context,
  account: Pick<Account, "email" | "username" | "name" | "loginType">,
  offer: Offer | undefined,
): Promise<Account | undefined> {
  const invited = offer && { siteRoles: offer.siteRoles, createdBy: offer.inviterId };
  const created = await db
    .insertInto("users")
    .values({ ...account, ...invited, id: newId(), createdAt: now, updatedAt: now })
    .onConflict((existing) => existing.doNothing())
    .returning(accountFields)
    .executeTakeFirst();
  if (!created || offer) return created;
  await db
    .insertInto("organizationMembers")
    .columns(["organizationId", "userId", "createdAt"])
    .expression((eb) =>
      eb
        .selectFrom("organizations")
        .where("isDefault", "=", true)
        .select(["id", eb.val(created.id).as("userId"), now.as("createdAt")]),
    )
    .execute();
  return created;
}

/** Derives a username from the one at the provider or the email, with a random suffix after the first attempt. */
function usernameOf({ username, email = "" }: Identity, attempt: number): string {
  const base = (username ?? email)
    .split("@")[0]!
    .normalize("NFKD")
    .replace(/[^a-zA-Z0-9]+/g, "-");
  const suffix = attempt === 1 ? "" : `-${randomText(4).toLowerCase()}`;
  const plain = base.slice(0, longestName - suffix.length).replace(/^-+|-+$/g, "");
  const found = plain + suffix;
  return isValid(usernameValue, found) ? found : `user-${randomText(8).toLowerCase()}`;
}

/** Deletes expired states of sign-ins. */
export const signInPurge = purge("spent_sign_ins", { by: "expires_at" });
