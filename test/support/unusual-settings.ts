// Settings of Postgres that an operator might have set on a role or a database, all of them unusual. With
// STEWARD_TEST_UNUSUAL_DATABASE=1, the databases of a run have them. They concern the servers: connections that tests open
// themselves get the usual ones back.
import { callbackify } from "node:util";
import { Client, escapeIdentifier, escapeLiteral } from "pg";

/** Name, unusual value, usual value, and whether it is set on the role of this database rather than on the database. */
const unusual: ReadonlyArray<readonly [name: string, value: string, usual: string, on?: "role"]> = [
  ["DateStyle", "German, DMY", "ISO, MDY"],
  ["IntervalStyle", "sql_standard", "postgres", "role"],
  ["TimeZone", "Asia/Tokyo", "UTC"],
  ["timezone_abbreviations", "India", "Default"],
  ["client_encoding", "LATIN1", "UTF8"],
  ["bytea_output", "escape", "hex", "role"],
  ["extra_float_digits", "-3", "1"],
  ["lc_numeric", "de_DE.UTF-8", "C"],
  ["lc_time", "de_DE.UTF-8", "C", "role"],
  ["array_nulls", "off", "on"],
  ["standard_conforming_strings", "off", "on", "role"],
  ["transform_null_equals", "on", "off"],
  ["quote_all_identifiers", "on", "off"],
  ["gin_fuzzy_search_limit", "1", "0"],
  ["row_security", "off", "on"],
  ["client_min_messages", "error", "notice", "role"],
  ["default_transaction_isolation", "repeatable read", "read committed"],
  ["default_transaction_deferrable", "on", "off"],
  ["plan_cache_mode", "force_generic_plan", "auto"],
  ["jit_above_cost", "0", "100000"],
  ["exit_on_error", "on", "off"],
  ["synchronous_commit", "off", "on"],
  ["session_replication_role", "replica", "origin", "role"],
  // A connection has them until its first statement has ended: on a machine that is busy, for some hundred milliseconds.
  ["statement_timeout", "400", "0"],
  ["lock_timeout", "5", "0", "role"],
  ["idle_in_transaction_session_timeout", "400", "0"],
  ["idle_session_timeout", "1500", "0"],
  ["transaction_timeout", "1500", "0"],
  ["client_connection_check_interval", "10", "0"],
  ["tcp_user_timeout", "1", "0"],
  ["restrict_nonsystem_relation_kind", "view", ""],
];

/** Names of settings that this server does not know, or whose values it lacks, such as locales of the system. */
const lacking = new Set(["42704", "22023"]);

/** Whether the databases of the run are to be unusual. */
export const isUnusual = process.env.STEWARD_TEST_UNUSUAL_DATABASE === "1";

/** Timeouts, which poolers of transactions suffer themselves. */
export const isTimeout = (name: string): boolean => /timeout|interval$/.test(name);

/**
 * Sets unusual values on a database, for connections that are opened from then on. Returns the names of settings that the
 * server lacks.
 */
export async function makeUnusual(
  client: Client,
  database: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<string[]> {
  const left: string[] = [];
  for (const [name, value, , on] of unusual.filter(([each]) => isWanted(each))) {
    const target =
      on === "role"
        ? `role current_user in database ${escapeIdentifier(database)}`
        : `database ${escapeIdentifier(database)}`;
    await client
      .query(`alter ${target} set ${escapeIdentifier(name)} to ${settingText(name, value)}`)
      .catch((error: { code?: string }) => {
        if (!lacking.has(error.code ?? "")) throw error;
        left.push(name);
      });
  }
  return left;
}

/** The names of all settings that `makeUnusual` knows. */
export const unusualSettings: readonly string[] = unusual.map(([name]) => name);

/** DateStyle is a list of words. */
const settingText = (name: string, value: string): string => (name === "DateStyle" ? value : escapeLiteral(value));

/** Lets connections that tests open themselves have the usual settings. Those of servers have a class of their own. */
export function connectTestsUsually(): void {
  const connect: (this: Client) => Promise<Client> = Reflect.get(Client.prototype, "connect");
  const makeUsual = `set statement_timeout to 0; select ${unusual
    .map(
      ([name, , usual]) =>
        `case when current_setting('${name}', true) is not null then set_config('${name}', '${usual}', false) end`,
    )
    .join(", ")}`;
  Client.prototype.connect = function (this: Client, callback?: (error: Error | null) => void): Promise<Client> | void {
    const open = async () => {
      await connect.call(this);
      // The class of the servers' connections makes their settings itself. The console of PgBouncer has none.
      if (this.constructor === Client && this.database !== "pgbouncer") await this.query(makeUsual);
      return this;
    };
    return callback ? callbackify(open)(callback) : open();
  } as typeof Client.prototype.connect;
}
