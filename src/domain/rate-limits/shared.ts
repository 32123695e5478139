import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import { minute } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { type Count, type Policy, type Quota, quotaOf, roomIn } from "./window.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const counters = columnsOf("rateCounters");

interface CountRow extends Count {
  /** Seconds since the start of the current window. */
  elapsed: number;
  isRefused: boolean;
}

/** Advances the row of `rate_counters c` to the current window. */
const moveWindow = (window: number) => sql`
  select case windows when 0 then c.since when 1 then c.since + make_interval(secs => ${window}::float8) else now() end as since,
    case windows when 0 then c.current else 0 end as current,
    case windows when 0 then c.previous when 1 then c.current else 0 end as previous
  from (select floor(greatest(0, extract(epoch from now() - c.since)) / ${window}::float8) as windows) age`;

// One statement checks and counts, so that concurrent uses cannot exceed the limit.
const takeOne = (key: Buffer, { window, limit: most }: Policy) => sql<CountRow>`
  insert into rate_counters as c (key, since, current, previous, ${counters.isRefused}, ${counters.expiresAt})
  values (${key}, now(), 1, 0, false, now() + 2 * make_interval(secs => ${window}::float8))
  on conflict (key) do update set (since, current, previous, ${counters.isRefused}, ${counters.expiresAt}) = (
    select since, current + (not ${counters.isRefused})::int, previous, ${counters.isRefused},
      since + 2 * make_interval(secs => ${window}::float8)
    from (
      select *, ${most}::int - current
        - floor(previous * (1 - extract(epoch from now() - since) / ${window}::float8)) < 1 as is_refused
      from (${moveWindow(window)}) moved
    ) decided
  )
  returning current, previous, ${counters.isRefused}, greatest(0, extract(epoch from now() - since))::float8 as elapsed`;

const readOne = (key: Buffer, { window }: Policy) => sql<CountRow>`
  select moved.current, moved.previous, false as is_refused,
    greatest(0, extract(epoch from now() - moved.since))::float8 as elapsed
  from rate_counters c, lateral (${moveWindow(window)}) moved where c.key = ${key}`;

/** Maximum number of cached rejections. */
const limit = 10_000;

/**
 * Counts uses by key in Postgres, for all replicas. A rejection is cached until a use may be possible again, so that
 * further uses in the meantime run no statement.
 */
export class SharedCounters {
  /** By key, the end of the rejection, in milliseconds of the monotonic clock. Made for the first use. */
  #made: LRUCache<string, number> | undefined;

  constructor(
    private readonly database: Database,
    private readonly policy: Policy,
  ) {}

  get #rejected(): LRUCache<string, number> {
    return (this.#made ??= new LRUCache({ max: limit }));
  }

  /** Counts a use unless the limit is reached. */
  async take(key: string): Promise<Quota> {
    return this.recentRejection(key) ?? this.#decide(key, await this.#query(takeOne, key));
  }

  /** Returns the quota without counting a use. */
  async look(key: string): Promise<Quota> {
    const rejection = this.recentRejection(key);
    if (rejection) return rejection;
    const row = (await this.#query(readOne, key)) ?? untouched;
    return this.#decide(key, { ...row, isRefused: roomIn(this.policy, row, row.elapsed) < 1 });
  }

  /** The rejection in effect, if this replica has cached one. */
  recentRejection(key: string): Quota | undefined {
    const until = this.#rejected.get(key) ?? 0;
    const seconds = Math.ceil((until - performance.now()) / 1000);
    return seconds > 0 ? { policy: this.policy, remaining: 0, reset: seconds, isRefused: true } : undefined;
  }

  async #query(statement: typeof takeOne, key: string): Promise<CountRow | undefined> {
    // The hash bounds the size of keys and keeps email addresses out of the table.
    const name = hash("sha256", `${this.policy.name}\0${key}`, "buffer");
    return (await statement(name, this.policy).execute(this.database.db)).rows[0];
  }

  #decide(key: string, row: CountRow = untouched): Quota {
    const quota = quotaOf(this.policy, row, row.elapsed, row.isRefused);
    if (quota.isRefused) this.#rejected.set(key, performance.now() + quota.reset * 1000);
    return quota;
  }
}

const untouched: CountRow = { current: 0, previous: 0, elapsed: 0, isRefused: false };

/** Deletes expired counters. */
export const rateCounterPurge = purge("rate_counters", { by: "expires_at", every: minute });
