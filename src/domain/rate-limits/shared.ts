import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Database, statement } from "../kernel/database.js";
import { type Count, type Policy, type Quota, quotaOf, roomIn } from "./window.js";

interface CountRow extends Count {
  /** Seconds since the running window began. */
  elapsed: number;
  isRefused: boolean;
}

/** The row of `rate_counters c` as of now, when windows last `$2` seconds. */
const moved = `
  select case windows when 0 then c.since when 1 then c.since + make_interval(secs => $2::float8) else now() end as since,
    case windows when 0 then c.current else 0 end as current,
    case windows when 0 then c.previous when 1 then c.current else 0 end as previous
  from (select floor(greatest(0, extract(epoch from now() - c.since)) / $2::float8) as windows) age`;

// One statement decides, so of parallel uses as many pass as there is room for.
const takeOne = statement<CountRow>(`
  insert into rate_counters as c (key, since, current, previous, is_refused, expires_at)
  values ($1, now(), 1, 0, false, now() + 2 * make_interval(secs => $2::float8))
  on conflict (key) do update set (since, current, previous, is_refused, expires_at) = (
    select since, current + (not is_refused)::int, previous, is_refused, since + 2 * make_interval(secs => $2::float8)
    from (
      select *,
        $3::int - current - floor(previous * (1 - extract(epoch from now() - since) / $2::float8)) < 1 as is_refused
      from (${moved}) moved
    ) decided
  )
  returning current, previous, is_refused as "isRefused",
    greatest(0, extract(epoch from now() - since))::float8 as elapsed`);

const readOne = statement<CountRow>(`
  select moved.current, moved.previous, false as "isRefused",
    greatest(0, extract(epoch from now() - moved.since))::float8 as elapsed
  from rate_counters c, lateral (${moved}) moved where c.key = $1`);

/** Refusals that are remembered. */
const limit = 10_000;

/**
 * Counts uses by key for all replicas together, in Postgres. A refusal is remembered until there may be room again, so
 * whoever goes on meanwhile costs no statement.
 */
export class SharedCounters {
  /** By key: when there may be room, on the process's monotonic clock. */
  readonly #refused = new LRUCache<string, number>({ max: limit });

  constructor(
    private readonly database: Database,
    private readonly policy: Policy,
  ) {}

  /** Counts a use if there is room for it. */
  async take(key: string): Promise<Quota> {
    const { window, limit: most } = this.policy;
    return this.recentRefusal(key) ?? this.#decide(key, await this.#ask(takeOne, key, [window, most]));
  }

  /** Whether there is room for a use, without one. */
  async look(key: string): Promise<Quota> {
    const refusal = this.recentRefusal(key);
    if (refusal) return refusal;
    const row = (await this.#ask(readOne, key, [this.policy.window])) ?? untouched;
    return this.#decide(key, { ...row, isRefused: roomIn(this.policy, row, row.elapsed) < 1 });
  }

  /** The refusal that stands, as far as this replica knows. */
  recentRefusal(key: string): Quota | undefined {
    const until = this.#refused.get(key) ?? 0;
    const seconds = Math.ceil((until - performance.now()) / 1000);
    return seconds > 0 ? { policy: this.policy, remaining: 0, reset: seconds, isRefused: true } : undefined;
  }

  async #ask(what: typeof takeOne, key: string, values: number[]): Promise<CountRow | undefined> {
    // The hash bounds what callers can make us store, and keeps e-mails out of the table.
    const name = hash("sha256", `${this.policy.name}\0${key}`, "buffer");
    return (await this.database.query(what, [name, ...values]))[0];
  }

  #decide(key: string, row: CountRow = untouched): Quota {
    const quota = quotaOf(this.policy, row, row.elapsed, row.isRefused);
    if (quota.isRefused) this.#refused.set(key, performance.now() + quota.reset * 1000);
    return quota;
  }
}

const untouched: CountRow = { current: 0, previous: 0, elapsed: 0, isRefused: false };

const deleteExpired = statement<{ key: Buffer }>(`
  delete from rate_counters where key in (
    select key from rate_counters where expires_at <= now() limit 1000 for update skip locked
  )
  returning key`);

/** Forgets counts that do not count any more, in small steps. */
export async function deleteExpiredCounts({ database }: { database: Database }): Promise<void> {
  await database.exhaust(deleteExpired);
}
