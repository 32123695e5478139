import type { Events, Subscription, Topic } from "./events.js";

/** Where a watcher lives: a `Context` is one. */
export interface Watcher {
  signal: AbortSignal;
  services: { events: Events };
}

/**
 * When to look at the ids: at once, after each hint or gap, and every 30 seconds in case a hint was lost. Hints that
 * arrive while the watcher is at work give one more wake-up. Ends when the watcher's signal is aborted.
 */
export const wakeups = (watcher: Watcher, topic: Topic, ...ids: string[]): AsyncIterable<void> => ({
  [Symbol.asyncIterator]: () => new Wakeups(watcher, topic, ids),
});

/** By hand, because `return()` of a waiting generator takes effect only when the wait is over. */
class Wakeups implements AsyncIterator<void, void> {
  readonly #signal: AbortSignal;
  readonly #subscriptions: Subscription[];
  readonly #leaveRounds: () => void;
  #isDue = true;
  #isOver = false;
  #waiting: PromiseWithResolvers<IteratorResult<void, void>> | undefined;

  constructor({ signal, services: { events } }: Watcher, topic: Topic, ids: string[]) {
    const wake = () => this.#wake();
    this.#signal = signal;
    this.#subscriptions = ids.map((id) => events.subscribe(topic, id, wake));
    this.#leaveRounds = rounds.join(wake);
    signal.addEventListener("abort", this);
    if (signal.aborted) this.#end();
  }

  next(): Promise<IteratorResult<void, void>> {
    if (!this.#isOver && !this.#isDue) return (this.#waiting ??= Promise.withResolvers()).promise;
    this.#isDue = false;
    return Promise.resolve({ done: this.#isOver, value: undefined });
  }

  async return(): Promise<IteratorResult<void, void>> {
    this.#end();
    return { done: true, value: undefined };
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#end();
  }

  #wake(): void {
    if (this.#waiting) this.#answer(false);
    else this.#isDue = true;
  }

  #end(): void {
    this.#isOver = true;
    for (const subscription of this.#subscriptions) subscription.close();
    this.#leaveRounds();
    this.#signal.removeEventListener("abort", this);
    this.#answer(true);
  }

  #answer(done: boolean): void {
    this.#waiting?.resolve({ done, value: undefined });
    this.#waiting = undefined;
  }
}

/** One timer for all watchers, which wakes a thirtieth of them each second: each every 30 seconds, never all at once. */
class Rounds {
  readonly #groups = Array.from({ length: 30 }, () => new Set<() => void>());
  #current = 0;
  #members = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `wake` every 30 seconds until the result is called. */
  join(wake: () => void): () => void {
    // Not the current group: those who come back at once after a restart must not look again at once ever after.
    const group = this.#groups[this.#members++ % this.#groups.length]!.add(wake);
    this.#timer ??= setInterval(() => this.#tick(), 1_000).unref();
    return () => {
      if (!group.delete(wake) || --this.#members > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #tick(): void {
    this.#current = (this.#current + 1) % this.#groups.length;
    for (const wake of this.#groups[this.#current]!) wake();
  }
}

const rounds = new Rounds();
