// What every session of Postgres has, whatever an operator has set on the role or the database. What is not named here stays
// theirs: memory, costs of the planner, logs, places of tables, and `search_path`, which chooses the schema.
// `test/rest/inside/database-settings.test.ts` has a reason for each setting that is left.
import { escapeIdentifier, escapeLiteral } from "pg";

/** Settings, by name. */
export type Settings = Readonly<Record<string, string>>;

/** Name, value, and what would break. Timeouts come first: a short one would end the statement that makes the settings. */
type Pinned = readonly [name: string, value: string, reason: string];

const everywhere: readonly Pinned[] = [
  ["statement_timeout", "0", "Pools have a limit of their own; migrations and backups take as long as they take."],
  ["lock_timeout", "0", "Pools and migrations have limits of their own; NOTIFY waits for others that commit."],
  [
    "idle_in_transaction_session_timeout",
    "0",
    "A transaction ends with its request, whose time is limited; a backup waits for its disk.",
  ],
  [
    "idle_session_timeout",
    "0",
    "The connection for events waits by design; a pool would send statements into connections that end.",
  ],
  ["client_connection_check_interval", "0", "Keepalives notice lost clients; migrations set it for themselves."],
  ["exit_on_error", "off", "A violated constraint is an expected result, and must not end the session."],
  [
    "DateStyle",
    "ISO, MDY",
    "The parser of times reads ISO 8601, and backups are read with any order of days and months.",
  ],
  ["IntervalStyle", "postgres", "Signs of intervals are read differently in another style."],
  ["TimeZone", "UTC", "Times are written with the offset +00, and months and days begin in UTC."],
  ["timezone_abbreviations", "Default", "Names of zones such as EST are abbreviations as well."],
  ["client_encoding", "UTF8", "Texts are sent and read as UTF-8, in backups as well."],
  ["bytea_output", "hex", "Hashes are read as hexadecimal digits."],
  ["extra_float_digits", "1", "Numbers are written with all of their digits."],
  ["lc_numeric", "C", "to_char writes a point before decimals."],
  ["lc_time", "C", "to_char writes English names."],
  ["array_nulls", "on", "NULL in an array that is a parameter is no text: times of use would be lost."],
  ["standard_conforming_strings", "on", "Migrations and backups have backslashes in their texts."],
  ["transform_null_equals", "off", "A comparison with NULL finds nothing."],
  ["quote_all_identifiers", "off", "Definitions of indexes and constraints are read, and compared by their text."],
  ["gin_fuzzy_search_limit", "0", "A search finds all that matches, not a sample."],
  [
    "row_security",
    "on",
    "Rows that a policy hides are hidden in the same way for all connections; a backup fails instead.",
  ],
  ["client_min_messages", "warning", "That a commit was not confirmed by a standby comes as a warning."],
  [
    "default_transaction_isolation",
    "read committed",
    "Statements are written for it; in others, concurrent updates fail.",
  ],
  ["default_transaction_deferrable", "off", "A transaction that only reads must not wait for others."],
  ["plan_cache_mode", "auto", "Searches are planned for their values, and other statements once."],
  // For statements that run for milliseconds, JIT compilation and the start of parallel workers cost more than they save.
  ["jit", "off", "Compilation costs more than a short statement."],
  ["max_parallel_workers_per_gather", "0", "The start of workers costs more than a short statement."],
];

/** Settings that not every supported version of Postgres knows (14 to 18). */
const whereKnown: readonly Pinned[] = [
  ["transaction_timeout", "0", "As idle_in_transaction_session_timeout; of Postgres 17 and newer."],
  ["restrict_nonsystem_relation_kind", "", "Statements read views; of minor versions since August 2024."],
];

/** Settings that are changed only from some values: name, these values, the value instead, and what would break. */
const raised: ReadonlyArray<readonly [name: string, values: readonly string[], value: string, reason: string]> = [
  [
    "synchronous_commit",
    ["off", "local", "remote_write"],
    "on",
    "What was acknowledged is on disk, and on the standby that is waited for.",
  ],
  // Only superusers may change it. For others, the connection is rejected with a message that names the setting.
  ["session_replication_role", ["replica", "local"], "origin", "Triggers and foreign keys work."],
];

/** Settings of connections, which a pooler keeps for itself. */
const ofConnections: readonly Pinned[] = [
  ["tcp_keepalives_idle", "10", "The server notices, too, if this process has vanished, and releases its locks."],
  ["tcp_keepalives_interval", "5", "As tcp_keepalives_idle."],
  ["tcp_keepalives_count", "3", "As tcp_keepalives_idle."],
  [
    "tcp_user_timeout",
    "0",
    "It would end a backup whose disk is slow, since it also counts while the receiver has no room.",
  ],
];

const valuesOf = (pinned: readonly Pinned[]): Record<string, string> =>
  Object.fromEntries(pinned.map(([name, value]) => [name, value]));

const call = (name: string, value: string, isLocal: boolean): string =>
  `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, ${isLocal})`;

/** The expressions that make the settings, with others in addition or instead of these. */
function calls(others: Settings, pinned: readonly Pinned[], isLocal: boolean): string {
  const usual = raised.filter(([name]) => !(name in others));
  return [
    ...Object.entries({ ...valuesOf(pinned), ...others }).map(([name, value]) => call(name, value, isLocal)),
    ...whereKnown.map(
      ([name, value]) =>
        `case when current_setting(${escapeLiteral(name)}, true) is not null then ${call(name, value, isLocal)} end`,
    ),
    ...usual.map(
      ([name, values, value]) =>
        `case when current_setting(${escapeLiteral(name)}) in (${values.map((each) => escapeLiteral(each)).join(", ")}) then ${call(name, value, isLocal)} end`,
    ),
  ].join(", ");
}

/** Begins a transaction on the usual terms, which do not follow from the session if a pooler lends it. */
export const beginUsual = "begin isolation level read committed, not deferrable";

/**
 * Returns the statements that make the settings of a session. The transaction is needed since others, such as serializable
 * ones, may be impossible on the server. The first statement ends a timeout before it can end the others.
 */
export const initializeSession = (others: Settings): string =>
  `set ${escapeIdentifier("statement_timeout")} to 0; ${beginUsual}; select ${calls(others, [...everywhere, ...ofConnections], false)}; commit;`;

/** Returns the statement that makes the settings of a transaction, after `beginUsual`. */
export const initializeTransaction = (others: Settings): string => `select ${calls(others, everywhere, true)};`;

/** The names of all settings that are made. */
export const pinnedSettings: readonly string[] = [
  ...[...everywhere, ...whereKnown, ...ofConnections].map(([name]) => name),
  ...raised.map(([name]) => name),
];
