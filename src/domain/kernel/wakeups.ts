import type { Events, Hint, Subscription, Topic } from "./events.js";

/** The part of a `Context` that is needed to wait for hints. */
export interface Waiting {
  /** Ends the waiting when it is aborted. */
  signal?: AbortSignal;
  services: { events: Events };
}

/** A hint that wakes a watcher, or the hints of a topic whose ids it wants. */
export type Wake = Hint | { topic: Topic; wants: (id: string) => boolean };

/** Seconds after which a watcher wakes without a hint. 5 is for work that must not wait for a lost hint. */
export type Period = 5 | 30;

export interface WakeupOptions {
  /** Hints that the rights of the caller changed. */
  rights?: readonly Hint[];
  period?: Period;
  onEnd?: () => void;
}

/**
 * Makes a watcher read: immediately, after each hint or gap, and once in each period in case a hint was lost. Coalesces
 * hints that arrive between calls of `next`. Ends when the signal is aborted.
 */
export class Wakeups {
  readonly #signal: AbortSignal | undefined;
  readonly #subscriptions: Subscription[];
  readonly #leaveRounds: () => void;
  readonly #onEnd: () => void;
  #isDue = true;
  #waiting: PromiseWithResolvers<boolean> | undefined;
  isOver = false;
  /** Whether the rights of the caller may have changed: at first, after one of `rights`, and once in each period. */
  isStale = true;

  constructor(
    { signal, services: { events } }: Waiting,
    wakes: readonly Wake[],
    { rights = [], period = 30, onEnd = () => {} }: WakeupOptions = {},
  ) {
    const wake = () => this.#wake();
    const recheck = () => {
      this.isStale = true;
      this.#wake();
    };
    this.#signal = signal;
    this.#onEnd = onEnd;
    this.#subscriptions = [
      ...rights.map(({ topic, id }) => events.subscribe(topic, id, recheck)),
      ...wakes.map((each) =>
        "id" in each
          ? events.subscribe(each.topic, each.id, wake)
          : events.subscribeAll(each.topic, (id) => each.wants(id) && wake(), wake),
      ),
    ];
    this.#leaveRounds = rounds[period].join(recheck);
    signal?.addEventListener("abort", this);
    if (signal?.aborted) this.end();
  }

  /** Resolves to true when the watcher must read, and to false at the end. */
  next(): Promise<boolean> {
    if (!this.isOver && !this.#isDue) return (this.#waiting ??= Promise.withResolvers()).promise;
    this.#isDue = false;
    return Promise.resolve(!this.isOver);
  }

  /** Handles the abort of the signal. */
  handleEvent(): void {
    this.end();
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const subscription of this.#subscriptions) subscription.close();
    this.#leaveRounds();
    this.#signal?.removeEventListener("abort", this);
    this.#onEnd();
    this.#settle(false);
  }

  #wake(): void {
    if (this.#waiting) this.#settle(true);
    else this.#isDue = true;
  }

  #settle(isDue: boolean): void {
    this.#waiting?.resolve(isDue);
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

const rounds: Readonly<Record<Period, Rounds>> = { 5: new Rounds(5), 30: new Rounds(30) };
