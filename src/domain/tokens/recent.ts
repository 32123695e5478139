import { LRUCache } from "lru-cache";

/** Milliseconds for which what was read counts: what is revoked dies within them even if no hint arrives. */
const lifetime = 1_000;

/** Values kept at most, about a kilobyte each. */
const limit = 10_000;

/** What was read a moment ago, by key: one statement for those who ask at the same time, and for the second after it. */
export class Recent<Value extends object> {
  readonly #known = new LRUCache<string, { value: Value; readAt: number }>({ max: limit });
  readonly #reading = new Map<string, Promise<Value | undefined>>();

  constructor(private readonly source: (key: string) => Promise<Value | undefined>) {}

  /** The value, if a fresh one is at hand. */
  at(key: string): Value | undefined {
    const known = this.#known.get(key);
    return known && performance.now() - known.readAt < lifetime ? known.value : undefined;
  }

  /** Reads the value anew, or with those who are reading it. `undefined` if there is none. */
  read(key: string): Promise<Value | undefined> {
    const running = this.#reading.get(key);
    if (running) return running;
    const readAt = performance.now();
    const reading = this.source(key)
      .then((value) => {
        // Dropped meanwhile: what was read may be older than the change.
        if (value && this.#reading.get(key) === reading) this.#known.set(key, { value, readAt });
        return value;
      })
      .finally(() => {
        if (this.#reading.get(key) === reading) this.#reading.delete(key);
      });
    this.#reading.set(key, reading);
    return reading;
  }

  /** Forgets all that a change may concern. */
  dropWhere(isConcerned: (value: Value) => boolean): void {
    this.#reading.clear();
    for (const [key, { value }] of this.#known) if (isConcerned(value)) this.#known.delete(key);
  }

  clear(): void {
    this.#reading.clear();
    this.#known.clear();
  }
}
