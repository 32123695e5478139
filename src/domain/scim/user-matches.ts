import type { Context } from "../kernel/context.js";
import { folded } from "../kernel/folding.js";
import { type Sql, sql } from "../kernel/sql.js";
import type { NewUser, Surroundings } from "../users/creation.js";
import type { UserRow } from "../users/users.js";
import { notUnique } from "./faults.js";
import type { Provisioner } from "./provisioner.js";
import { tooManyNames, usernameFor, usernames, type WantedUser } from "./user-mapping.js";
import { isText } from "./user-rows.js";

/** A user who is the one that a provider wants to create. */
export interface Existing extends Pick<UserRow, "id" | "username" | "name" | "status"> {
  /** Whether the source deleted it. */
  isGone: boolean;
  hasUserName: boolean;
}

interface Match extends Existing {
  hasExternalId: boolean;
  hasEmail: boolean;
}

interface Found {
  /** Whether the username is free. */
  isFree: boolean;
  matches: Match[];
}

/** Columns with the users who have the externalId in the source, the userName or the email, as the source sees them. */
const matching = ({ source }: Provisioner, { externalId, userName, account: { email } }: WantedUser): Sql => sql`(
  select coalesce(json_agg(m), '[]') from (
    select u.id, u.username, u.name, u.status, l.deprovisioned_at is not null as "isGone",
      coalesce(l.external_id collate "C" = ${externalId}, false) as "hasExternalId",
      ${isText("coalesce(l.user_name, n.user_name, u.username)", userName)} as "hasUserName",
      ${isText("u.email", email)} as "hasEmail"
    from users u
    left join scim_user_links l on l.user_id = u.id and l.source = ${source}
    left join scim_user_links n on n.user_id = u.id and n.user_name is not null and n.deprovisioned_at is null
    where u.deleted_at is null and u.id = any(array(
      select user_id from scim_user_links where source = ${source} and external_id collate "C" = ${externalId}
      union all select user_id from scim_user_links where ${isText("user_name", userName)} and deprovisioned_at is null
      union all select user_id from scim_user_links
        where source = ${source} and ${isText("user_name", userName)} and deprovisioned_at is not null
      union all select id from users where deleted_at is null and ${isText("username", userName)}
      union all select id from users where deleted_at is null and ${isText("email", email)}))) m) as matches`;

/**
 * Finds the user to revive, or with `upsert` to update: by externalId, then email, and among deleted ones by userName.
 * Throws CONFLICT if the source sees another user with one of them. Without such a user, returns the further columns
 * `more`. What others commit afterwards is left to the unique indexes.
 */
export async function matchUser(
  ctx: Context,
  provisioner: Provisioner,
  wanted: WantedUser,
  upsert: boolean,
  more: NewUser["columns"],
): Promise<{ existing?: Existing; found: Found & Surroundings }> {
  const base = isText("username", baseOf(wanted));
  const [found] = await ctx.select<Found & Surroundings>(sql`
    select not exists(select from users where deleted_at is null and ${base}) as "isFree",
      ${matching(provisioner, wanted)}, ${more}`);
  const rivals = found!.matches.filter((each) => each.hasExternalId || each.hasUserName || each.hasEmail);
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
  return { found: found!, ...(existing && { existing }) };
}

/** The first of the usernames that are tried for a user. */
export const baseOf = ({ userName, account }: WantedUser): string => usernameFor(userName, account.email);

/**
 * The first free username for a userName, which no other user with the same base gets until the transaction ends: null if
 * there is none. `id` is that of the user, null for a new one.
 */
export function freeUsername(wanted: WantedUser, id: string | null): Sql {
  const base = baseOf(wanted);
  return sql`free_username(${folded(base)}, ${usernames(base)}, ${id})`;
}

/** Finds a free username for a new user. */
export async function anotherUsername(ctx: Context, wanted: WantedUser): Promise<string> {
  const [found] = await ctx.select<{ username: string | null }>(sql`select ${freeUsername(wanted, null)} as username`);
  return found!.username ?? tooManyNames();
}
