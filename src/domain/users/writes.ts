import type { Context } from "../kernel/context.js";
import { conflict, onViolation, type Validation } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { empty, raw, type Sql, sql } from "../kernel/sql.js";
import { afterEnding, endedGrants, endingGrants, type RevokedGrant } from "../oauth2/grants.js";
import { announcement, type Recipients } from "./account-events.js";
import type { FoundUser, UserRow, UserStatus } from "./users.js";

/** New values of an account. Null and absent fields stay unchanged. */
export type AccountChange = {
  [Field in keyof Pick<UserRow, "email" | "username" | "name" | "avatarUrl">]?: string | null;
};

/** Whether another user has the email, and whether another user has the username. */
export type Taken = Record<"email" | "username", boolean>;

/** What else a statement does that writes a user. Its tables read the row as `written`: no row, if there is a conflict. */
export interface Besides {
  /** Common table expressions that give the user a userName. */
  tables?: Sql;
  /** That userName, if it is another than before. */
  userName?: string | undefined;
  /** Whether the version that SCIM clients see rises without a change of the account. */
  isRaised?: boolean;
  /** Whether a change of the status has been announced. */
  isAnnounced?: boolean;
  /** Further common table expressions, each with a comma before it. */
  last?: Sql;
}

/** The user after the write. */
export interface Written {
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** The values of a user that are unique, and the id of the user. */
interface Claim {
  id: string;
  email: string | null;
  username: string | null;
  /** Whether the statement gives the user a userName, so that it is not known by its username. */
  isNamed?: boolean;
  /** That userName, if it is another than before. */
  userName?: string | undefined;
}

const isSame = (column: string, value: string | null): Sql =>
  sql`${raw(foldedSql(column))} = ${value === null ? null : folded(value)}::text`;

/** Whether a link `n` that meets a condition gives its user a userName. */
const isNaming = (condition: Sql): Sql =>
  sql`exists(select from scim_user_links n where ${condition} and n.user_name is not null and n.deprovisioned_at is null)`;

/** Whether another user has this userName of its own. */
const isOwnedByAnother = (id: string, name: string): Sql =>
  isNaming(sql`${isSame("n.user_name", name)} and n.user_id <> ${id}`);

/** Whether identity providers know another user by the name by which they would know this one. */
const isKnown = ({ id, username, isNamed = false, userName }: Claim): Sql => {
  if (userName !== undefined)
    return sql`(${isOwnedByAnother(id, userName)} or exists(
      select from users u where u.deleted_at is null and ${isSame("u.username", userName)} and u.id <> ${id}
        and not ${isNaming(sql`n.user_id = u.id`)}))`;
  // A user without a userName of its own is known by its username.
  if (isNamed || username === null) return sql`false`;
  return sql`(${isOwnedByAnother(id, username)} and not ${isNaming(sql`n.user_id = ${id}`)})`;
};

/**
 * Common table expressions for a statement that writes a user: `taken` has the columns of `Taken`, so that both conflicts
 * are reported together; `free` has a row if there is no conflict. Conflicts with concurrent transactions are left to the
 * unique indexes.
 */
export const claiming = (claim: Claim): Sql => {
  const { id, email, username } = claim;
  return sql`
    taken as (
      select coalesce(bool_or(has_email), false) as email,
        coalesce(bool_or(has_username), false) or ${isKnown(claim)} as username
      from users u cross join lateral (
        select ${isSame("u.email", email)} as has_email, ${isSame("u.username", username)} as has_username
      ) same
      where u.deleted_at is null and u.id <> ${id} and (has_email or has_username)
    ), free as (
      select from taken where not email and not username
    )`;
};

type Outcome = Taken & Written & { recipients: Recipients };

/** The faults of values that another user has. */
const takenFields: Record<keyof Taken, Validation> = {
  email: { field: "email", detail: "This email is in use." },
  username: { field: "username", detail: "This username is in use." },
};

/** Throws CONFLICT, with one fault for each value that another user has. */
export function requireFree({ email, username }: Taken): void {
  if (email && username)
    throw conflict("This email and this username are in use.", [takenFields.email, takenFields.username]);
  if (email || username) throw conflictOver(email ? "email" : "username");
}

const conflictOver = (field: keyof Taken) => conflict(takenFields[field].detail, [takenFields[field]]);

/** Translates violations of the unique indexes, which concurrent transactions cause. */
export const throwTaken = onViolation({
  users_email_unique: () => conflictOver("email"),
  users_username_unique: () => conflictOver("username"),
});

/** Prepares to tell about a change of the status of a user. */
export const statusAnnouncement = (ctx: Context, user: Parameters<typeof announcement>[2], status: UserStatus) =>
  announcement(ctx, status === "active" ? "activated" : "suspended", user);

/**
 * Writes new values and a new status of a locked user in one statement. A change of the status ends all access, and is
 * announced to `recipients`, which the statement selects unless they are given.
 */
export async function writeUser(
  ctx: Context,
  user: FoundUser,
  { email = null, username = null, name = null, avatarUrl = null, status }: AccountChange & { status?: UserStatus },
  besides?: Besides,
): Promise<Written> {
  const { id } = user;
  const telling = status && !besides?.isAnnounced ? statusAnnouncement(ctx, user, status) : undefined;
  const raised = besides?.isRaised ? sql`, scim_version = users.scim_version + 1` : empty;
  const named = { isNamed: besides?.tables !== undefined, userName: besides?.userName };
  const update = sql`
    with ${claiming({ id, email, username, ...named })}, written as (
      update users set email = coalesce(${email}, users.email), username = coalesce(${username}, users.username),
        name = coalesce(${name}, name), avatar_url = coalesce(${avatarUrl}, avatar_url), updated_at = now()
        ${status ? sql`, status = ${status}` : empty}${raised}
      from free where id = ${id}
      returning users.*
    )${status ? sql`, ${withoutAccess(id)}` : empty}${besides?.tables ? sql`, ${besides.tables}` : empty}${besides?.last ?? empty}
    select taken.email, taken.username, written.created_at as "createdAt", written.updated_at as "updatedAt",
      written.scim_version as version${telling ? sql`, ${telling.recipients} as recipients` : empty}
      ${status ? sql`, ${endedGrants} as grants` : empty}
    from taken left join written on true`;
  const [row] = await ctx.select<Outcome & { grants: RevokedGrant[] }>(update).catch(throwTaken);
  requireFree(row!);
  if (status) await afterEnding(ctx, row!.grants, "user_suspended");
  telling?.send(row!.recipients);
  return row!;
}

/** Deletes the keys of a user, and ends its grants. */
const withoutAccess = (id: string): Sql => sql`
  ended as (delete from api_keys where user_id = ${id}), ${endingGrants(id, "user_suspended")}`;
