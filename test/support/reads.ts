// Counts how Postgres reads tables.
import type { World } from "./world.js";

export interface Reads {
  /** Sequential scans of the tables. */
  scans: number;
  /** Rows that index scans fetched from the tables. */
  fetched: number;
  /** Rows and entries of indexes that were read. */
  read: number;
}

/** Runs `work` on every connection of a server concurrently. */
export const onEveryConnection = (connections: number, work: () => Promise<unknown>): Promise<unknown> =>
  Promise.all(Array.from({ length: connections }, work));

/**
 * Counts the reads of tables by `work`, over all connections of the server. Counts again, up to five times, while there are
 * sequential scans, or `most` rows or more are fetched: what `work` reads happens again, what a background task of the server
 * read does not.
 */
export async function readsOf(
  w: World,
  tables: readonly string[],
  work: () => Promise<unknown>,
  most = Infinity,
): Promise<Reads> {
  for (let attempt = 1; ; attempt++) {
    const reads = await readsOnce(w, tables, work);
    if ((reads.scans === 0 && reads.fetched < most) || attempt === 5) return reads;
  }
}

async function readsOnce(w: World, tables: readonly string[], work: () => Promise<unknown>): Promise<Reads> {
  const before = await readsSoFar(w, tables);
  await work();
  const after = await readsSoFar(w, tables);
  return {
    scans: after.scans - before.scans,
    fetched: after.fetched - before.fetched,
    read: after.read - before.read,
  };
}

/** Counts the reads of tables since they exist. */
export async function readsSoFar(w: World, tables: readonly string[]): Promise<Reads> {
  const { pool } = w.app.services.database;
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const client of clients) {
    await client.query("select pg_stat_force_next_flush()");
    client.release();
  }
  const { rows } = await pool.query<Reads>(
    `select sum(seq_scan)::int as scans, sum(idx_tup_fetch)::int as fetched, (sum(seq_tup_read) + (
       select sum(idx_tup_read) from pg_stat_user_indexes where relname = any($1)))::int as read
     from pg_stat_user_tables where relname = any($1)`,
    [tables],
  );
  return rows[0]!;
}
