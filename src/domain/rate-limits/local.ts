import { LRUCache } from "lru-cache";
import { type Count, type Policy, type Quota, quotaOf, roomIn } from "./window.js";

interface Running extends Count {
  /** When the running window began, in seconds of the process's monotonic clock. */
  since: number;
}

/** Callers that are remembered, about 200 bytes each. Those who have not come for longest begin anew. */
const limit = 20_000;

/** Counts uses by key in the memory of this replica. */
export class LocalCounters {
  readonly #running = new LRUCache<string, Running>({ max: limit });

  constructor(private readonly policy: Policy) {}

  /** Counts a use if there is room for it. */
  take(key: string): Quota {
    const now = performance.now() / 1000;
    const count = this.#countOf(key, now);
    const elapsed = now - count.since;
    const isRefused = roomIn(this.policy, count, elapsed) < 1;
    if (!isRefused) count.current++;
    return quotaOf(this.policy, count, elapsed, isRefused);
  }

  /** Takes back a use that turns out to be none. */
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
