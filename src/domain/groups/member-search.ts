import { siteRoles } from "../authorization/authorization.js";
import { anyText, moment, oneOf, parseSearch, yesOrNo } from "../kernel/search.js";

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

/** All of the `patterns` occur in the text. */
const every = (patterns: string, text: string): string =>
  `(${patterns}::text[] is null or ${text} ~* all(${patterns}))`;

/** The roles of the user `u` as a text in which their names can be looked for: none is part of another. */
const roleNames = "(array_to_string(u.site_roles, ' ') || ' member')";

/** Whether the user `u` matches, by the values of `memberSearch` from parameter `first` on. Null does not narrow. */
export function matching(first: number): string {
  const [words, names, roles, statuses, loginTypes, service] = [0, 1, 2, 3, 4, 5].map((n) => `$${first + n}`);
  const [createdFrom, createdTo, seenFrom, seenTo] = [6, 7, 8, 9].map((n) => `$${first + n}`);
  return `
    ${every(words!, String.raw`(u.username || e'\n' || u.email) collate "C"`)}
    and ${every(names!, "u.name")}
    and ${every(roles!, roleNames)}
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
    patterns(words),
    patterns(terms.name),
    patterns(terms.role),
    common(terms.status),
    common(terms.login_type),
    common(terms.service_account),
    extreme(terms.created_after, "earliest", "latest"),
    extreme(terms.created_before, "latest", "earliest"),
    extreme(terms.last_seen_after, "earliest", "latest"),
    extreme(terms.last_seen_before, "latest", "earliest"),
  ];
}

/** A regular expression for each term: any of its words, as they are. */
const patterns = (terms: string[][]): string[] | null =>
  terms.length > 0 ? terms.map((words) => words.map(literal).join("|")) : null;

/** All that means something in a regular expression of Postgres is punctuation of ASCII; a backslash takes it literally. */
const literal = (word: string): string => word.replace(/[!-/:-@[-`{-~]/g, "\\$&");

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
