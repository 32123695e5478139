import { LRUCache } from "lru-cache";

/**
 * Milliseconds from the start of a read for which its result is cached. Limits the delay of a revocation without hint.
 */
const lifetime = 1_000;

/** Default maximum number of values, of about a kilobyte each. */
const usualLimit = 10_000;

/** A cache of values read less than a second ago. Concurrent reads of a key share one statement. */
export class Recent<Value extends object> {
  /** Made when something is first read: it reserves memory for all its values. */
  #made: LRUCache<string, { value: Value; readAt: number }> | undefined;
  readonly #reading = new Map<string, Promise<Value | undefined>>();

  constructor(
    private readonly source: (key: string) => Promise<Value | undefined>,
    private readonly limit = usualLimit,
  ) {}

  get #known(): LRUCache<string, { value: Value; readAt: number }> {
    return (this.#made ??= new LRUCache({ max: this.limit }));
  }

  /** Returns the cached value, if any. */
  at(key: string): Value | undefined {
    const known = this.#known.get(key);
    return known && performance.now() - known.readAt < lifetime ? known.value : undefined;
  }

  /** Reads the value, or joins a running read. Resolves to `undefined` if there is none. */
  read(key: string): Promise<Value | undefined> {
    const running = this.#reading.get(key);
    if (running) return running;
    const readAt = performance.now();
    const reading = this.source(key)
      .then((value) => {
        // Not cached if dropped during the read: the value may be older than the change.
        if (value && this.#reading.get(key) === reading) this.#known.set(key, { value, readAt });
        return value;
      })
      .finally(() => {
        if (this.#reading.get(key) === reading) this.#reading.delete(key);
      });
    this.#reading.set(key, reading);
    return reading;
  }

  /** Drops the values that a change may affect, the results of running reads included. */
  dropWhere(isConcerned: (value: Value) => boolean): void {
    this.#reading.clear();
    for (const [key, { value }] of this.#made ?? []) if (isConcerned(value)) this.#known.delete(key);
  }

  clear(): void {
    this.#reading.clear();
    this.#made?.clear();
  }
}
