/** Shares work that is in progress: callers with the same key get the same result. */
export class SingleFlight {
  readonly #running = new Map<string, Promise<unknown>>();

  /** Returns the result of the work in progress under a key, or starts it. All calls with a key return the same type. */
  share<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(key);
    if (running) return running as Promise<Result>;
    const started = Promise.resolve()
      .then(work)
      .finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  /** Waits for all work in progress. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
