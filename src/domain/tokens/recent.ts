/**
 * Milliseconds from the start of a read for which its result is cached. Limits the delay of a revocation without hint.
 */
const lifetime = 1_000;

/** Default maximum number of values, of about a kilobyte each. */
const usualLimit = 10_000;

interface Entry<Value> {
  value: Value;
  /** The ids of the things that the value depends on. */
  tags: readonly string[];
  readAt: number;
}

/** A change of what has a tag; of everything if it has none. The changes after it follow. */
interface Change {
  tag?: string;
  next?: Change;
}

/**
 * A cache of values read less than a second ago. Concurrent reads of a key share one statement. Values leave soon after
 * that second, and a change finds those that depend on it by their tags: it costs the same however many there are.
 */
export class Recent<Value extends object> {
  /** In the order in which they were read. */
  readonly #known = new Map<string, Entry<Value>>();
  readonly #keysByTag = new Map<string, Set<string>>();
  /** Reads that began after the latest change. */
  #reading = new Map<string, Promise<Value | undefined>>();
  #latestChange: Change = {};
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: (key: string) => Promise<Value | undefined>,
    /** Returns the tags of a value: the ids of the things that it depends on. */
    private readonly tagsOf: (value: Value) => readonly string[],
    private readonly limit = usualLimit,
  ) {}

  /** Number of cached values. */
  get size(): number {
    return this.#known.size;
  }

  /** Returns the cached value, if any. */
  at(key: string): Value | undefined {
    const known = this.#known.get(key);
    return known && isFresh(known) ? known.value : undefined;
  }

  /** Reads the value, or joins a running read. Resolves to `undefined` if there is none. */
  read(key: string): Promise<Value | undefined> {
    const running = this.#reading.get(key);
    if (running) return running;
    const readAt = performance.now();
    const before = this.#latestChange;
    const group = this.#reading;
    const reading = this.source(key)
      .then((value) => {
        if (value) this.#keep(key, { value, tags: this.tagsOf(value), readAt }, before);
        return value;
      })
      .finally(() => group.delete(key));
    group.set(key, reading);
    return reading;
  }

  /** Drops the values with a tag, the results of running reads included. */
  drop(tag: string): void {
    this.#note({ tag });
    for (const key of this.#keysByTag.get(tag) ?? []) this.#forget(key);
  }

  clear(): void {
    this.#note({});
    this.#known.clear();
    this.#keysByTag.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Notes a change for the running reads, which no caller may join any more: their values may be older than it. */
  #note(change: Change): void {
    this.#latestChange = this.#latestChange.next = change;
    if (this.#reading.size > 0) this.#reading = new Map();
  }

  /** Caches the result of a read, unless it may be older than a change after the given one, or than what is known. */
  #keep(key: string, entry: Entry<Value>, before: Change): void {
    for (let change = before.next; change; change = change.next)
      if (change.tag === undefined || entry.tags.includes(change.tag)) return;
    const known = this.#known.get(key);
    if (known && known.readAt >= entry.readAt) return;
    this.#forget(key);
    this.#known.set(key, entry);
    for (const tag of entry.tags) {
      const keys = this.#keysByTag.get(tag);
      if (keys) keys.add(key);
      else this.#keysByTag.set(tag, new Set([key]));
    }
    if (this.#known.size > this.limit) this.#forget(this.#known.keys().next().value!);
    if (!this.#timer) this.#timer = setTimeout(() => this.#forgetEnded(), lifetime).unref();
  }

  #forget(key: string): void {
    const entry = this.#known.get(key);
    if (!entry) return;
    this.#known.delete(key);
    for (const tag of entry.tags) {
      const keys = this.#keysByTag.get(tag);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByTag.delete(tag);
    }
  }

  #forgetEnded(): void {
    for (const [key, entry] of this.#known) {
      if (isFresh(entry)) break;
      this.#forget(key);
    }
    this.#timer = this.#known.size > 0 ? setTimeout(() => this.#forgetEnded(), lifetime / 4).unref() : undefined;
  }
}

const isFresh = ({ readAt }: Entry<unknown>): boolean => performance.now() - readAt < lifetime;
