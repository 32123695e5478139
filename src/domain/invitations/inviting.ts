// Invitations by administrators: sent, sent again, and revoked.
import { sql } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { authorize } from "../authorization/authorization.js";
import { invitationTokens } from "../encryption/columns.js";
import { requireFeature } from "../entitlements/requirements.js";
import { diffOf } from "../kernel/audit.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, type DomainError, onViolation, Problems, rateLimited } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { randomText } from "../../runtime/random.js";
import { after, anyOf, now, rowById, foldedColumn } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { foldCase } from "../../runtime/text.js";
import { check, choice, type Input, inputOf, optional, pasted, required, uuid } from "../kernel/values.js";
import { hashSecret } from "../tokens/token-text.js";
import { newEmail, realName } from "../users/names.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { mailHint } from "./invitation-mail.js";
import {
  accountsWithEmails,
  epochOf,
  auditedInvitation,
  InvitationDelivery,
  invitationTarget,
  type InvitationRow,
  lifetime,
  lockInvitation,
} from "./invitations.js";
import { accessFields, type InvitedAccess, readAccess, type References, requireGivable } from "./invited-access.js";

/** How a person who is invited signs in. */
export const InvitedLogin = { PASSWORD: "password", OIDC: "oidc", GITHUB: "github" } as const;
export type InvitedLogin = (typeof InvitedLogin)[keyof typeof InvitedLogin];

const delivery = optional(
  choice(InvitationDelivery),
  "How the link reaches the person. Default: MAIL if a mail server is configured, otherwise LINK.",
);

export const InviteUser = inputOf({
  email: required(pasted(newEmail), "Email address of the person, which no account has."),
  name: optional(realName, "Real name, {limits}, which the person can change. Default: empty."),
  ...accessFields,
  loginType: optional(
    choice(InvitedLogin),
    "How the person signs in: by a password of its own, or through a provider with this email address. Default: the person chooses.",
  ),
  delivery,
});
export type InviteUser = Input<typeof InviteUser>;

export const ResendInvitation = inputOf({ id: required(uuid, "ID of the invitation."), delivery });
export type ResendInvitation = Input<typeof ResendInvitation>;

export const RevokeInvitation = inputOf({ id: required(uuid, "ID of the invitation.") });

/** Maximum numbers of open invitations: of a user, and in the deployment. */
const mostOfUser = 2_000;
const mostOpen = 10_000;

/** How often an invitation can be sent, and the time between. */
const mostSends = 10;
const pause = minute;

/** An invitation that was sent, with its link if that is to be handed over. */
export interface Sent {
  id: string;
  link: string | null;
}

/**
 * Invites a person to create an account. Throws CONFLICT for the email of an account or of an open invitation. What it gives
 * is decided again when it is accepted, by what the caller may give then.
 */
export async function inviteUser(ctx: Context, input: InviteUser): Promise<Sent> {
  authorize(ctx.actor, "invitation:create", { ownerId: null, siteRoles: [], memberships: [] });
  await ctx.services.limits.invitations.take(requireUser(ctx.actor).userId, ctx.request);
  const problems = new Problems();
  const planned = await planInvitation(ctx, input, problems);
  problems.throwIfAny();
  await requireUninvited(ctx, [planned.email]);
  const [sent] = await sendInvitations(ctx, [planned]);
  return sent!;
}

/** An invitation to be sent, whose values were checked. */
export interface PlannedInvitation extends InvitedAccess {
  email: string;
  name: string;
  loginType: InvitedLogin | null;
  delivery: InvitationDelivery;
}

/** Checks the values of an invitation, and finds what it refers to. */
export async function planInvitation(
  ctx: Context,
  input: InviteUser,
  problems: Problems,
  references?: References,
): Promise<PlannedInvitation> {
  check(InviteUser, input, problems);
  const { email, name, loginType = null } = input;
  const access = await readAccess(ctx, input, problems, references);
  if (access.groupIds.length > 0) requireFeature(ctx, "template_rbac");
  problems.add("loginType", loginProblem(ctx, loginType));
  return { email, name: name ?? "", loginType, delivery: deliveryOf(ctx, input.delivery, problems), ...access };
}

const isOffered = ({ config, services }: Context, login: InvitedLogin): boolean =>
  login === "password" ? config.passwordAuth : services.identityProviders.has(login);

function loginProblem(ctx: Context, wanted: InvitedLogin | null): string | undefined {
  if (wanted === null || isOffered(ctx, wanted)) return undefined;
  return wanted === "password" ? "Password authentication is disabled." : "This provider is not configured.";
}

function deliveryOf(
  { services }: Context,
  wanted: InvitationDelivery | null | undefined,
  problems: Problems,
): InvitationDelivery {
  const canMail = services.transports.smtp !== undefined;
  if (wanted === "mail" && !canMail) problems.add("delivery", "No mail server is configured.");
  return wanted ?? (canMail ? "mail" : "link");
}

const inUse = { field: "email", detail: "This email is in use." };
const invited = { field: "email", detail: "This email has an open invitation. Send that again, or revoke it." };

/** The emails, folded, that have an account, or an open invitation. Accounts that an identity provider deleted do not count. */
export async function takenEmails(ctx: Context, emails: readonly string[]) {
  const wanted = emails.map(foldCase);
  const haveAccounts = await accountsWithEmails(ctx, wanted);
  const open = await ctx.db
    .selectFrom("invitations")
    .select(foldedColumn("email").as("email"))
    .where(foldedColumn("email"), "=", anyOf(wanted, "text"))
    .where("endReason", "is", null)
    .where("expiresAt", ">", now)
    .execute();
  return {
    ofUsers: new Set(wanted.filter((_, index) => haveAccounts[index])),
    ofInvitations: new Set(open.map(({ email }) => email)),
  };
}

/** The fault of an email that has an account or an open invitation. */
export function takenFault(email: string, { ofUsers, ofInvitations }: Awaited<ReturnType<typeof takenEmails>>) {
  if (ofUsers.has(foldCase(email))) return inUse;
  return ofInvitations.has(foldCase(email)) ? invited : undefined;
}

async function requireUninvited(ctx: Context, emails: readonly string[]): Promise<void> {
  const taken = await takenEmails(ctx, emails);
  const fault = emails.map((email) => takenFault(email, taken)).find((each) => each !== undefined);
  if (fault) throw conflict(fault.detail, [fault]);
}

/** Of two requests that invite the same person, the second one fails. */
const onInvited = onViolation({ invitations_open_unique: () => conflict(invited.detail, [invited]) });

/** Stores invitations, and mails those that are to be mailed. Returns them in their order. */
export async function sendInvitations(ctx: Context, planned: readonly PlannedInvitation[]): Promise<Sent[]> {
  const { userId } = requireUser(ctx.actor);
  await takeTurn(ctx, "invitations");
  await requireRoom(ctx, userId, planned.length);
  await endExpired(
    ctx,
    planned.map(({ email }) => email),
  );
  const inviterEpoch = await epochOf(ctx, userId);
  const sent: Sent[] = [];
  for (const { delivery: by, memberships, ...invitation } of planned) {
    const id = newId();
    const { link, ...sending } = newLink(ctx, id, by);
    await ctx.db
      .insertInto("invitations")
      .values({
        ...invitation,
        ...sending,
        memberships: JSON.stringify(memberships) as never,
        id,
        inviterId: userId,
        inviterEpoch,
        createdAt: now,
        updatedAt: now,
      })
      .execute()
      .catch(onInvited);
    const { email, ...rest } = invitation;
    ctx.audit({
      action: "create",
      ...auditedInvitation({ id, email }),
      diff: diffOf({}, { ...rest, memberships, delivery: by }),
    });
    sent.push({ id, link });
  }
  return sent;
}

/** Throws CONFLICT if there would be too many open invitations. The caller has the turn of invitations. */
async function requireRoom(ctx: Context, userId: string, more: number): Promise<void> {
  const { own, all } = await ctx.db
    .selectFrom("invitations")
    .select(({ fn }) => [
      fn.countAll<number>().as("all"),
      fn.countAll<number>().filterWhere("inviterId", "=", userId).as("own"),
    ])
    .where("endReason", "is", null)
    .where("expiresAt", ">", now)
    .executeTakeFirstOrThrow();
  if (own + more > mostOfUser) throw tooMany(`You can have at most ${mostOfUser} open invitations.`);
  if (all + more > mostOpen) throw tooMany(`A deployment can have at most ${mostOpen} open invitations.`);
}

const tooMany = (message: string): DomainError => conflict(`${message} Revoke some of them first.`);

/** Ends invitations that have expired, for others to the same people. */
const endExpired = ({ db }: Context, emails: readonly string[]) =>
  db
    .updateTable("invitations")
    .set({ endReason: "replaced", endedAt: now, updatedAt: now, ...mailEnded })
    .where(foldedColumn("email"), "=", anyOf(emails.map(foldCase), "text"))
    .where("endReason", "is", null)
    .where("expiresAt", "<=", now)
    .execute();

const withoutToken = { keyId: null, tokenNonce: null, tokenCiphertext: null, leaseToken: null } as const;
const invitations = columnsOf("invitations");

/** The columns of an invitation whose link is not mailed any more. */
export const mailEnded = {
  ...withoutToken,
  mailState: sql<"sent" | "failed" | null>`case
    when ${invitations.mailState} in ('sent', 'failed') then ${invitations.mailState} end`,
};

/** A new link of an invitation, and the columns that are stored of it: its hash, and encrypted until it is mailed. */
function newLink(ctx: Context, id: string, by: InvitationDelivery) {
  const token = `stwv_${randomText(43)}`;
  const stored = {
    tokenHash: hashSecret(token),
    sentAt: now,
    expiresAt: after(lifetime),
    mailFault: null,
    attempts: 0,
  };
  const url = `${ctx.config.accessUrl}${invitationPath}?token=${token}`;
  if (by === "link") return { ...stored, ...withoutToken, mailState: null, nextAttemptAt: null, link: url };
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(invitationTokens.place({ id, ownerId: id }), token);
  ctx.publish(mailHint);
  return {
    ...stored,
    mailState: "pending" as const,
    nextAttemptAt: now,
    leaseToken: null,
    keyId,
    tokenNonce: nonce,
    tokenCiphertext: ciphertext,
    link: null,
  };
}

/** The page to which links lead. */
export const invitationPath = "/login/invitation";

/**
 * Sends an invitation again that was not accepted, with a new link and a new time. The former link stops working. The caller
 * invites the person from then on. Throws CONFLICT for one that has ended, or that was sent too often.
 */
export async function resendInvitation(ctx: Context, input: ResendInvitation): Promise<Sent> {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "invitation:update", invitationTarget({ siteRoles: [], memberships: [] }));
  // Before the invitation is locked, as by those who replace it.
  await takeTurn(ctx, "invitations");
  const invitation = await lockInvitation(ctx, input.id, "update");
  const groups = await groupsWithIds(ctx, invitation.groupIds);
  requireGivable(ctx, invitation, groups);
  await ctx.services.limits.invitations.take(userId, ctx.request);
  const problems = new Problems();
  problems.add("loginType", loginProblem(ctx, invitation.loginType));
  const by = deliveryOf(ctx, input.delivery, problems);
  problems.throwIfAny();
  await requireResendable(ctx, invitation);
  const { link, ...sending } = newLink(ctx, invitation.id, by);
  const inviterEpoch = await epochOf(ctx, userId);
  await ctx.db
    .updateTable("invitations")
    .set((eb) => ({
      ...sending,
      sendCount: eb("sendCount", "+", 1),
      inviterId: userId,
      updatedAt: now,
      inviterEpoch,
      endReason: null,
      endedAt: null,
    }))
    .where("id", "=", invitation.id)
    .execute()
    .catch(onInvited);
  const diff = {
    sends: { old: invitation.sendCount, new: invitation.sendCount + 1 },
    delivery: { new: by },
    ...(invitation.inviterId !== userId && { inviterId: { old: invitation.inviterId, new: userId } }),
  };
  ctx.audit({ action: "update", ...auditedInvitation(invitation), diff });
  return { id: invitation.id, link };
}

async function requireResendable(ctx: Context, invitation: InvitationRow): Promise<void> {
  const { status, email, sendCount, sentAt } = invitation;
  if (status === "accepted" || status === "revoked") throw conflict(`The invitation was ${status}.`);
  if (sendCount >= mostSends) throw conflict(`It was sent ${mostSends} times. Revoke it, and invite the person again.`);
  const wait = instantOf(sentAt) + pause - databaseTime();
  if (wait > 0) throw rateLimited(wait / 1000, "An invitation is sent again after a minute at the earliest.");
  if (status !== "open") await requireRoom(ctx, requireUser(ctx.actor).userId, 1);
  const { ofUsers } = await takenEmails(ctx, [email]);
  if (ofUsers.has(foldCase(email))) throw conflict(inUse.detail, [inUse]);
}

/** The groups among ids that still exist. */
export const groupsWithIds = ({ db }: Context, ids: readonly string[]) =>
  db
    .selectFrom("groups")
    .select(["id", "name", "displayName", "organizationId"])
    .where("id", "=", anyOf(ids))
    .orderBy("id")
    .execute();

/** Batch read of groups by id, for `ctx.load`. Checks no permission. */
export const invitedGroupsById = async (ctx: Context, ids: readonly string[]) =>
  rowById(await groupsWithIds(ctx, ids), ids);

/** Ends an open invitation. One that was revoked stays so. Throws CONFLICT for one that was accepted. Returns its id. */
export async function revokeInvitation(ctx: Context, id: string): Promise<string> {
  const invitation = await lockInvitation(ctx, id, "delete");
  if (invitation.status === "accepted") throw conflict("The invitation was accepted.");
  if (invitation.status === "revoked") return id;
  await ctx.db
    .updateTable("invitations")
    .set({ endReason: "revoked", endedAt: now, updatedAt: now, ...mailEnded })
    .where("id", "=", id)
    .execute();
  ctx.audit({ action: "revoke", ...auditedInvitation(invitation) });
  return id;
}
