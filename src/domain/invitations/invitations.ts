import { type InferResult, type QueryCreator, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { authorize, may, type OrganizationRole, type SiteRole } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { contains, defineList, mostCounted, text, time } from "../kernel/lists.js";
import { listArguments, type OrderBy, orderOf, type Page, type PageArguments } from "../kernel/paging.js";
import { anyOf, rowById, foldedColumn } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { foldCase } from "../../runtime/text.js";
import { choice, type Input, inputOf, optional, searchText } from "../kernel/values.js";
import { userActors } from "../users/user-actors.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const i = columnsOf("invitations", "i");

/** How long an invitation can be accepted after it was sent. */
export const lifetime = 7 * day;

/** How the link of an invitation reaches the person. */
export const InvitationDelivery = { MAIL: "mail", LINK: "link" } as const;
export type InvitationDelivery = (typeof InvitationDelivery)[keyof typeof InvitationDelivery];

export const InvitationStatus = {
  OPEN: "open",
  ACCEPTED: "accepted",
  REVOKED: "revoked",
  EXPIRED: "expired",
} as const;
export type InvitationStatus = (typeof InvitationStatus)[keyof typeof InvitationStatus];

/** A membership that an invitation gives. */
export interface InvitedMembership {
  organizationId: string;
  roles: OrganizationRole[];
}

/** The condition that an invitation `i` can be accepted, as far as it is up to itself. */
export const isOpen = sql<SqlBool>`(${i.endReason} is null and ${i.expiresAt} > now())`;

/** SQL of an invitation `i` with each status. One that another one has replaced had expired. */
const inStatus: Record<InvitationStatus, RawBuilder<SqlBool>> = {
  open: isOpen,
  accepted: sql`${i.endReason} = 'accepted'`,
  revoked: sql`${i.endReason} = 'revoked'`,
  expired: sql`(${i.endReason} = 'replaced' or ${i.endReason} is null and ${i.expiresAt} <= now())`,
};

const status = sql<InvitationStatus>`case
  when ${isOpen} then 'open'
  when ${inStatus.expired} then 'expired'
  else ${i.endReason} end`;

/** Invitations, without their tokens. */
export const invitations = (db: QueryCreator<Schema>) =>
  db
    .selectFrom("invitations as i")
    .select([
      "i.id",
      "i.createdAt",
      "i.email",
      "i.name",
      "i.siteRoles",
      "i.memberships",
      "i.groupIds",
      "i.loginType",
      "i.inviterId",
      "i.inviterEpoch",
      "i.sentAt",
      "i.sendCount",
      "i.expiresAt",
      "i.mailState",
      "i.mailFault",
      "i.endedAt",
      "i.userId",
      status.as("status"),
    ])
    .$narrowType<{ siteRoles: SiteRole[]; memberships: InvitedMembership[] }>();

export type InvitationRow = InferResult<ReturnType<typeof invitations>>[number];

/** An invitation as the target of a permission check: an account that holds all that it gives. */
export const invitationTarget = ({ siteRoles, memberships }: Pick<InvitationRow, "siteRoles" | "memberships">) => ({
  ownerId: null,
  siteRoles,
  memberships,
});

export const InvitationFilter = inputOf({
  search: optional(searchText, "Substring of the email address or the name, case-insensitive."),
  status: optional(choice(InvitationStatus), "Status."),
});
export type InvitationFilter = Input<typeof InvitationFilter>;

export const InvitationOrderField = { EMAIL: "email", CREATED_AT: "createdAt" } as const;
export type InvitationOrderField = (typeof InvitationOrderField)[keyof typeof InvitationOrderField];

export const InvitationOrder = orderOf(InvitationOrderField);
export const InvitationsQuery = listArguments(InvitationFilter, InvitationOrder, "by email, ascending");
export type InvitationsQuery = Input<typeof InvitationsQuery>;

const invitationList = defineList(({ db }) => invitations(db), {
  id: { column: "i.id", of: ({ id }) => id },
  orders: {
    // invitations_list_index
    [InvitationOrderField.EMAIL]: {
      email: text<InvitationRow>(foldedColumn("i.email"), { of: ({ email }) => foldCase(email) }),
    },
    // invitations_created_index
    [InvitationOrderField.CREATED_AT]: { createdAt: time("i.createdAt") },
  },
  filters: {
    // invitations_search_index
    search: (eb, part: string) => eb.or([contains("i.email", part), contains("i.name", part)]),
    status: (_, wanted: InvitationStatus) => inStatus[wanted],
  },
  planned: ["search", "status"],
  mostCounted,
});

/** Lists invitations, by default by email. Those that have ended stay listed for a while. */
export async function listInvitations(
  ctx: Context,
  filter: InvitationFilter,
  page: PageArguments,
  orderBy: OrderBy<InvitationOrderField> | null | undefined,
): Promise<Page<InvitationRow>> {
  authorize(ctx.actor, "invitation:read");
  return invitationList.page(ctx, { filter, orderBy, page });
}

/** Reads an invitation. Throws NOT_FOUND. */
export async function findInvitation(ctx: Context, id: string): Promise<InvitationRow> {
  authorize(ctx.actor, "invitation:read");
  const found = await invitations(ctx.db).where("i.id", "=", id).executeTakeFirst();
  if (!found) throw notFound();
  return found;
}

/** Batch read of invitations by id, for `ctx.load`. Checks no permission. */
export const invitationsById = async (ctx: Context, ids: readonly string[]) =>
  rowById(await invitations(ctx.db).where("i.id", "=", anyOf(ids)).execute(), ids);

/** Finds an invitation and locks it until the transaction ends. Throws for callers who may not do `action` with it. */
export async function lockInvitation(ctx: Context, id: string, action: "update" | "delete"): Promise<InvitationRow> {
  const permission = `invitation:${action}` as const;
  // Callers who may do it with no invitation are rejected before one is looked up.
  authorize(ctx.actor, permission, invitationTarget({ siteRoles: [], memberships: [] }));
  const it = invitations(ctx.db).where("i.id", "=", id);
  const found = await it.executeTakeFirst();
  if (!found) throw notFound();
  authorize(ctx.actor, permission, invitationTarget(found));
  const locked = await it.forNoKeyUpdate().executeTakeFirst();
  if (!locked) throw notFound();
  return locked;
}

/** Whether an open invitation gives nothing, since the user who sent it may create no users any more. */
export async function isVoid(ctx: Context, { status: is, inviterId, inviterEpoch }: InvitationRow): Promise<boolean> {
  if (is !== "open") return false;
  const [inviter, epoch] = await Promise.all([ctx.load(userActors, inviterId), ctx.load(epochs, inviterId)]);
  return inviter === undefined || epoch !== inviterEpoch || !may(inviter, "user:create");
}

/** Whether the address of an open invitation has an account by now, so that the invitation cannot be accepted. */
export const hasAccount = async (ctx: Context, { status: is, email }: InvitationRow): Promise<boolean> =>
  is === "open" && (await ctx.load(accountsWithEmails, foldCase(email)));

/** For each folded email, whether a user has it whom no identity provider has deleted. */
export async function accountsWithEmails(ctx: Context, emails: readonly string[]): Promise<boolean[]> {
  const users = await ctx.db
    .selectFrom("users")
    .select(foldedColumn("email").as("email"))
    .where(foldedColumn("email"), "=", anyOf(emails, "text"))
    .where("deletedAt", "is", null)
    .where("deprovisionedAt", "is", null)
    .execute();
  const found = new Set(users.map(({ email }) => email));
  return emails.map((email) => found.has(email));
}

async function epochs(ctx: Context, ids: readonly string[]): Promise<Array<number | undefined>> {
  const rows = await ctx.db
    .selectFrom("users")
    .select(["id", "credentialEpoch"])
    .where("id", "=", anyOf(ids))
    .execute();
  return rowById(rows, ids).map((row) => row?.credentialEpoch);
}

/** The epoch in which the credentials of a user are valid: a suspension ends it. */
export const epochOf = async (ctx: Context, userId: string): Promise<number> => (await epochs(ctx, [userId]))[0] ?? -1;

/** An invitation in the audit log. */
export const auditedInvitation = ({ id, email }: Pick<InvitationRow, "id" | "email">) =>
  auditedAs("invitation", id, email);

/** Deletes invitations a month after they could be accepted. */
export const invitationPurge = purge("invitations", { by: "expires_at", keptFor: 30 * day });
