import { unavailable } from "./errors.js";

/** Milliseconds to wait for a slot. */
const patience = 5_000;

/** A number of places of which each is held by one at a time. Those who wait get theirs in the order of asking. */
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
        reject(unavailable("Too many changes wait for the database."));
      }, patience);
      const next = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.add(next);
    });
  }

  /** Gives a slot back. */
  give(): void {
    const [next] = this.#waiting;
    if (!next) this.free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
