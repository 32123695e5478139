import { folded, foldedSql } from "../kernel/folding.js";
import type { Narrowing } from "../kernel/list.js";
import { anyOf, containing, raw, type Sql, sql } from "../kernel/sql.js";
import { proseProblem } from "../kernel/text.js";

/** Longest search text, in characters. */
const longestSearch = 254;

export const searchProblem = (text: string | null | undefined) =>
  text == null ? undefined : proseProblem(text, longestSearch);

/** Narrows by a condition on the users `u` of lists; Postgres chooses an index for it. */
export const listedUsers = (matches: Sql): Narrowing => ({
  matches,
  candidates: sql`select u.id from users u where u.deleted_at is null and not u.is_system and ${matches}`,
});

const day = (time: Sql) => sql`(${time} at time zone 'UTC')::date`;

/** The condition that a user `u` was last seen in a range of times, which may be open. Only days have an index. */
export function seenBetween(after?: string | null, before?: string | null): Sql | undefined {
  if (after == null && before == null) return undefined;
  const [from, to] = [sql`${after ?? "-infinity"}::timestamptz`, sql`${before ?? "infinity"}::timestamptz`];
  return sql`u.last_seen_on between ${day(from)} and ${day(to)} and u.last_seen_at between ${from} and ${to}`;
}

/**
 * The condition that a user `u` was created in a range of times, which may be open. Always has two ends: in a range
 * with one, Postgres expects a third of all users, and reads the whole table.
 */
export const createdBetween = (after?: string | null, before?: string | null): Sql | undefined =>
  after == null && before == null
    ? undefined
    : sql`u.created_at between ${after ?? "-infinity"}::timestamptz and ${before ?? "infinity"}::timestamptz`;

/**
 * Conditions that the username, the real name or, where `showsEmail` holds, the email of a user `u` contains a text, in
 * any letter case. `candidates` selects their ids by the trigram index, which has to look at all users for texts of one
 * or two characters.
 */
export function searchOf(text: string, showsEmail = sql`true`): Narrowing {
  const pattern = containing(text);
  return listedUsers(
    anyOf(
      sql`${raw(foldedSql("u.username"))} like ${folded(pattern)}`,
      sql`(${showsEmail} and ${raw(foldedSql("u.email"))} like ${folded(pattern)})`,
      sql`lower(u.name) collate "C" like lower(${pattern}::text)`,
    ),
  );
}
