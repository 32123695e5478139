import { siteRoles } from "../authorization/authorization.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { anyText, moment, oneOf, parseSearch, yesOrNo } from "../kernel/search.js";
import { anyOf, containing, raw, type Sql, sql } from "../kernel/sql.js";

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

/** Parses a member search into conditions on the user `u`, all of which must hold. Throws BAD_USER_INPUT. */
export function memberSearch(text: string | undefined): Sql[] {
  const { words, terms } = parseSearch(text, keys, "Invalid member search query.");
  return [
    ...words.map((term) => anyOf(...term.map((word) => isInNames(containing(folded(word)))))),
    ...terms.name.map((term) => anyOf(...term.map((part) => sql`lower(u.name) like lower(${containing(part)})`))),
    ...terms.role.filter((term) => !term.includes("member")).map((term) => sql`u.site_roles && ${term}::text[]`),
    ...terms.status.map((term) => sql`u.status = any(${term}::text[])`),
    ...terms.login_type.map((term) => sql`u.login_type = any(${term}::text[])`),
    ...terms.service_account.map((term) => sql`u.is_service_account = any(${term}::boolean[])`),
    ...terms.created_after.map((term) => sql`u.created_at >= ${earliest(term)}`),
    ...terms.created_before.map((term) => sql`u.created_at <= ${latest(term)}`),
    ...terms.last_seen_after.map((term) => sql`u.last_seen_at >= ${earliest(term)}`),
    ...terms.last_seen_before.map((term) => sql`u.last_seen_at <= ${latest(term)}`),
  ];
}

const isInNames = (part: string) => sql`(${username} like ${part} or ${email} like ${part})`;

const earliest = (times: string[]) => times.reduce((a, b) => (a < b ? a : b));
const latest = (times: string[]) => times.reduce((a, b) => (a > b ? a : b));
