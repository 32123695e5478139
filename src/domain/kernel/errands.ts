import type { Logger } from "pino";
import { unavailable } from "./errors.js";

/** Errands under way at most. */
const limit = 1_000;

/** Work that requests leave behind: nobody waits for it, so that no answer tells by its time what the work was. */
export class Errands {
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(private readonly log: Logger) {}

  /** Begins the work, with a signal that ends its waits when the server stops. Throws UNAVAILABLE if too much is going on. */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.size >= limit) throw unavailable("Too much is being done in the background.");
    const running = Promise.resolve(this.#stopping.signal)
      .then(work)
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.log.error({ err: error, errand: name }, "An errand failed.");
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Ends the waits of errands, and waits for what they are at. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}
