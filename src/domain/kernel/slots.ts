import { unavailable } from "./errors.js";

/** Maximum wait for a slot, in milliseconds. */
const patience = 5_000;

/** A counting semaphore with a fair queue. */
export class Slots {
  readonly #waiting = new Set<() => void>();

  constructor(private free: number) {}

  /** Takes a slot. Throws UNAVAILABLE after five seconds without one. */
  take(): Promise<void> | undefined {
    if (this.free > 0) {
      this.free--;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(next);
        reject(unavailable("Too many transactions are waiting for the database."));
      }, patience);
      const next = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.add(next);
    });
  }

  /** Releases a slot. */
  give(): void {
    const [next] = this.#waiting;
    if (!next) this.free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
