import type { Logger } from "pino";

/** Maximum delay in milliseconds before streams of an ended key are closed, if its hint is lost. */
const interval = 5_000;

/** Maximum number of keys checked in one statement. */
const chunk = 1_000;

interface Watched {
  holderId: string;
  ends: Set<() => void>;
}

/** Checks the keys of open sockets and streams, of users or machines, every 5 seconds and after hints. */
export class Watches {
  readonly #watched = new Map<string, Watched>();
  readonly #due = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(
    /** Returns the valid ones among keys. */
    private readonly living: (ids: readonly string[]) => Promise<readonly string[]>,
    private readonly log: Logger,
  ) {}

  /**
   * Calls `onEnd` once, when the key is deleted or expired or its user suspended. Returns the function that stops
   * watching.
   */
  add(keyId: string, holderId: string, onEnd: () => void): () => void {
    const watched = this.#watched.get(keyId) ?? { holderId, ends: new Set() };
    // A new function, since `onEnd` may be added twice.
    const end = () => onEnd();
    watched.ends.add(end);
    this.#watched.set(keyId, watched);
    this.#timer ??= setInterval(() => this.checkAll(), interval).unref();
    return () => {
      watched.ends.delete(end);
      if (watched.ends.size === 0 && this.#watched.get(keyId) === watched) this.#forget(keyId);
    };
  }

  checkKey(id: string): void {
    if (this.#watched.has(id)) this.#check([id]);
  }

  /** Checks the keys of a user or machine. */
  checkHolder(holderId: string): void {
    const ids: string[] = [];
    for (const [id, watched] of this.#watched) if (watched.holderId === holderId) ids.push(id);
    this.#check(ids);
  }

  checkAll(): void {
    this.#check(this.#watched.keys());
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
    this.#due.clear();
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
    this.#watched.delete(id);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
