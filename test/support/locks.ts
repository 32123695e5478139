// Statements that wait for locks.

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
