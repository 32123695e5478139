import { siteRoles } from "../authorization/authorization.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { anyText, moment, oneOf, parseSearch, yesOrNo } from "../kernel/search.js";
import { allOf, anyOf, containing, raw, type Sql, sql } from "../kernel/sql.js";
import { listedUsers, type Narrowing, seenBetween } from "../users/search.js";

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

/** Parses a member search. Throws BAD_USER_INPUT. */
export function memberSearch(text: string): Narrowing | undefined {
  const { words, terms } = parseSearch(text, keys, "Invalid member search query.");
  const conditions = [
    ...words.map((term) => term.map(folded)).map((term) => anyOf(contains(username, term), contains(email, term))),
    ...terms.name.map((term) => contains(name, term, (pattern) => sql`lower(${pattern})`)),
    ...terms.role.filter((term) => !term.includes("member")).map((term) => sql`u.site_roles && ${term}::text[]`),
    ...terms.status.map((term) => isAmong(sql`u.status`, term, sql`text[]`)),
    ...terms.login_type.map((term) => isAmong(sql`u.login_type`, term, sql`text[]`)),
    ...terms.service_account.map((term) => isAmong(sql`u.is_service_account`, term, sql`boolean[]`)),
    ...terms.created_after.map((term) => sql`u.created_at >= ${earliest(term)}`),
    ...terms.created_before.map((term) => sql`u.created_at <= ${latest(term)}`),
    ...terms.last_seen_after.map((term) => seenBetween(earliest(term), null)),
    ...terms.last_seen_before.map((term) => seenBetween(null, latest(term))),
  ];
  return conditions.length > 0 ? listedUsers(allOf(...conditions)) : undefined;
}

/** Whether a text contains any of the parts, once folded. Only the condition of a single part can use an index. */
const contains = (text: Sql, parts: readonly string[], fold = (pattern: Sql) => pattern): Sql =>
  parts.length === 1
    ? sql`${text} like ${fold(sql`${containing(parts[0]!)}::text`)}`
    : sql`${text} like any(array(select ${fold(sql`p`)} from unnest(${parts.map(containing)}::text[]) p))`;

/**
 * The condition that a column has one of some values; for a single one a range, for which Postgres uses the index: of
 * `=`, it expects that all users have one of few values.
 */
const isAmong = (column: Sql, values: ReadonlyArray<string | boolean>, type: Sql): Sql =>
  values.length === 1
    ? sql`${column} between ${values[0]!} and ${values[0]!}`
    : sql`${column} = any(${values}::${type})`;

const earliest = (times: string[]) => times.reduce((a, b) => (a < b ? a : b));
const latest = (times: string[]) => times.reduce((a, b) => (a > b ? a : b));
