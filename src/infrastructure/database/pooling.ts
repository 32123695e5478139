// Recognizes poolers that lend a connection of Postgres for a transaction only, such as PgBouncer with
// `pool_mode = transaction`: settings of sessions would be lost there, or be those of other clients.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Client, QueryConfig, QueryResult } from "pg";
import { StartRefused } from "../../runtime/errors.js";
import { beginUsual } from "./session-settings.js";

/** The state that connections of a URL keep between two transactions. */
export interface Pooling {
  /** Whether each connection has a session of Postgres to itself. */
  readonly hasOwnSession: boolean;
  /** Whether a statement that is prepared under its name can be used again. */
  readonly keepsStatements: boolean;
}

const ownSession: Pooling = { hasOwnSession: true, keepsStatements: true };

/** Comparisons of two connections after which a pooler is believed to give each its own session. */
const rounds = 30;
/** Maximum number of milliseconds between two of them: several programs that compare are not to keep in step. */
const longestPause = 20;
/** Milliseconds that a pooler may take to find a connection of Postgres. */
const longestWait = 5_000;

/**
 * Recognizes the pooling of a connection that was just opened, and has no settings yet. `open` opens another one by the
 * same way, which is needed only if there is a pooler.
 */
export async function recognizePooling(first: Client, open: () => Promise<Client>): Promise<Pooling> {
  // Poolers pass on requests to cancel a statement, and make up the numbers of processes that identify these.
  const { processID } = first as unknown as { processID: number | null };
  if ((await serverOf(first)) === processID) return ownSession;
  const keepsStatements = await translatesNames(first);
  const second = await open();
  try {
    return (await shareServers(first, second)) ? { hasOwnSession: false, keepsStatements } : ownSession;
  } finally {
    second.connection.stream.destroy();
  }
}

/**
 * Whether two connections share servers. If each has a session of its own, each has one server, and not the same. If not,
 * one of them gets the server that the other one had, or another one than before, unless other clients do so first. None
 * keeps its server while the other one waits: many programs that start at the same time would wait for each other.
 */
async function shareServers(first: Client, second: Client): Promise<boolean> {
  const ofFirst = new Set<number>();
  const ofSecond = new Set<number>();
  for (let round = 0; round < rounds; round++) {
    ofFirst.add(await serverOf(first));
    ofSecond.add(await serverOf(second));
    if (ofFirst.size > 1 || ofSecond.size > 1 || [...ofFirst].some((server) => ofSecond.has(server))) return true;
    await delay(Math.random() * longestPause);
  }
  return false;
}

/**
 * Whether the pooler replaces the names of prepared statements by its own, by which it finds them on each of its
 * connections. Poolers that keep no statements pass the names on, and so statements of several clients would collide.
 */
async function translatesNames(client: Client): Promise<boolean> {
  const name = `steward_${randomUUID()}`;
  await begin(client);
  await client.query({ name, text: "select" });
  const { rowCount } = await client.query("select from pg_prepared_statements where name = $1", [name]);
  if (rowCount === 1) await client.query(`deallocate "${name}"`);
  await client.query("commit");
  return rowCount === 0;
}

async function begin(client: Client): Promise<void> {
  try {
    await client.query(beginUsual);
  } catch (error) {
    // PgBouncer with `pool_mode = statement` closes the connection.
    throw new StartRefused(`The pooler of the database rejects transactions: ${(error as Error).message}`);
  }
}

/**
 * The process of Postgres that runs the statements of a connection at the moment. The connection has no settings yet: a
 * standby rejects statements if the role or the database has set transactions to be serializable.
 */
async function serverOf(client: Client): Promise<number> {
  const ask = (text: string) => client.query<Server>({ text, query_timeout: longestWait } as QueryConfig);
  try {
    return (await ask(selectServer)).rows[0]!.pid;
  } catch (error) {
    if ((error as { code?: string }).code !== notSupported) throw error;
    const results = await ask(`${beginUsual}; ${selectServer}; commit`);
    return (results as unknown as Array<QueryResult<Server>>)[1]!.rows[0]!.pid;
  }
}

interface Server {
  pid: number;
}

const selectServer = "select pg_backend_pid() as pid";
const notSupported = "0A000";
