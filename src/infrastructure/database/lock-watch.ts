import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";

/** Milliseconds between checks, and maximum wait of other sessions at a check. In all, they wait less than a second. */
const interval = 100;
const longestWait = 400;

/** The wait of a session for a lock, and the sessions that wait for it. */
export interface LockState {
  /** Descriptions of the sessions that it waits for. */
  heldBy: string[];
  /** Whether it was canceled, because statements of others had waited for too long. */
  isCanceled: boolean;
}

// Advisory locks do not count: other processes that wait for their turn to migrate wait for all of it.
const look = `
  select array(
      select coalesce(nullif(application_name, ''), backend_type) || ' (process ' || pid || ', '
        || coalesce(round(extract(epoch from clock_timestamp() - xact_start)) || ' s in its transaction', state, '') || ')'
      from pg_stat_activity where pid = any(pg_blocking_pids($1))
    ) as "heldBy",
    coalesce((
      select pg_cancel_backend($1) where $2 and exists (
        select from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and l.locktype <> 'advisory' and a.backend_type = 'client backend'
          and clock_timestamp() - l.waitstart > $3::int * interval '1 ms' and $1 = any(pg_blocking_pids(l.pid)))
    ), false) as "isCanceled"`;

/**
 * Runs `work`, which uses a connection, and passes on what its session waits for. With `givesWay`, cancels its
 * statement as soon as statements of other sessions have waited for it for `longestWait`.
 */
export async function watchLocks<Result>(
  pool: Pool,
  client: PoolClient,
  { givesWay, onWait }: { givesWay: boolean; onWait: (state: LockState) => void },
  work: () => Promise<Result>,
): Promise<Result> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const ended = new AbortController();
  const watching = (async () => {
    while (await delay(interval, true, { signal: ended.signal }).catch(() => false)) {
      const { rows: states } = await pool.query<LockState>(look, [rows[0]!.pid, givesWay, longestWait]);
      const state = states[0]!;
      if (state.isCanceled || state.heldBy.length > 0) onWait(state);
    }
  })();
  try {
    return await work();
  } finally {
    ended.abort();
    await watching;
  }
}
