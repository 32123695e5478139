import type { Actor } from "../kernel/actor.js";
import { type Reach, reach as reachOf } from "../authorization/authorization.js";
import { foldedSql } from "../kernel/folding.js";
import { isUuid } from "../kernel/text.js";
import { type ConnectionType, sessionTypes } from "./connections.js";
import type { ConnectionSearch } from "./search.js";

/**
 * A part of the log, in SQL. Whatever is asked for, it is read by an index that has its rows in the order of time: one
 * stretch for each combination of what `from` gives, such as each of several organisations.
 */
export interface Selection {
  /** Items of a FROM clause, each with a column `v`. */
  from: readonly string[];
  /** Conditions on `connection_logs l` and those items. */
  conditions: readonly string[];
  /** Of the parameters `$1` and on. */
  values: readonly unknown[];
}

/** A column and the values it may have, as an SQL array. */
interface Choice {
  column: string;
  among: string;
}

/** Makes a value a parameter. */
type Bind = (value: unknown, type: string) => string;

/** What `search` asks for, of the rows in reach. */
export function selectionOf(actor: Actor, search: ConnectionSearch, reach: Reach): Selection {
  const values: unknown[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const choices = choicesOf(actor, search, reach, bind);
  const leading = leadingOf(choices, search);
  const others = choices.filter((choice) => !leading.includes(choice));
  return {
    from: leading.map(({ among }, n) => `(select distinct v from unnest(${among}) v) b${n}`),
    conditions: [
      ...leading.map(({ column }, n) => `l.${column} = b${n}.v`),
      ...others.map(({ column, among }) => `l.${column} = any(${among})`),
      ...(isOnly("ongoing", search) ? ["l.disconnect_time is null and l.connection_id is not null"] : []),
      ...(isOnly("completed", search) ? ["l.disconnect_time is not null"] : []),
      ...timesOf(search, bind),
    ],
    values,
  };
}

const isOnly = (status: "ongoing" | "completed", { status: given = [] }: ConnectionSearch) =>
  given.length > 0 && given.every((each) => each === status);

/** From those that leave the fewest rows to those that leave the most. */
function choicesOf(actor: Actor, search: ConnectionSearch, reach: Reach, bind: Bind): Choice[] {
  const ids = (given: string[] | undefined) => given && bind(given, "uuid[]");
  const choices: Array<[column: string, among: string | undefined]> = [
    ["connection_id", ids(search.connection_id)],
    ["workspace_id", ids(search.workspace_id)],
    ["user_id", usersNamed(actor, search.username, bind)],
    ["user_id", usersWithEmail(actor, search.user_email, bind)],
    ["workspace_owner_id", usersNamed(actor, search.workspace_owner, bind)],
    ["workspace_owner_id", usersWithEmail(actor, search.workspace_owner_email, bind)],
    ["organization_id", organizations(search.organization, reach, bind)],
    ["type", types(search, bind)],
  ];
  return choices.flatMap(([column, among]) => (among === undefined ? [] : { column, among }));
}

/** What leaves few rows, to look through for all the rest. */
const selective = new Set(["connection_id", "workspace_id", "user_id", "workspace_owner_id"]);

/** The choices that an index begins with. */
function leadingOf(choices: Choice[], search: ConnectionSearch): Choice[] {
  const [first] = choices;
  if (first && selective.has(first.column)) return [first];
  // Sessions that go on have an index of their own, and are few enough to look through for a type.
  return isOnly("ongoing", search) ? choices.filter(({ column }) => column !== "type") : choices;
}

const eachOf = (texts: string, fold: (text: string) => string) => `array(select ${fold("t")} from unnest(${texts}) t)`;
const lowerCased = (text: string) => `lower(${text})`;
const liveUsers = (condition: string) => `array(select id from users where deleted_at is null and ${condition})`;

function usersNamed({ userId }: Actor, given: string[] | undefined, bind: Bind): string | undefined {
  if (!given) return undefined;
  const texts = given.map((text) => (text === "me" ? userId! : text));
  const names = bind(
    texts.filter((text) => !isUuid(text)),
    "text[]",
  );
  const named = eachOf(names, foldedSql);
  return `${liveUsers(`${foldedSql("username")} = any(${named})`)} || ${bind(texts.filter(isUuid), "uuid[]")}`;
}

/** Of the users whom the caller may read: for others, a search would tell what their address is. */
function usersWithEmail(actor: Actor, given: string[] | undefined, bind: Bind): string | undefined {
  if (!given) return undefined;
  const users = reachOf(actor, "user:read");
  const named = `${foldedSql("email")} = any(${eachOf(bind(given, "text[]"), foldedSql)})`;
  if (users.everywhere) return liveUsers(named);
  const readable = `id = ${bind(users.own ? actor.userId : null, "uuid")} or exists (
    select from organization_members m
    where m.user_id = users.id and m.organization_id = any(${bind(users.organizations, "uuid[]")}))`;
  return liveUsers(`${named} and (${readable})`);
}

/** Those in reach that are asked for; `undefined` if that is all there are. */
function organizations(given: string[] | undefined, { everywhere, organizations: reached }: Reach, bind: Bind) {
  if (!given) return everywhere ? undefined : bind(reached, "uuid[]");
  const names = bind(
    given.filter((text) => !isUuid(text)),
    "text[]",
  );
  const ids = bind(given.filter(isUuid), "uuid[]");
  return `array(
    select id from organizations
    where (id = any(${ids}) or deleted_at is null
        and (lower(name) = any(${eachOf(names, lowerCased)}) or is_default and 'default' = any(${names})))
      and (${bind(everywhere, "boolean")} or id = any(${bind(reached, "uuid[]")})))`;
}

/** Those that can match; `undefined` if all can. Only sessions have a status. */
function types({ type, status }: ConnectionSearch, bind: Bind): string | undefined {
  const possible: readonly ConnectionType[] | undefined = status
    ? sessionTypes.filter((each) => !type || type.includes(each))
    : type;
  return possible && bind(possible, "text[]");
}

/** Of several times, the one that lets the most through. */
function timesOf({ connected_after: after, connected_before: before }: ConnectionSearch, bind: Bind): string[] {
  return [
    ...(after ? [`l.connect_time >= ${bind(after.toSorted()[0], "timestamptz")}`] : []),
    ...(before ? [`l.connect_time <= ${bind(before.toSorted().at(-1), "timestamptz")}`] : []),
  ];
}
