// Statements that wait for locks, and connections that wait for statements.
import { Client } from "pg";
import type { App } from "./app.js";
import { eventually } from "./watchers.js";

/** A connection to a database, or a pool of them. */
interface Database {
  query(text: string): Promise<{ rowCount: number | null }>;
}

/** The number of statements in the same database that wait for a lock. */
export async function countWaiting(database: Database): Promise<number> {
  // Otherwise, a transaction sees only the connections that there were when it first asked.
  await database.query("select pg_stat_clear_snapshot()");
  const { rowCount } = await database.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rowCount!;
}

/**
 * Changes rows that jobs of a running server change at the same time, in another order. Does it again if Postgres ended a
 * deadlock by ending the statement.
 */
export async function changeBesideJobs({ services }: App, statement: string, values: unknown[] = []): Promise<void> {
  for (;;)
    try {
      await services.database.pool.query(statement, values);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01") throw error;
    }
}

/** Waits until no request holds a connection of a server. */
export async function connectionsReturned({ services }: App): Promise<void> {
  const { pool } = services.database;
  await eventually(() => pool.idleCount === pool.totalCount, "all connections are returned");
}

/** Does work while a connection to a database holds an advisory lock of the servers. */
export const holdingLock = <Result>(url: string, name: string, work: () => Promise<Result>): Promise<Result> =>
  connected(url, async (connection) => {
    await connection.query("select pg_advisory_lock(hashtext($1))", [`steward.${name}`]);
    return work();
  });

/** How many times Postgres has counted a table because a server told it to. */
export const countAnalyzed = (url: string, table: string): Promise<number> =>
  connected(url, async (connection) => {
    const { rows } = await connection.query<{ count: number }>(
      "select analyze_count::int as count from pg_stat_user_tables where relname = $1",
      [table],
    );
    return rows[0]!.count;
  });

async function connected<Result>(url: string, work: (connection: Client) => Promise<Result>): Promise<Result> {
  const connection = new Client(url);
  await connection.connect();
  try {
    return await work(connection);
  } finally {
    await connection.end();
  }
}
