import type { UserActor } from "../kernel/actor.js";
import { type Reach, reach as reachOf } from "../authorization/authorization.js";
import { folded, foldedSql } from "../kernel/folding.js";
import type { Fixed } from "../kernel/list.js";
import { allOf, given, joined, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { type ConnectionType, sessionTypes } from "./connections.js";
import type { ConnectionSearch } from "./search.js";

/**
 * A part of the log as index ranges, one for each combination of values of the leading index columns, such as each of
 * several organizations. The index orders the rows of a range by time.
 */
export interface Selection {
  /** Items of a FROM clause whose cross product has one row per range. */
  from: readonly Sql[];
  /** The leading columns of `connection_logs l`, and their values in a range. */
  fixed: readonly Fixed[];
  /** The further conditions that rows of a range meet. */
  matches: Sql;
}

/** A column of the log and its accepted values, as an SQL array. */
interface Choice {
  column: string;
  among: Sql;
}

/** Selects the rows that match a search and that the caller may read. */
export function selectionOf(actor: UserActor, search: ConnectionSearch, reach: Reach): Selection {
  const choices = choicesOf(actor, search, reach);
  const leading = leadingOf(choices, search);
  const others = choices.filter((choice) => !leading.includes(choice));
  return {
    from: leading.map(({ among }, n) => sql`(select distinct v from unnest(${among}) v) ${raw(`b${n}`)}`),
    fixed: leading.map(({ column }, n) => ({ column: raw(`l.${column}`), value: raw(`b${n}.v`), isColumn: true })),
    matches: allOf(
      ...others.map(({ column, among }) => sql`l.${raw(column)} = any(${among})`),
      given(search.status, hasStatus),
      // Of several times, the least restrictive one.
      given(search.connected_after?.toSorted()[0], (time) => sql`l.connect_time >= ${time}`),
      given(search.connected_before?.toSorted().at(-1), (time) => sql`l.connect_time <= ${time}`),
    ),
  };
}

/** The condition for a status. Only sessions have a status, an end, and a `connection_id`. */
function hasStatus(among: readonly string[]): Sql {
  if (!among.includes("completed")) return sql`l.disconnect_time is null and l.connection_id is not null`;
  return among.includes("ongoing") ? sql`l.connection_id is not null` : sql`l.disconnect_time is not null`;
}

/** Choices by column, the most selective first. */
function choicesOf(actor: UserActor, search: ConnectionSearch, reach: Reach): Choice[] {
  const choices: Array<[column: string, among: Sql | undefined]> = [
    ["connection_id", given(search.connection_id, uuids)],
    ["workspace_id", given(search.workspace_id, uuids)],
    ["user_id", given(search.username, (names) => usersNamed(actor, names))],
    ["user_id", given(search.user_email, (emails) => usersWithEmail(actor, emails))],
    ["workspace_owner_id", given(search.workspace_owner, (names) => usersNamed(actor, names))],
    ["workspace_owner_id", given(search.workspace_owner_email, (emails) => usersWithEmail(actor, emails))],
    ["organization_id", search.organization ? organizations(search.organization, reach) : allOrganizations(reach)],
    ["type", given(typesOf(search), texts)],
  ];
  return choices.flatMap(([column, among]) => (among === undefined ? [] : { column, among }));
}

/** Columns of which one value matches few rows. */
const selective = new Set(["connection_id", "workspace_id", "user_id", "workspace_owner_id"]);

/** The choices for the leading columns of an index. */
function leadingOf(choices: Choice[], search: ConnectionSearch): Choice[] {
  const [first] = choices;
  if (first && selective.has(first.column)) return [first];
  // Ongoing sessions have a separate index, and are few enough to filter by type.
  return search.status && !search.status.includes("completed")
    ? choices.filter(({ column }) => column !== "type")
    : choices;
}

const uuids = (ids: readonly string[]): Sql => sql`${ids}::uuid[]`;
const texts = (values: readonly string[]): Sql => sql`${values}::text[]`;

const idsIn = (references: readonly string[]): Sql => uuids(references.filter(isUuid));
const namesIn = (references: readonly string[]): Sql =>
  texts(references.filter((reference) => !isUuid(reference)).map(folded));

const liveUsers = (condition: Sql): Sql => sql`array(select id from users where deleted_at is null and ${condition})`;

/** Users by name or id. Ids need not exist: rows outlive their users. */
function usersNamed({ userId }: UserActor, references: readonly string[]): Sql {
  const users = references.map((reference) => (reference === "me" ? userId : reference));
  return sql`${liveUsers(sql`${raw(foldedSql("username"))} = any(${namesIn(users)})`)} || ${idsIn(users)}`;
}

/** Users by email address, among those that the caller may read: any other match would disclose an address. */
function usersWithEmail(actor: UserActor, emails: readonly string[]): Sql {
  const { everywhere, own, organizations: within } = reachOf(actor, "user:read");
  const isNamed = sql`${raw(foldedSql("email"))} = any(${texts(emails.map(folded))})`;
  const isMember = sql`exists (
    select from organization_members m where m.user_id = users.id and m.organization_id = any(${uuids(within)}))`;
  const isReadable = own ? sql`(id = ${actor.userId} or ${isMember})` : isMember;
  return liveUsers(everywhere ? isNamed : allOf(isNamed, isReadable));
}

const allOrganizations = ({ everywhere, organizations: reached }: Reach): Sql | undefined =>
  everywhere ? undefined : uuids(reached);

/** Organizations by id or name, within the caller's reach. */
const organizations = (references: readonly string[], { everywhere, organizations: reached }: Reach): Sql => {
  const names = namesIn(references);
  const isReferenced = sql`(id = any(${idsIn(references)}) or deleted_at is null
    and (lower(name) = any(${names}) or is_default and 'default' = any(${names})))`;
  return sql`array(select id from organizations where ${allOf(isReferenced, everywhere ? undefined : sql`id = any(${uuids(reached)})`)})`;
};

/** The types that can match; `undefined` for any. */
const typesOf = ({ type, status }: ConnectionSearch): readonly ConnectionType[] | undefined =>
  status ? type?.filter((each) => sessionTypes.includes(each)) : type;

/** Applies `rows`, a query of one range, to every range. */
export const fromEach = ({ from }: Selection, rows: Sql): Sql => joined([...from, sql`lateral (${rows}) s`]);
