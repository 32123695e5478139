import { siteRoles } from "../authorization/authorization.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { allNarrowings, type Fixed, type Narrowings } from "../kernel/list.js";
import { anyText, moment, oneOf, parseSearch, yesOrNo } from "../kernel/search.js";
import { allGiven, anyOf, given, containing, raw, type Sql, sql } from "../kernel/sql.js";
import { createdBetween, listedUsers, seenBetween } from "../users/search.js";

const keys = {
  name: anyText,
  status: oneOf("active", "suspended"),
  login_type: oneOf("github", "none", "oidc", "password", "token"),
  role: oneOf(...siteRoles, "member"),
  service_account: yesOrNo,
  created_before: moment,
  created_after: moment,
  last_seen_before: moment,
  last_seen_after: moment,
};

const username = raw(foldedSql("u.username"));
const email = raw(foldedSql("u.email"));
const name = sql`lower(u.name) collate "C"`;

/** A search for members. */
export interface MemberSearch extends Narrowings {
  /** A column that the search restricts to a value, with an index of the users in the order of usernames; none or one. */
  fixed: readonly Fixed[];
}

/** Parses a member search. Throws BAD_USER_INPUT. */
export function memberSearch(text: string): MemberSearch | undefined {
  const { words, terms } = parseSearch(text, keys, "Invalid member search query.");
  const equal = [
    ...terms.status.map((term) => isAmong(sql`u.status`, term, sql`text[]`)),
    ...terms.login_type.map((term) => isAmong(sql`u.login_type`, term, sql`text[]`)),
    ...terms.service_account.map((term) => isAmong(sql`u.is_service_account`, term, sql`boolean[]`)),
  ];
  const texts = words
    .map((term) => term.map(folded))
    .map((term) => anyOf(contains(username, term), contains(email, term)));
  const names = terms.name.map((term) => contains(name, term, (pattern) => sql`lower(${pattern})`));
  const roles = terms.role.filter((term) => !term.includes("member")).map(hasRole);
  const seen = [
    ...terms.last_seen_after.map((term) => seenBetween(earliest(term), null)),
    ...terms.last_seen_before.map((term) => seenBetween(null, latest(term))),
  ];
  const created = [
    ...terms.created_after.map((term) => createdBetween(earliest(term), null)),
    ...terms.created_before.map((term) => createdBetween(null, latest(term))),
  ];
  const conditions = [
    ...texts,
    ...names,
    ...roles,
    allGiven(...seen),
    allGiven(...created),
    ...equal.map(({ condition }) => condition),
  ].filter((condition) => condition !== undefined);
  const fixed = equal.flatMap((each) => each.fixed ?? []).slice(0, 1);
  return given(allNarrowings(conditions.map((each) => listedUsers(each))), (all) => ({ ...all, fixed }));
}

/** The condition has the form of the index of users with a role in the deployment. */
const hasRole = (roles: readonly string[]): Sql => sql`u.site_roles <> '{}' and u.site_roles && ${roles}::text[]`;

/** Whether a text contains any of the parts, once folded. Only the condition of a single part can use an index. */
const contains = (text: Sql, parts: readonly string[], fold = (pattern: Sql) => pattern): Sql =>
  parts.length === 1
    ? sql`${text} like ${fold(sql`${containing(parts[0]!)}::text`)}`
    : sql`${text} like any(array(select ${fold(sql`p`)} from unnest(${parts.map(containing)}::text[]) p))`;

/**
 * The condition that a column has one of some values; for a single one a range, for which Postgres uses the index: of
 * `=`, it expects that all users have one of few values.
 */
function isAmong(column: Sql, values: ReadonlyArray<string | boolean>, type: Sql): { condition: Sql; fixed?: Fixed } {
  const [value, ...others] = values;
  return others.length === 0
    ? { condition: sql`${column} between ${value!} and ${value!}`, fixed: { column, value: value! } }
    : { condition: sql`${column} = any(${values}::${type})` };
}

const earliest = (times: string[]) => times.reduce((a, b) => (a < b ? a : b));
const latest = (times: string[]) => times.reduce((a, b) => (a > b ? a : b));
