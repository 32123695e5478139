import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { notUnique } from "./faults.js";
import type { Provisioner } from "./provisioner.js";
import { tooManyNames, usernameFor, usernames, type WantedUser } from "./user-mapping.js";

/** A user who is the one that a provider wants to create. */
export interface Existing {
  id: string;
  /** Whether the source deleted it. */
  isGone: boolean;
}

interface Match extends Existing {
  hasExternalId: boolean;
  hasUserName: boolean;
  hasEmail: boolean;
}

const isUserName = (column: string) => `${foldedSql(column)} = ${foldedSql("$3")}`;

interface Found {
  /** A username that is free until the commit; null if there are too many of its kind. */
  username: string | null;
  matches: Match[];
}

/**
 * Selects the first free username of `$6`, which no other provisioned user with the base `$5` gets until the transaction
 * ends, and the users who have the externalId `$2` in the source `$1`, the userName `$3` or the email `$4`. What others
 * commit while it waits for the username is left to the unique indexes.
 */
const findMatches = statement<Found>(`
  select free_username($5, $6, null) as username, (select coalesce(json_agg(m), '[]') from (
  select u.id, l.deprovisioned_at is not null as "isGone",
    coalesce(l.external_id collate "C" = $2, false) as "hasExternalId",
    ${isUserName("coalesce(l.user_name, n.user_name, u.username)")} as "hasUserName",
    ${foldedSql("u.email")} = ${foldedSql("$4")} as "hasEmail"
  from users u
  left join scim_user_links l on l.user_id = u.id and l.source = $1
  left join scim_user_links n on n.user_id = u.id and n.user_name is not null and n.deprovisioned_at is null
  where u.deleted_at is null and u.id = any(array(
    select user_id from scim_user_links where source = $1 and external_id collate "C" = $2
    union all select user_id from scim_user_links where ${isUserName("user_name")} and deprovisioned_at is null
    union all select user_id from scim_user_links
      where source = $1 and ${isUserName("user_name")} and deprovisioned_at is not null
    union all select id from users where deleted_at is null and ${isUserName("username")}
    union all select id from users where deleted_at is null and ${foldedSql("email")} = ${foldedSql("$4")}))) m) as matches`);

/**
 * Finds the user to revive, or with `upsert` to update: by externalId, then email, and among deleted ones by userName;
 * otherwise the username of a new user. Throws CONFLICT if the source sees another user with one of them.
 */
export async function matchUser(
  ctx: Context,
  { source }: Provisioner,
  { externalId, userName, account }: WantedUser,
  upsert: boolean,
): Promise<{ existing?: Existing; username: string | null }> {
  const base = usernameFor(userName, account.email);
  const values = [source, externalId, userName, account.email, folded(base), usernames(base)];
  const { username, matches } = (await ctx.row(findMatches, ...values))!;
  const rivals = matches.filter((each) => each.hasExternalId || each.hasUserName || each.hasEmail);
  const updated = upsert
    ? (rivals.find(({ hasExternalId }) => hasExternalId) ?? rivals.find(({ hasEmail }) => hasEmail))
    : undefined;
  const taken = rivals.find((each) => !each.isGone && each !== updated);
  if (taken) throw notUnique(taken.hasExternalId ? "externalId" : taken.hasUserName ? "userName" : "emails");
  const existing =
    updated ??
    rivals.find(({ hasExternalId }) => hasExternalId) ??
    rivals.find(({ hasUserName }) => hasUserName) ??
    rivals[0];
  return { username, ...(existing && { existing }) };
}

const isNamed = (column: string) => `${foldedSql(column)} = ${foldedSql("$1")}`;

const nameFor = statement<{ isTaken: boolean; username: string | null }>(`
  select free_username($3, $4, $2) as username, exists(
    select from scim_user_links where ${isNamed("user_name")} and deprovisioned_at is null and user_id <> $2
  ) or exists(
    select from users u where deleted_at is null and ${isNamed("username")} and id <> $2 and not exists(
      select from scim_user_links n where n.user_id = u.id and n.user_name is not null and n.deprovisioned_at is null)
  ) as "isTaken"`);

/**
 * Finds the username for a new userName of a user. Throws CONFLICT if another user has the userName. Concurrent writes
 * are left to the unique indexes.
 */
export async function newUsername(ctx: Context, { userName, account }: WantedUser, id: string): Promise<string> {
  const base = usernameFor(userName, account.email);
  const { isTaken, username } = (await ctx.row(nameFor, userName, id, folded(base), usernames(base)))!;
  if (isTaken) throw notUnique("userName");
  return username ?? tooManyNames();
}
