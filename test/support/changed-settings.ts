// Reads and changes the settings of databases of tests, and what depends on them.
// Looks inside: no interface shows the settings of connections.
import { Client as Connection, type Pool } from "pg";
import { pinnedSettings } from "../../src/infrastructure/database/session-settings.js";
import type { App } from "./app.js";
import type { TestDatabase } from "./cluster.js";
import { makeUnusual } from "./unusual-settings.js";

async function on<Result>(url: string, work: (client: Connection) => Promise<Result>): Promise<Result> {
  const client = new Connection(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const rowsOf = <Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> =>
  on(url, async (client) => (await client.query<Row>(text, values)).rows);

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Makes a database on which all settings are unusual. */
export async function unusualCopy(make: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await make();
  await on(database.url, (client) => makeUnusual(client, nameOf(database.url)));
  return database;
}

/** Sets transactions of later connections to be serializable. */
export const makeSerializable = (url: string): Promise<unknown> =>
  rowsOf(url, `alter database ${nameOf(url)} set default_transaction_isolation to serializable`);

/** The pools of a server: for single statements, and for transactions. */
export const poolsOf = ({ services }: App): readonly [Pool, Pool] => services.database.pools;

/** The values that a connection of a pool has of the settings that the server makes. */
export async function settingsIn(pool: Pool): Promise<Record<string, string>> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    "select name, setting from pg_settings where name = any($1)",
    [[...pinnedSettings]],
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

/** The values that Postgres has without any configuration, of the settings that the server makes. */
export async function originalSettings(url: string): Promise<Record<string, string>> {
  const rows = await rowsOf<{ name: string; value: string }>(
    url,
    "select name, boot_val as value from pg_settings where name = any($1)",
    [[...pinnedSettings]],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** The settings of this Postgres that a role or a database can have, with their categories. */
export const possibleSettings = (url: string): Promise<Array<{ name: string; category: string }>> =>
  rowsOf(
    url,
    "select name, category from pg_settings where context in ('user', 'superuser') and category not like 'Customized%'",
  );

/** The times at which users were created, as numbers: they do not depend on how a connection writes times. */
export const createdAtOfUsers = async (url: string): Promise<string> =>
  (
    await rowsOf<{ times: string }>(
      url,
      "select array_agg(extract(epoch from created_at) order by id)::text as times from users",
    )
  )[0]!.times;

/** The processes of the connections for hints to a database, in order. */
export const hintConnections = async (url: string): Promise<number[]> =>
  (
    await rowsOf<{ pid: number }>(
      url,
      `select pid from pg_stat_activity where application_name = 'steward events' and datname = current_database() order by pid`,
    )
  ).map(({ pid }) => pid);

/** Creates a role that is no superuser and for which a superuser has switched foreign keys off. Returns its URL. */
export async function roleWithoutForeignKeys(url: string): Promise<string> {
  const role = `plain_${nameOf(url)}`;
  await rowsOf(url, `create role ${role} login password 'plain'`);
  await rowsOf(url, `alter role ${role} set session_replication_role to replica`);
  return Object.assign(new URL(url), { username: role, password: "plain" }).href;
}
