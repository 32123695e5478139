import type { Events, Subscription, Topic } from "./events.js";

/** The part of a `Context` that a watcher needs. */
export interface Watcher {
  signal: AbortSignal;
  services: { events: Events };
}

/**
 * Yields when a watcher must read what belongs to the ids: immediately, after each hint or gap, and every 30 seconds in
 * case a hint was lost. Coalesces hints that arrive between calls of `next`. Ends when the signal is aborted.
 */
export const wakeups = (watcher: Watcher, topic: Topic, ...ids: string[]): AsyncIterable<void> => ({
  [Symbol.asyncIterator]: () => new Wakeups(watcher, topic, ids),
});

/** `wakeups` that wake every 5 seconds, for watchers whose work must not wait for a lost hint. */
export const eagerWakeups = (watcher: Watcher, topic: Topic, ...ids: string[]): AsyncIterable<void> => ({
  [Symbol.asyncIterator]: () => new Wakeups(watcher, topic, ids, eagerRounds),
});

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class Wakeups implements AsyncIterator<void, void> {
  readonly #signal: AbortSignal;
  readonly #subscriptions: Subscription[];
  readonly #leaveRounds: () => void;
  #isDue = true;
  #isOver = false;
  #waiting: PromiseWithResolvers<IteratorResult<void, void>> | undefined;

  constructor({ signal, services: { events } }: Watcher, topic: Topic, ids: string[], every = rounds) {
    const wake = () => this.#wake();
    this.#signal = signal;
    this.#subscriptions = ids.map((id) => events.subscribe(topic, id, wake));
    this.#leaveRounds = every.join(wake);
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

  /** Handles the abort of the signal. */
  handleEvent(): void {
    this.#end();
  }

  #wake(): void {
    if (this.#waiting) this.#settle(false);
    else this.#isDue = true;
  }

  #end(): void {
    this.#isOver = true;
    for (const subscription of this.#subscriptions) subscription.close();
    this.#leaveRounds();
    this.#signal.removeEventListener("abort", this);
    this.#settle(true);
  }

  #settle(done: boolean): void {
    this.#waiting?.resolve({ done, value: undefined });
    this.#waiting = undefined;
  }
}

/** Wakes each watcher once in some seconds by a common timer, an equal part of the watchers each second. */
class Rounds {
  readonly #groups: ReadonlyArray<Set<() => void>>;
  #current = 0;
  #members = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(seconds: number) {
    this.#groups = Array.from({ length: seconds }, () => new Set<() => void>());
  }

  /** Calls `wake` once in each period. Returns the function that stops it. */
  join(wake: () => void): () => void {
    // In turn, so that watchers that reconnect together after a restart are spread over the groups.
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

const rounds = new Rounds(30);
const eagerRounds = new Rounds(5);
