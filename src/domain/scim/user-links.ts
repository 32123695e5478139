import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { DomainError, onViolation } from "../kernel/errors.js";
import { folded, foldedColumn } from "../kernel/text.js";
import { anyOf, now } from "../kernel/queries.js";
import type { UserStatus } from "../users/users.js";
import { notUnique } from "./faults.js";
import type { Provisioner } from "./provisioner.js";
import { tooManyNames, usernameFor, usernames, type WantedUser } from "./user-mapping.js";
import { hasUserName, isUserNameOfAnother } from "./user-names.js";
import { linkedUsers, userName } from "./user-rows.js";

/** A user who is the one that a provider wants to create. */
export interface Existing {
  id: string;
  status: UserStatus;
  /** Whether the source deleted it. */
  isGone: boolean;
}

const is = (column: string, value: string) => sql<SqlBool>`${foldedColumn(column)} = ${folded(value)}`;

/**
 * Finds the user to revive, or with `upsert` to update: by externalId, then email, and among deleted ones by userName.
 * Throws CONFLICT if the source sees another user with one of them. What others commit afterwards is left to the unique
 * indexes. `isFree` tells whether the first of the usernames for the user is free.
 */
export async function matchUser(
  ctx: Context,
  { source }: Provisioner,
  wanted: WantedUser,
  upsert: boolean,
): Promise<{ existing?: Existing; isFree: boolean }> {
  const {
    externalId,
    userName: wantedName,
    account: { email },
  } = wanted;
  const username = baseOf(wanted);
  const { rows } = await sql<{ id: string }>`
    select user_id as id from scim_user_links where source = ${source} and external_id collate "C" = ${externalId}
    union all select user_id from scim_user_links where ${is("user_name", wantedName)} and deprovisioned_at is null
    union all select user_id from scim_user_links
      where source = ${source} and ${is("user_name", wantedName)} and deprovisioned_at is not null
    union all select id from users where deleted_at is null and ${is("username", wantedName)}
    union all select id from users where deleted_at is null and ${is("username", username)}
    union all select id from users where deleted_at is null and ${is("email", email)}`.execute(ctx.db);
  // Most users that a synchronization creates have nothing in common with others.
  if (rows.length === 0) return { isFree: true };
  const found = await linkedUsers(ctx.db, { source })
    .select([
      "u.id",
      "u.status",
      sql<boolean>`l.deprovisioned_at is not null`.as("isGone"),
      sql<boolean>`coalesce(l.external_id collate "C" = ${externalId}, false)`.as("hasExternalId"),
      sql<boolean>`lower(${userName} collate "C") = ${folded(wantedName)}`.as("hasUserName"),
      is("u.email", email).as("hasEmail"),
      is("u.username", username).as("hasUsername"),
    ])
    .where("u.deletedAt", "is", null)
    .where("u.id", "=", anyOf(rows.map(({ id }) => id)))
    .execute();
  const rivals = found.filter((each) => each.hasExternalId || each.hasUserName || each.hasEmail);
  const updated = upsert
    ? (rivals.find(({ hasExternalId }) => hasExternalId) ?? rivals.find(({ hasEmail }) => hasEmail))
    : undefined;
  const taken = rivals.find((each) => !each.isGone && each !== updated);
  if (taken) throw notUnique(taken.hasExternalId ? "externalId" : taken.hasUserName ? "userName" : "emails");
  const existing =
    updated ??
    rivals.find(({ hasExternalId }) => hasExternalId) ??
    rivals.find(({ hasUserName: hasName }) => hasName) ??
    rivals[0];
  return { isFree: !found.some(({ hasUsername }) => hasUsername), ...(existing && { existing }) };
}

/** The first of the usernames that are tried for a user. */
export const baseOf = ({ userName: name, account }: WantedUser): string => usernameFor(name, account.email);

/**
 * Finds the first free username for a userName, which no other user with the same base gets until the transaction ends.
 * `id` is that of the user, null for a new one.
 */
export async function freeUsername(ctx: Context, wanted: WantedUser, id: string | null): Promise<string> {
  const base = baseOf(wanted);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`steward.scim_username.${folded(base)}`}, 0))`.execute(
    ctx.db,
  );
  const names = usernames(base);
  const username = foldedColumn("username");
  const taken = await ctx.db
    .selectFrom("users")
    .select(username.as("username"))
    .where("deletedAt", "is", null)
    .where("id", "is distinct from", id)
    .where(username, "=", anyOf(names.map(folded), "text"))
    .execute();
  const isTaken = new Set(taken.map((user) => user.username));
  return names.find((name) => !isTaken.has(folded(name))) ?? tooManyNames();
}

/** Throws CONFLICT if identity providers know another user than `id` by a userName. */
export async function requireUserNameFree(ctx: Context, name: string, id: string): Promise<void> {
  const isUsername = sql<SqlBool>`exists(
    select from users u
    where u.deleted_at is null and ${foldedColumn("u.username")} = ${folded(name)} and u.id <> ${id} and not ${hasUserName})`;
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

/** Hides a user from the source. */
export async function hideUser(ctx: Context, { source }: Provisioner, userId: string): Promise<void> {
  await ctx.db
    .insertInto("scimUserLinks")
    .columns(["source", "userId", "attributes", "deprovisionedAt"])
    .expression((eb) =>
      eb
        .selectFrom("users")
        .select([
          eb.val(source).as("source"),
          "id",
          sql`scim_attributes(email, name, username, avatar_url)`.as("attributes"),
          now.as("deprovisionedAt"),
        ])
        .where("id", "=", userId),
    )
    .onConflict((on) => on.columns(["source", "userId"]).doUpdateSet({ deprovisionedAt: now }))
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
