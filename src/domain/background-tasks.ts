import type { Logger } from "pino";
import { unavailable } from "./kernel/errors.js";

/** Maximum number of running background tasks. */
const limit = 1_000;

/** Fire-and-forget work of requests. Responses do not wait for it, so that their timing is no side channel. */
export class BackgroundTasks {
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(private readonly log: Logger) {}

  /** Starts `work`, with a signal that is aborted when the server stops. Throws UNAVAILABLE at the limit. */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#running.size >= limit) throw unavailable("Too many background tasks are running.");
    const running = Promise.resolve(this.#stopping.signal)
      .then(work)
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.log.error({ err: error, task: name }, "A background task failed.");
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Aborts all background tasks and waits for their end. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }
}
