// Reports of an agent in their order, each repeated until the server has it.
import { delay } from "../api/delay.js";
import { OperationFailed, TokenEnded } from "./client.js";

const first = 1_000;
const most = 30_000;

export class Reports {
  #last: Promise<void> = Promise.resolve();
  readonly #hurry = new AbortController();

  constructor(private readonly onFault: (message: string) => void) {}

  /** Adds a report. Reports that the server rejects, or whose token has ended, are dropped. */
  add(report: () => Promise<void>): void {
    this.#last = this.#last.then(() => this.#deliver(report));
  }

  /** Waits until all reports have been delivered, without repetitions from now on. */
  async finish(timeout: number): Promise<void> {
    this.#hurry.abort();
    await Promise.race([this.#last, delay(timeout)]);
  }

  async #deliver(report: () => Promise<void>): Promise<void> {
    for (let pause = first; ; pause = Math.min(pause * 2, most)) {
      try {
        return await report();
      } catch (error) {
        const isTemporary = error instanceof OperationFailed && error.isTemporary;
        if (!isTemporary || this.#hurry.signal.aborted) {
          if (!(error instanceof TokenEnded)) this.onFault((error as Error).message);
          return;
        }
        await delay(pause, this.#hurry.signal);
      }
    }
  }
}
