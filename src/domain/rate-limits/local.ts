import { LRUCache } from "lru-cache";
import { type Count, type Policy, type Quota, quotaOf, roomIn } from "./window.js";

interface Running extends Count {
  /** Start of the current window, in seconds of the monotonic clock. */
  since: number;
}

/** Maximum number of keys, about 200 bytes each. The least recently used are evicted, which resets their counts. */
const limit = 20_000;

/** Counts uses by key, in the memory of this replica. */
export class LocalCounters {
  /** Made for the first use: it reserves memory for all keys. */
  #made: LRUCache<string, Running> | undefined;

  constructor(private readonly policy: Policy) {}

  get #running(): LRUCache<string, Running> {
    return (this.#made ??= new LRUCache({ max: limit }));
  }

  /** Counts a use unless the limit is reached. */
  take(key: string): Quota {
    const now = performance.now() / 1000;
    const count = this.#countOf(key, now);
    const elapsed = now - count.since;
    const isRefused = roomIn(this.policy, count, elapsed) < 1;
    if (!isRefused) count.current++;
    return quotaOf(this.policy, count, elapsed, isRefused);
  }

  /** Reverts a use that was counted. */
  giveBack(key: string): void {
    const count = this.#running.get(key);
    if (count && count.current > 0) count.current--;
  }

  #countOf(key: string, now: number): Running {
    let count = this.#running.get(key);
    if (!count) this.#running.set(key, (count = { since: now, current: 0, previous: 0 }));
    const { window } = this.policy;
    const windows = Math.floor((now - count.since) / window);
    if (windows === 0) return count;
    count.previous = windows === 1 ? count.current : 0;
    count.current = 0;
    count.since = windows === 1 ? count.since + window : now;
    return count;
  }
}
