// Invitations as the people who are invited see and accept them.
import { hasFeature } from "../entitlements/requirements.js";
import { may } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import type { UserActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflictOn, DomainError, forbidden, onViolation, Problems } from "../kernel/errors.js";
import { anyOf, now, foldedColumn } from "../kernel/queries.js";
import { foldCase } from "../../runtime/text.js";
import { check, type Input, inputOf, optional, pasted, required, secret } from "../kernel/values.js";
import { groupsHint } from "../groups/memberships.js";
import { ProviderKind } from "../../infrastructure/identity-providers.js";
import { rememberAddress } from "../sign-in/login-failures.js";
import { chosenPassword, passwordProblem } from "../sign-in/password-strength.js";
import { issueSession } from "../tokens/sessions.js";
import { hashSecret } from "../tokens/token-text.js";
import { requireFree } from "../users/accounts.js";
import { firstFreeUsername, usernameFor } from "../users/derived-usernames.js";
import { addUser } from "../users/create-user.js";
import { realName, usernameValue } from "../users/names.js";
import { userActor } from "../users/user-actors.js";
import { holdUsers } from "../users/users.js";
import { type InvitationRow, auditedInvitation, invitations, type InvitedMembership, isOpen } from "./invitations.js";
import { givableBy, mayGiveGroup } from "./invited-access.js";
import { groupsWithIds, mailEnded, takenEmails } from "./inviting.js";

/** The same error for every link that does not work, so that strangers learn nothing from it. */
export const notValid = () =>
  new DomainError("NOT_FOUND", "This invitation cannot be used.", {
    detail: "It was used already, was revoked, or has expired. Ask for another one.",
  });

const withToken = ({ db }: Pick<Context, "db">, token: string) =>
  invitations(db).where("i.tokenHash", "=", hashSecret(token)).where(isOpen);

/** An invitation as its page shows it. */
export interface InvitationOffer {
  email: string;
  name: string;
  /** A username that is free now. */
  username: string;
  inviterName: string;
  organizationNames: string[];
  expiresAt: string;
  takesPassword: boolean;
  providers: ProviderKind[];
}

/** The token of which a person wants to know what it offers. */
export const InvitationOfferQuery = inputOf({ token: required(pasted(secret), "Token of the link.") });
export type InvitationOfferQuery = Input<typeof InvitationOfferQuery>;

/** Reads an invitation by the token of its link. Changes nothing. Throws NOT_FOUND for one that cannot be accepted. */
export async function readInvitationOffer(ctx: Context, token: string): Promise<InvitationOffer> {
  const invitation = await withToken(ctx, token).executeTakeFirst();
  if (!invitation) throw notValid();
  const offer = await offerOf(ctx, invitation);
  const inviter = await ctx.db
    .selectFrom("users")
    .select(["name", "username"])
    .where("id", "=", invitation.inviterId)
    .executeTakeFirstOrThrow();
  const organizations = await livingOrganizations(ctx, offer.memberships).execute();
  return {
    email: invitation.email,
    name: invitation.name,
    username: (await firstFreeUsername(ctx, usernameFor(invitation.email))) ?? "",
    inviterName: inviter.name || inviter.username,
    organizationNames: organizations.map(({ name, displayName }) => displayName || name),
    expiresAt: invitation.expiresAt,
    takesPassword: takesLogin(ctx, invitation, "password"),
    providers: Object.values(ProviderKind).filter((name) => takesLogin(ctx, invitation, name)),
  };
}

const takesLogin = ({ config, services }: Context, { loginType }: InvitationRow, login: "password" | ProviderKind) =>
  (loginType === null || loginType === login) &&
  (login === "password" ? config.passwordAuth : services.identityProviders.has(login));

/** An invitation that can be accepted now, with all that its inviter may still give. */
export interface Offer extends Pick<InvitationRow, "id" | "email" | "inviterId" | "groupIds"> {
  siteRoles: InvitationRow["siteRoles"];
  memberships: InvitedMembership[];
  inviter: UserActor;
}

/** Throws NOT_FOUND if the inviter may create no users any more, was suspended since, or if the email has an account. */
async function offerOf(ctx: Context, invitation: InvitationRow): Promise<Offer> {
  const { id, email, inviterId, inviterEpoch, groupIds } = invitation;
  const isOfEpoch = ctx.db
    .selectFrom("users")
    .select("id")
    .where("id", "=", inviterId)
    .where("credentialEpoch", "=", inviterEpoch);
  const inviter = (await isOfEpoch.executeTakeFirst()) && (await userActor(ctx, inviterId));
  if (!inviter || !may(inviter, "user:create")) throw notValid();
  const { ofUsers } = await takenEmails(ctx, [email]);
  if (ofUsers.has(foldCase(email))) throw notValid();
  return { id, email, inviterId, groupIds, inviter, ...givableBy(inviter, invitation) };
}

/**
 * Locks an invitation and keeps its inviter unchanged, until the transaction ends: of two acceptances, one succeeds, and
 * what its inviter may give does not change meanwhile. Inviters are suspended, deleted, and demoted under a lock of theirs.
 */
async function lockOffer(ctx: Context, found: ReturnType<typeof withToken>): Promise<Offer | undefined> {
  const invitation = await found.forUpdate().executeTakeFirst();
  if (!invitation) return undefined;
  await holdUsers(ctx, [invitation.inviterId]);
  return offerOf(ctx, invitation);
}

export const AcceptInvitation = inputOf({
  token: required(pasted(secret), "Token of the link."),
  username: required(usernameValue, "Unique username, case-insensitive: {limits}."),
  name: optional(realName, "Real name, {limits}. Default: that of the invitation."),
  password: required(chosenPassword, "Hard to guess, {limits}."),
});
export type AcceptInvitation = Input<typeof AcceptInvitation>;

/** A person who accepted an invitation, with a session. */
interface Accepted {
  userId: string;
  sessionToken: string;
}

/**
 * Creates the account of a person who is invited, with a password, and signs the person in. Throws NOT_FOUND for an
 * invitation that cannot be accepted, CONFLICT for a username that is in use.
 */
export async function acceptInvitation(ctx: Context, input: AcceptInvitation): Promise<Accepted> {
  const { token, username, password } = input;
  // Without the transaction, which must not hold a connection while passwords are queued for hashing.
  const found = await withToken(ctx.services.database, token).executeTakeFirst();
  if (!found) throw notValid();
  if (!takesLogin(ctx, found, "password"))
    throw forbidden("This invitation takes no password.", { detail: "Sign in through the provider." });
  const { email } = found;
  const name = input.name ?? found.name;
  const problems = new Problems();
  check(AcceptInvitation, { username, name: input.name }, problems);
  problems.add("password", await passwordProblem(password, { email, username, name }, "stranger"));
  problems.throwIfAny();
  const passwordHash = await ctx.services.passwords.hash(password, "stranger");

  const offer = await lockOffer(ctx, withToken(ctx, token));
  if (!offer) throw notValid();
  await requireFree(ctx, { username });
  // Takes the email from a user whom an identity provider deleted.
  await requireFree(ctx, { email });
  const { siteRoles, inviterId: invitedBy } = offer;
  const { id: userId } = await addUser(ctx, {
    email,
    username,
    name,
    siteRoles,
    invitedBy,
    passwordHash,
    loginType: "password",
    organizationIds: [],
  }).catch(onTaken);
  await giveAccess(ctx, offer, { id: userId, username });
  const sessionToken = await issueSession(ctx, userId, { factor: "password" });
  await rememberAddress(ctx, userId);
  ctx.audit({ action: "login", actorId: userId, ...auditedAs("user", userId, username) });
  return { userId, sessionToken };
}

const onTaken = onViolation({
  users_email_unique: notValid,
  users_username_unique: () => conflictOn("username", "This username is in use."),
});

/**
 * Finds the open invitation of a person whose address a provider has verified, and locks it: with or without its link, the
 * person is the one who is invited. `undefined` if there is none that gives anything, or that takes another login.
 */
export async function offerToIdentity(ctx: Context, email: string, provider: ProviderKind): Promise<Offer | undefined> {
  const open = invitations(ctx.db).where(foldedColumn("i.email"), "=", foldCase(email)).where(isOpen);
  try {
    return await lockOffer(
      ctx,
      open.where((eb) => eb.or([eb("i.loginType", "is", null), eb("i.loginType", "=", provider)])),
    );
  } catch (error) {
    if (error instanceof DomainError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** Gives a new user, who has its roles in the deployment, what else a locked invitation offers, and ends the invitation. */
export async function giveAccess(ctx: Context, offer: Offer, user: { id: string; username: string }): Promise<void> {
  // They are not deleted until the transaction ends.
  const organizations = await livingOrganizations(ctx, offer.memberships).forShare().execute();
  const memberships = offer.memberships.filter((each) => organizations.some(({ id }) => id === each.organizationId));
  for (const { organizationId, roles } of memberships) {
    await ctx.db
      .insertInto("organizationMembers")
      .values({ organizationId, userId: user.id, roles, createdAt: now })
      .execute();
    const diff = { ...(roles.length > 0 && { roles: { old: [], new: roles } }) };
    ctx.audit({
      action: "create",
      actorId: user.id,
      ...auditedAs("organization_member", user.id, user.username, organizationId),
      diff,
    });
  }
  await joinGroups(ctx, offer, user, memberships);
  await ctx.db
    .updateTable("invitations")
    .set({ endReason: "accepted", endedAt: now, updatedAt: now, userId: user.id, ...mailEnded })
    .where("id", "=", offer.id)
    .execute();
  const diff = { acceptedBy: { new: user.username }, invitedBy: { old: offer.inviterId } };
  ctx.audit({ action: "authorize", actorId: user.id, ...auditedInvitation(offer), diff });
}

/** The organizations of memberships that are not deleted. */
function livingOrganizations({ db }: Context, memberships: readonly InvitedMembership[]) {
  const ids = memberships.map(({ organizationId }) => organizationId);
  return db
    .selectFrom("organizations")
    .select(["id", "name", "displayName"])
    .where("id", "=", anyOf(ids))
    .where("deletedAt", "is", null)
    .orderBy("id");
}

async function joinGroups(
  ctx: Context,
  { groupIds, inviter }: Offer,
  user: { id: string; username: string },
  memberships: readonly InvitedMembership[],
): Promise<void> {
  if (groupIds.length === 0 || !hasFeature(ctx, "template_rbac")) return;
  const joined = (await groupsWithIds(ctx, groupIds)).filter(
    (group) =>
      mayGiveGroup(inviter, group) && memberships.some(({ organizationId }) => organizationId === group.organizationId),
  );
  const ids = joined.map(({ id }) => id);
  // One that is deleted meanwhile is not among them.
  const locked = await ctx.db
    .selectFrom("groups")
    .select(["id", "name", "organizationId"])
    .where("id", "=", anyOf(ids))
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
  for (const { id: groupId, name, organizationId } of locked) {
    await ctx.db.insertInto("groupMembers").values({ groupId, organizationId, userId: user.id }).execute();
    await ctx.db.updateTable("groups").set({ updatedAt: now }).where("id", "=", groupId).execute();
    const diff = { members: { old: [], new: [user.id] } };
    ctx.audit({ action: "update", actorId: user.id, ...auditedAs("group", groupId, name, organizationId), diff });
  }
  ctx.publish(groupsHint(user.id));
}
