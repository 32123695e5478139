import type { Logger } from "pino";

/** Maximum delay in milliseconds before streams of an ended key are closed, if its hint is lost. */
const interval = 5_000;

/** Maximum number of keys checked in one statement. */
const chunk = 1_000;

interface Watched {
  /** The ids of the things that the key depends on: the same whenever it is watched. */
  tags: readonly string[];
  ends: Set<() => void>;
}

/** Checks the keys of open sockets and streams, of users or machines, every 5 seconds and after hints. */
export class Watches {
  readonly #watched = new Map<string, Watched>();
  readonly #keysByTag = new Map<string, Set<string>>();
  readonly #due = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(
    /** Returns the valid ones among keys. */
    private readonly living: (ids: readonly string[]) => Promise<readonly string[]>,
    private readonly log: Logger,
  ) {}

  /**
   * Calls `onEnd` once, when the key is deleted or expired or its user suspended. `tags` are what it depends on. Returns
   * the function that stops watching.
   */
  add(keyId: string, tags: readonly string[], onEnd: () => void): () => void {
    const watched = this.#watched.get(keyId) ?? this.#begin(keyId, tags);
    // A new function, since `onEnd` may be added twice.
    const end = () => onEnd();
    watched.ends.add(end);
    this.#timer ??= setInterval(() => this.checkAll(), interval).unref();
    return () => {
      watched.ends.delete(end);
      if (watched.ends.size === 0 && this.#watched.get(keyId) === watched) this.#forget(keyId);
    };
  }

  /** Checks the keys that depend on something. */
  check(tag: string): void {
    const keys = this.#keysByTag.get(tag);
    if (keys) this.#check(keys);
  }

  checkAll(): void {
    this.#check(this.#watched.keys());
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
    this.#keysByTag.clear();
    this.#due.clear();
  }

  #begin(keyId: string, tags: readonly string[]): Watched {
    const watched = { tags, ends: new Set<() => void>() };
    this.#watched.set(keyId, watched);
    for (const tag of tags) {
      const keys = this.#keysByTag.get(tag) ?? new Set();
      this.#keysByTag.set(tag, keys.add(keyId));
    }
    return watched;
  }

  #check(ids: Iterable<string>): void {
    for (const id of ids) this.#due.add(id);
    if (!this.#isChecking) void this.#checkDue();
  }

  async #checkDue(): Promise<void> {
    this.#isChecking = true;
    try {
      while (this.#due.size > 0) {
        const ids = [...this.#due].slice(0, chunk);
        for (const id of ids) this.#due.delete(id);
        const living = new Set(await this.living(ids));
        for (const id of ids) if (!living.has(id)) this.#end(id);
      }
    } catch (error) {
      // The next interval checks all keys again.
      this.#due.clear();
      this.log.warn({ err: error }, "Open streams could not be checked for ended sessions.");
    } finally {
      this.#isChecking = false;
    }
  }

  #end(id: string): void {
    const { ends } = this.#watched.get(id) ?? {};
    this.#forget(id);
    for (const end of ends ?? []) end();
  }

  #forget(id: string): void {
    for (const tag of this.#watched.get(id)?.tags ?? []) {
      const keys = this.#keysByTag.get(tag);
      keys?.delete(id);
      if (keys?.size === 0) this.#keysByTag.delete(tag);
    }
    this.#watched.delete(id);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
