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
import type { Identity } from "../../infrastructure/identity-providers.js";
import { endSessions, issueSession } from "../tokens/sessions.js";
import { isInDomains } from "../../infrastructure/oidc-claims.js";
import { applyClaims, type ClaimEffect } from "./claimed-access.js";
import { keepProviderSession } from "./provider-sessions.js";
import { tellOfFault } from "./claim-faults.js";
import { reportWarnings } from "./sign-in-reports.js";
import { type KnownProvider, stampOf } from "./provider-registry.js";
import type { PublicSettings } from "./provider-settings.js";
import { joinedOrganizations } from "./sign-in-providers.js";
import { removeFactors } from "./second-factors.js";
import { idLinkedTo, link, linkDiff, linksOf, userLinkedTo } from "./user-identities.js";
import { giveAccess, type Offer, offerToIdentity } from "../invitations/accepting.js";
import { announce } from "../users/account-events.js";
import { isKnownAs } from "../users/accounts.js";
import { releaseFormerEmail } from "../users/former-emails.js";
import { longestName } from "../../entities/lengths.js";

/** A completed sign-in at a provider. */
export interface ProviderSignIn {
  provider: KnownProvider;
  identity: Identity;
  /** SHA-256 of the state of the attempt, which is valid once. */
  stateHash: Buffer;
  /** The expiry of the state, RFC 3339. */
  expiresAt: string;
  /** SHA-256 of the state of a conversion, if the sign-in completes one. */
  conversion?: Buffer;
  /** The user to whom the identity is to be linked, if the sign-in does that. */
  linkTo?: string;
}

/** The user, with a new session unless the sign-in completed a conversion or linked an identity. */
export interface SignedIn {
  userId: string;
  sessionToken?: string;
}

/**
 * Signs in the user of an identity: by its link to an account; otherwise by the email of an account that was created
 * for a provider and has no link; otherwise by creating an account, if allowed. An account with a password is linked
 * only by a conversion, and one with a link only by its user.
 */
export async function signInThroughProvider(ctx: Context, signIn: ProviderSignIn): Promise<SignedIn> {
  const { provider, identity, conversion, linkTo } = signIn;
  await spend(ctx, signIn);
  requireAdmitted(provider.settings, identity);
  if (conversion === undefined && linkTo === undefined)
    return countSignIn(ctx, identity.kind, async () => {
      const { account, isLinked } = await accountOf(ctx, provider.settings, identity).catch((error: unknown) => {
        const whose = error instanceof DomainError ? rejections.get(error) : undefined;
        throw whose ? recordRejection(ctx, whose, error as DomainError) : error;
      });
      const sessionToken = await begin(ctx, account, identity, provider.settings);
      if (isLinked) await followEmail(ctx, account, identity, provider.settings);
      await giveClaimed(ctx, provider, identity, account);
      return { userId: account.id, sessionToken };
    });
  if (await accountLinkedTo(ctx, identity)) throw conflict("This identity signs in to an account already.");
  if (conversion) return { userId: await convert(ctx, identity, conversion) };
  return { userId: await linkToAccount(ctx, identity, linkTo!) };
}

/** Applies the claims of an identity, unless that is switched off. Administrators learn of what could not be applied. */
export async function giveClaimed(
  ctx: Context,
  provider: KnownProvider,
  identity: Pick<Identity, "claims">,
  account: Pick<Account, "id" | "username">,
): Promise<void> {
  const { settings } = provider;
  if (!settings.appliesClaims || settings.claimMappings.length === 0) return;
  const effects = await applyClaims(ctx, settings, identity, account);
  const warnings = effects.filter(({ isWarning }) => isWarning).map(({ text }) => text);
  if (warnings.length === 0) return;
  ctx.log.warn({ provider: settings.name, userId: account.id }, "Claims of a sign-in could not be applied.");
  ctx.afterCommit(() => reportWarnings(ctx, settings.name, warnings));
  for (const { malformed } of effects)
    if (malformed !== undefined) await tellOfFault(ctx, provider, malformed, account.username);
}

/**
 * Uses the state of an attempt, and keeps a stored provider as it is until the commit. Throws FORBIDDEN if the state was used
 * before, or the provider was changed or deleted meanwhile.
 */
async function spend(ctx: Context, { stateHash, expiresAt, provider }: ProviderSignIn): Promise<void> {
  const { spent, id, revision } = await ctx.db
    .with("spent", (db) =>
      db
        .insertInto("spentSignIns")
        .values({ stateHash, expiresAt })
        .onConflict((used) => used.doNothing())
        .returning("stateHash"),
    )
    .with("current", (db) =>
      db.selectFrom("signInProviders").select(["id", "revision"]).where("id", "=", provider.id).forKeyShare(),
    )
    .selectNoFrom((eb) => [
      eb.selectFrom("spent").select("stateHash").as("spent"),
      eb.selectFrom("current").select("id").as("id"),
      eb.selectFrom("current").select("revision").as("revision"),
    ])
    .executeTakeFirstOrThrow();
  if (spent === null) throw forbidden("This sign-in has already been used.");
  const isKept = provider.id === null || (id !== null && stampOf({ id, revision: revision! }) === provider.stamp);
  if (!isKept) throw forbidden("An administrator has just changed this provider.", { detail: "Sign in again." });
}

/** Keeps a stored provider as it is until the commit. Returns false if it was changed or deleted meanwhile. */
export async function isCurrent({ db }: Context, { id, stamp }: KnownProvider): Promise<boolean> {
  if (id === null) return true;
  const row = await db
    .selectFrom("signInProviders")
    .select(["id", "revision"])
    .where("id", "=", id)
    .forKeyShare()
    .executeTakeFirst();
  return row !== undefined && stampOf(row) === stamp;
}

/** Throws FORBIDDEN for people of other tenants or domains than those that may sign in. */
function requireAdmitted(
  { tenants, hostedDomains }: PublicSettings,
  { tenant = "", hostedDomain = "" }: Identity,
): void {
  const isAdmitted =
    (tenants.length === 0 || tenants.includes(tenant)) &&
    (hostedDomains.length === 0 || hostedDomains.includes(foldCase(hostedDomain)));
  if (!isAdmitted)
    throw forbidden("Your account at the provider belongs to another organization.", {
      detail: "Sign in there with the account of your organization.",
    });
}

/** The account to which an identity signs in, and whether it was linked before. */
interface FoundAccount {
  account: Account;
  isLinked: boolean;
}

/** Finds or creates the account of an identity, and locks it. Throws for one that must not sign in. */
async function accountOf(ctx: Context, settings: PublicSettings, identity: Identity): Promise<FoundAccount> {
  const linked = await accountLinkedTo(ctx, identity);
  const account =
    linked ?? (await linkByEmail(ctx, identity, settings)) ?? (await createAccount(ctx, identity, settings));
  if (account.loginType !== "oidc" && account.loginType !== "github") throw rejected(account, otherLoginType(account));
  if (account.status === "suspended")
    throw rejected(account, new DomainError("UNAUTHENTICATED", "Your account is suspended."));
  return { account, isLinked: linked !== undefined };
}

/** The accounts by the errors that reject their sign-in, which is recorded for them. */
const rejections = new WeakMap<DomainError, Account>();

function rejected(account: Account, error: DomainError): DomainError {
  rejections.set(error, account);
  return error;
}

/** How a sign-in would end. */
export interface SignInPreview {
  /** Username of the account; null if the sign-in would be rejected. */
  username: string | null;
  how: "linked" | "linked by email" | "created" | "rejected";
  /** Why it would be rejected. */
  refusal: string | null;
  /** The effects of its claims. */
  effects: ClaimEffect[];
}

/** Ends the transaction of a preview, which stores nothing. */
class PreviewEnd extends Error {
  constructor(readonly preview: SignInPreview) {
    super("The preview of a sign-in is rolled back.");
  }
}

/** Finds out the effects of claims of a person, by the same steps, in a transaction that is rolled back. */
export async function previewClaims(
  ctx: Context,
  settings: PublicSettings,
  claims: Identity["claims"],
  userId: string,
): Promise<ClaimEffect[]> {
  const own = ctx.afresh();
  try {
    return await own.transactional(async () => {
      const account = await accounts(own.db).where("id", "=", userId).forNoKeyUpdate().executeTakeFirst();
      const effects = account ? await applyClaims(own, settings, { claims }, account) : [];
      throw new PreviewEnd({ username: null, how: "linked", refusal: null, effects });
    });
  } catch (error) {
    if (error instanceof PreviewEnd) return error.preview.effects;
    throw error;
  }
}

/** Finds out how a sign-in would end, by the same steps, in a transaction that is rolled back. */
export async function previewSignIn(
  ctx: Context,
  { settings }: KnownProvider,
  identity: Identity,
): Promise<SignInPreview> {
  try {
    return await ctx.transactional(async () => {
      requireAdmitted(settings, identity);
      const linkedTo = await userLinkedTo(ctx, identity);
      const emailTaken = identity.email !== undefined && (await accountWithEmailOf(ctx, identity)) !== undefined;
      const { account } = await accountOf(ctx, settings, identity);
      const how = linkedTo === undefined ? (emailTaken ? "linked by email" : "created") : "linked";
      const effects = await applyClaims(ctx, settings, identity, account);
      throw new PreviewEnd({ username: account.username, how, refusal: null, effects });
    });
  } catch (error) {
    if (error instanceof PreviewEnd) return error.preview;
    if (!(error instanceof DomainError)) throw error;
    const refusal = [error.message, error.details.detail].filter(Boolean).join(" ");
    return { username: null, how: "rejected", refusal, effects: [] };
  }
}

// Both lock the user, so that what the sign-in checks cannot change before the commit.

async function accountLinkedTo(ctx: Context, identity: Identity): Promise<Account | undefined> {
  const usual = await accounts(ctx.db).where("id", "=", idLinkedTo(ctx, identity)).forNoKeyUpdate().executeTakeFirst();
  const id = usual?.id ?? (await userLinkedTo(ctx, identity));
  if (id === undefined) return undefined;
  const account = usual ?? (await accounts(ctx.db).where("id", "=", id).forNoKeyUpdate().executeTakeFirst());
  // An administrator may have unlinked the identity, or linked it to another user, while the lock was awaited.
  return (await userLinkedTo(ctx, identity)) === id ? account : accountLinkedTo(ctx, identity);
}

const accountWithEmailOf = async ({ db }: Context, { email }: Identity): Promise<Account | undefined> =>
  email === undefined ? undefined : accountsWithEmail(db, email).forNoKeyUpdate().executeTakeFirst();

/** Links the account with the email of the identity, if it was created for a provider and has no link. */
async function linkByEmail(ctx: Context, identity: Identity, settings: PublicSettings): Promise<Account | undefined> {
  const { email, kind } = identity;
  if (email !== undefined) await releaseFormerEmail(ctx, email);
  const account = await accountWithEmailOf(ctx, identity);
  if (!account || email === undefined) return undefined;
  const [linked] = await linksOf(ctx, account.id);
  const isOfProviders = account.loginType === "oidc" || account.loginType === "github";
  if (linked && isOfProviders) throw rejected(account, linkedElsewhere(ctx, identity, linked.provider));
  if (account.loginType !== kind) throw rejected(account, otherLoginType(account));
  if (!speaksFor(settings, email))
    throw rejected(
      account,
      forbidden("This provider cannot link your account by its email.", {
        detail: "Ask an administrator to link the identity.",
      }),
    );
  if (!(await link(ctx, identity, account.id)))
    throw rejected(account, linkedElsewhere(ctx, identity, identity.provider));
  ctx.audit({ action: "update", actorId: account.id, ...auditedAccount(account), diff: linkDiff({ new: identity }) });
  return account;
}

/** Whether a provider may say whose an address is: of an account without an identity, or of an invitation. */
const speaksFor = ({ linksByEmail, emailDomains }: PublicSettings, email: string): boolean =>
  linksByEmail === "any" || (linksByEmail === "domains" && isInDomains(email, emailDomains));

/** No user is linked by an address across providers: any of them could send it. */
function linkedElsewhere({ services }: Context, { provider }: Identity, other: string): DomainError {
  if (provider === other) return forbidden("The account with this email belongs to another identity of the provider.");
  const label = services.identityProviders.find(other)?.label ?? other;
  return forbidden("The account with this email signs in through another provider.", {
    detail: `Sign in through ${label}, and link this provider to your account there: Sessions and keys, Identities.`,
  });
}

const otherLoginType = ({ loginType }: Account) =>
  forbidden("Incorrect login type.", { detail: `The account with this email signs in by ${loginType}.` });

/** Creates a session of a locked account. Returns its token. */
async function begin(ctx: Context, account: Account, identity: Identity, settings: PublicSettings): Promise<string> {
  await ctx.db.updateTable("users").set({ lastSeenAt: now }).where("id", "=", account.id).execute();
  const sessionToken = await issueSession(ctx, account.id, {
    provider: identity.provider,
    ...(identity.factor && { factor: "provider", provedAt: identity.factor.at }),
  });
  await keepProviderSession(ctx, sessionToken, identity, settings);
  ctx.audit({
    action: "login",
    actorId: account.id,
    ...auditedAccount(account),
    diff: { provider: { new: identity.provider } },
  });
  return sessionToken;
}

/** Links an identity to the account of the caller, who signs in through another provider. */
async function linkToAccount(ctx: Context, identity: Identity, userId: string): Promise<string> {
  const account = await accounts(ctx.db).where("id", "=", userId).forNoKeyUpdate().executeTakeFirst();
  const isOwn = ctx.actor.kind === "user" && ctx.actor.userId === userId;
  if (!account || !isOwn || account.status === "suspended") throw forbidden("This link has expired.");
  if (account.loginType !== "oidc" && account.loginType !== "github") throw otherLoginType(account);
  if (!(await link(ctx, identity, userId)))
    throw conflict("Your account has another identity at this provider already. Unlink that one before.");
  ctx.audit({ action: "update", ...auditedAccount(account), diff: linkDiff({ new: identity }) });
  return userId;
}

/**
 * Gives an account the address that its identity has now, if it is in the domains of the provider. Not if SCIM is the
 * source of the account or it has several identities, and not if another account has the address: then the log says so, and
 * the sign-in goes on.
 */
async function followEmail(
  ctx: Context,
  { id, username, email: old }: Account,
  { email }: Identity,
  { followsEmail, emailDomains }: PublicSettings,
): Promise<void> {
  if (!followsEmail || email === undefined || foldCase(email) === foldCase(old)) return;
  if (!isInDomains(email, emailDomains) || !isValid(emailAddress, email)) return;
  if ((await linksOf(ctx, id)).length > 1) return;
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
  if (account.status === "suspended" || !(await useConversion(ctx, conversion, userId, identity.kind))) {
    throw conversionEnded();
  }
  if (!(await link(ctx, identity, userId))) {
    throw conflict("This identity signs in to an account already.");
  }
  await ctx.db
    .updateTable("users")
    .set({ loginType: identity.kind, passwordHash: null, mustChangePassword: false, updatedAt: now })
    .where("id", "=", userId)
    .execute();
  await removeFactors(ctx, userId);
  await endSessions(ctx, userId, credential.id);
  const diff = {
    loginType: { old: "password", new: identity.kind },
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
async function createAccount(ctx: Context, identity: Identity, settings: PublicSettings): Promise<Account> {
  const { email, kind } = identity;
  const { admitsNewcomers, emailDomains, organizations } = settings;
  if (email === undefined) throw forbidden("The provider returned no verified email.", { detail: identity.emailDoubt });
  const offer = speaksFor(settings, email) ? await offerToIdentity(ctx, email, kind) : undefined;
  const isNewcomer = admitsNewcomers && isInDomains(email, emailDomains) && isValid(emailAddress, email);
  const isAllowed = offer !== undefined || isNewcomer;
  if (!isAllowed) throw forbidden("There is no account for you here. Ask an administrator for one.");

  const name = cleanLabel(identity.name ?? "", 128);
  for (let attempt = 1; attempt <= usernameTries; attempt++) {
    const username = usernameOf(identity, attempt);
    if (await isKnownAs(ctx, username, null)) continue;
    const account = await insertAccount(ctx, { email, username, name, loginType: kind }, offer, organizations);
    if (!account) continue;
    if (!(await link(ctx, identity, account.id))) break;
    const diff = {
      email: { new: email },
      username: { new: username },
      loginType: { new: kind },
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
 * Inserts an account, into the organizations of newcomers unless an invitation offers others. Returns nothing if the email
 * or the username is taken.
 */
async function insertAccount(
  { db }: Context,
  account: Pick<Account, "email" | "username" | "name" | "loginType">,
  offer: Offer | undefined,
  organizations: readonly string[],
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
      joinedOrganizations({ db }, organizations).select([eb.val(created.id).as("userId"), now.as("createdAt")]),
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
