import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { DomainError, onViolation } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn, anyOf, now } from "../kernel/queries.js";
import { notUnique, suspendedOtherwise } from "./faults.js";
import type { Provisioner } from "./provisioner.js";
import { firstFreeUsername, usernameFor } from "../users/derived-usernames.js";
import { tooManyNames, type WantedUser } from "./user-mapping.js";
import { hasUserName, isUserNameOfAnother } from "./user-names.js";
import { linkedUsers } from "./user-rows.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const scimUserLinks = columnsOf("scimUserLinks");
const users = columnsOf("users");

const u = columnsOf("users", "u");
const l = columnsOf("scimUserLinks", "l");
const o = columnsOf("scimUserLinks", "o");

/**
 * How a user becomes the one whom a source wants to create: it is updated; it returns after the source suspended it; or it is
 * revived after the source deleted it, known by its externalId, or by its email alone.
 */
export type Adoption = "updated" | "returned" | "revived" | "revivedByEmail";

/** A user who is the one that a provider wants to create. */
export interface Existing {
  id: string;
  adoption: Adoption;
}

const is = (column: string, value: string) => sql<SqlBool>`${foldedColumn(column)} = ${foldCase(value)}`;

/** A user who has something in common with the one that a source wants to create. */
type Found = Awaited<ReturnType<typeof usersLike>>[number];

/** Reads the users who have the externalId at the source, the userName, the email or the first username of a wanted one. */
async function usersLike(ctx: Context, { source }: Provisioner, wanted: WantedUser) {
  const {
    externalId,
    userName: name,
    account: { email },
  } = wanted;
  const username = baseOf(wanted);
  const { rows } = await sql<{ id: string }>`
    select ${scimUserLinks.userId} as id from scim_user_links where source = ${source} and ${scimUserLinks.externalId} collate "C" = ${externalId}
    union all select ${scimUserLinks.userId} from scim_user_links where ${is("user_name", name)} and ${scimUserLinks.deprovisionedAt} is null
    union all select id from users where ${users.deletedAt} is null and ${is("username", name)}
    union all select id from users where ${users.deletedAt} is null and ${is("username", username)}
    union all select id from users where ${users.deletedAt} is null and ${is("email", email)}`.execute(ctx.db);
  // Most users that a synchronization creates have nothing in common with others.
  if (rows.length === 0) return [];
  return linkedUsers(ctx.db, { source })
    .select([
      "u.id",
      "l.externalId",
      sql<boolean>`${u.deprovisionedAt} is not null`.as("hasLeft"),
      sql<boolean>`${l.deprovisionedAt} is not null`.as("isGone"),
      sql<boolean>`u.status = 'suspended'`.as("isSuspended"),
      sql<boolean>`${l.suspendedAt} is not null`.as("isBySource"),
      sql<boolean>`exists(
        select from scim_user_links o where ${o.userId} = u.id and o.source <> ${source})`.as("isLinkedElsewhere"),
      sql<boolean>`coalesce(${l.externalId} collate "C" = ${externalId}, false)`.as("hasExternalId"),
      sql<boolean>`lower(coalesce(n.user_name, u.username) collate "C") = ${foldCase(name)}`.as("hasUserName"),
      is("u.email", email).as("hasEmail"),
      is("u.username", username).as("hasUsername"),
    ])
    .where("u.deletedAt", "is", null)
    .where("u.id", "=", anyOf(rows.map(({ id }) => id)))
    .execute();
}

/**
 * Finds the user whom a source means by one that it wants to create, or with `upsert` to update: by the externalId, and
 * by the email if at least one side has no externalId. By the email alone, it selects one that the source deleted only if the
 * email is all that is known of both, and no other source knows the user. A userName selects no user.
 *
 * Throws CONFLICT if another user has the externalId, the userName or the email. Those of leavers are free. What others
 * commit afterwards is left to the unique indexes. `isFree` tells whether the first of the usernames for the user is free.
 */
export async function matchUser(
  ctx: Context,
  provisioner: Provisioner,
  wanted: WantedUser,
  isUpsert: boolean,
): Promise<{ existing?: Existing; isFree: boolean }> {
  const found = await usersLike(ctx, provisioner, wanted);
  const existing = meant(found, wanted, isUpsert);
  const taken = found.find(
    (each) =>
      each.id !== existing?.id && (each.hasExternalId || (!each.hasLeft && (each.hasUserName || each.hasEmail))),
  );
  if (taken) throw notUnique(taken.hasExternalId ? "externalId" : taken.hasUserName ? "userName" : "emails");
  return { isFree: !found.some(({ hasUsername }) => hasUsername), ...(existing && { existing }) };
}

/**
 * Selects the one of the users who matches; `undefined` if none does. Throws CONFLICT if the source would bring back one whom
 * an administrator, or another source, has suspended.
 */
function meant(found: readonly Found[], { externalId }: WantedUser, upsert: boolean): Existing | undefined {
  const known = found.find((each) => each.hasExternalId);
  if (known?.isGone) return { id: returning(known), adoption: "revived" };
  if (known && upsert) return { id: known.id, adoption: "updated" };
  if (known) return known.isSuspended ? { id: returning(known), adoption: "returned" } : undefined;
  const reached = found.find((each) => each.hasEmail);
  if (!reached) return undefined;
  const isOnlyReached = externalId === null && reached.externalId === null && !reached.isLinkedElsewhere;
  if (reached.isGone && isOnlyReached) return { id: returning(reached), adoption: "revivedByEmail" };
  const isUpdated = upsert && !reached.hasLeft && !reached.isGone;
  return isUpdated && (externalId === null || reached.externalId === null)
    ? { id: reached.id, adoption: "updated" }
    : undefined;
}

/** The id of a user whom the source brings back. A deletion by the source does not lift what suspended the user before. */
function returning({ id, isSuspended, isBySource }: Found): string {
  if (isSuspended && !isBySource) throw suspendedOtherwise();
  return id;
}

/** The first of the usernames that are tried for a user. */
export const baseOf = ({ userName: name, account }: WantedUser): string => usernameFor(name, account.email);

/**
 * Finds the first free username for a userName, which no other user with the same base gets until the transaction ends.
 * `id` is that of the user, null for a new one.
 */
export async function freeUsername(ctx: Context, wanted: WantedUser, id: string | null): Promise<string> {
  const base = baseOf(wanted);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`steward.scim_username.${foldCase(base)}`}, 0))`.execute(
    ctx.db,
  );
  return (await firstFreeUsername(ctx, base, id)) ?? tooManyNames();
}

/** Throws CONFLICT if identity providers know another user than `id` by a userName. */
export async function requireUserNameFree(ctx: Context, name: string, id: string): Promise<void> {
  const isUsername = sql<SqlBool>`exists(
    select from users u
    where ${u.deletedAt} is null and ${u.deprovisionedAt} is null and ${foldedColumn("u.username")} = ${foldCase(name)}
      and u.id <> ${id} and not ${hasUserName})`;
  const { isTaken } = await ctx.db
    .selectNoFrom(sql<boolean>`${isUserNameOfAnother(name, id)} or ${isUsername}`.as("isTaken"))
    .executeTakeFirstOrThrow();
  if (isTaken) throw notUnique("userName");
}

/** Links a new user to the source. */
export async function addLink(
  ctx: Context,
  { source }: Provisioner,
  userId: string,
  { externalId, userName: name, kept }: WantedUser,
): Promise<void> {
  const link = { source, userId, externalId, userName: name, attributes: kept };
  await ctx.db.insertInto("scimUserLinks").values(link).execute();
}

/**
 * Writes the link of the source to a locked user, whom the source sees from now on. Moves the userName `name` from the
 * links of other sources to this one; null leaves it at the link of another source. For the rest of the transaction,
 * changes of the account are copied to the links of other sources only.
 */
export async function writeLink(
  ctx: Context,
  { source }: Provisioner,
  userId: string,
  { externalId, kept }: WantedUser,
  name: string | null,
): Promise<void> {
  // Triggers copy changes of the account to all links but those of this source.
  await sql`select set_config('steward.scim_source', ${source}, true)`.execute(ctx.db);
  if (name !== null)
    await ctx.db
      .updateTable("scimUserLinks")
      .set({ userName: null })
      .where("userId", "=", userId)
      .where("source", "<>", source)
      .where("deprovisionedAt", "is", null)
      .execute();
  const values = { externalId, userName: name, attributes: kept };
  await ctx.db
    .insertInto("scimUserLinks")
    .values({ source, userId, ...values })
    .onConflict((on) => on.columns(["source", "userId"]).doUpdateSet({ ...values, deprovisionedAt: null }))
    .execute()
    .catch(throwNotUnique);
}

/**
 * Hides a user from the source. If `hasLeft`, the account was suspended with it: unless another source still manages the
 * user, its names are free from now on, and no source sees it.
 */
export async function hideUser(
  ctx: Context,
  { source }: Provisioner,
  userId: string,
  { hasLeft }: { hasLeft: boolean },
): Promise<void> {
  await ctx.db
    .insertInto("scimUserLinks")
    .columns(["source", "userId", "attributes", "deprovisionedAt"])
    .expression((eb) =>
      eb
        .selectFrom("users")
        .select([
          eb.val(source).as("source"),
          "id",
          sql`scim_attributes(email, name, username, ${users.avatarUrl})`.as("attributes"),
          now.as("deprovisionedAt"),
        ])
        .where("id", "=", userId),
    )
    .onConflict((on) => on.columns(["source", "userId"]).doUpdateSet({ deprovisionedAt: now }))
    .execute();
  if (!hasLeft) return;
  await ctx.db
    .updateTable("users as u")
    .set({ deprovisionedAt: now })
    .where("u.id", "=", userId)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("scimUserLinks as l")
            .select("l.source")
            .whereRef("l.userId", "=", "u.id")
            .where("l.deprovisionedAt", "is", null),
        ),
      ),
    )
    .execute();
}

/** Records that the source has suspended a user, who returns when the source creates it again. */
export async function noteSuspension(ctx: Context, { source }: Provisioner, userId: string): Promise<void> {
  await ctx.db
    .updateTable("scimUserLinks")
    .set({ suspendedAt: now })
    .where("source", "=", source)
    .where("userId", "=", userId)
    .execute();
}

const throwNotUnique = onViolation({
  scim_user_links_external_id_unique: () => notUnique("externalId"),
  scim_user_links_user_name_unique: () => notUnique("userName"),
});

const conflicts: Record<string, string> = { email: "emails", username: "userName" };

/** Names conflicts over values of accounts by their SCIM attributes. */
export function asUniqueness(error: unknown): never {
  const field = error instanceof DomainError && error.code === "CONFLICT" && error.details.validations?.[0]?.field;
  if (field && conflicts[field]) throw notUnique(conflicts[field]);
  throw error;
}
