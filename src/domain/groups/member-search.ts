import { siteRoles } from "../authorization.js";
import { anyText, moment, oneOf, parseSearch, yesOrNo } from "../search.js";

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

/** All of the terms in `terms` are met, each of them by any of its words. */
const every = (terms: string, condition: string): string => `(${terms}::jsonb is null or not exists (
  select from jsonb_array_elements(${terms}) term
  where not exists (select from jsonb_array_elements_text(term) word where ${condition})))`;

/** Whether the user `u` matches, by the values of `memberSearch` from parameter `first` on. Null does not narrow. */
export function matching(first: number): string {
  const [words, names, roles, statuses, loginTypes, service] = [0, 1, 2, 3, 4, 5].map((n) => `$${first + n}`);
  const [createdFrom, createdTo, seenFrom, seenTo] = [6, 7, 8, 9].map((n) => `$${first + n}`);
  return `
    ${every(words!, "position(lower(word) in lower(u.username)) > 0 or position(lower(word) in lower(u.email)) > 0")}
    and ${every(names!, "position(lower(word) in lower(u.name)) > 0")}
    and ${every(roles!, "word = 'member' or word = any(u.site_roles)")}
    and (${statuses}::text[] is null or u.status = any(${statuses}))
    and (${loginTypes}::text[] is null or u.login_type = any(${loginTypes}))
    and (${service}::boolean[] is null or u.is_service_account = any(${service}))
    and (${createdFrom}::timestamptz is null or u.created_at >= ${createdFrom})
    and (${createdTo}::timestamptz is null or u.created_at <= ${createdTo})
    and (${seenFrom}::timestamptz is null or u.last_seen_at >= ${seenFrom})
    and (${seenTo}::timestamptz is null or u.last_seen_at <= ${seenTo})`;
}

/** The values that `matching` compares with. Throws for what is no search of members. */
export function memberSearch(text: string | undefined): unknown[] {
  const { words, terms } = parseSearch(text, keys, "Invalid member search query.");
  return [
    listed(words),
    listed(terms.name),
    listed(terms.role),
    common(terms.status),
    common(terms.login_type),
    common(terms.service_account),
    extreme(terms.created_after, "earliest", "latest"),
    extreme(terms.created_before, "latest", "earliest"),
    extreme(terms.last_seen_after, "earliest", "latest"),
    extreme(terms.last_seen_before, "latest", "earliest"),
  ];
}

const listed = (terms: string[][]) => (terms.length > 0 ? JSON.stringify(terms) : null);

/** The values that meet all terms, for fields that have one value. */
const common = <Value>(terms: Value[][]): Value[] | null =>
  terms.length > 0 ? terms.reduce((all, term) => all.filter((value) => term.includes(value))) : null;

const of = {
  earliest: (times: string[]) => times.reduce((a, b) => (a < b ? a : b)),
  latest: (times: string[]) => times.reduce((a, b) => (a > b ? a : b)),
};

/** The bound that several terms set together, each of which is met by any of its times. */
const extreme = (terms: string[][], any: keyof typeof of, all: keyof typeof of): string | null =>
  terms.length > 0 ? of[all](terms.map(of[any])) : null;
