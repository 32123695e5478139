/** Runs a limited number of jobs at a time. */
export interface BoundedPool {
  <Result>(job: () => Promise<Result>): Promise<Result>;
  /** Throws if a job would be rejected now. */
  requireRoom(): void;
}

/** Runs at most `concurrency` jobs at a time and queues at most `waiting`. Further jobs fail with `rejection`. */
export const boundedPool = (
  concurrency: number,
  waiting = Infinity,
  rejection = () => new Error("Too many jobs are waiting."),
): BoundedPool => boundedPools(concurrency, [waiting], rejection)[0]!;

/**
 * Creates pools that together run at most `concurrency` jobs at a time. `capacities` are the capacities of their
 * queues, in order of priority: a free slot goes to the oldest job of the first queue that is not empty.
 */
export function boundedPools(
  concurrency: number,
  capacities: readonly number[],
  rejection: () => Error,
): BoundedPool[] {
  let free = concurrency;
  const queues = capacities.map((): Array<() => void> => []);

  function next(): void {
    const turn = queues.find(({ length }) => length > 0)?.shift();
    if (turn) turn();
    else free++;
  }

  return capacities.map((waiting, index) => {
    const queue = queues[index]!;
    const requireRoom = () => {
      if (free === 0 && queue.length >= waiting) throw rejection();
    };
    const run = async <Result>(job: () => Promise<Result>): Promise<Result> => {
      requireRoom();
      if (free > 0) free--;
      else await new Promise<void>((turn) => queue.push(turn));
      try {
        return await job();
      } finally {
        next();
      }
    };
    return Object.assign(run, { requireRoom });
  });
}

/** Runs at most `concurrency` jobs of each key at a time. The others wait for their turn, in order. */
export class KeyedTurns {
  readonly #pools = new Map<string, { run: BoundedPool; jobs: number }>();

  constructor(private readonly concurrency: number) {}

  async run<Result>(key: string, job: () => Promise<Result>): Promise<Result> {
    const pool = this.#pools.get(key) ?? { run: boundedPool(this.concurrency), jobs: 0 };
    this.#pools.set(key, pool);
    pool.jobs++;
    try {
      return await pool.run(job);
    } finally {
      if (--pool.jobs === 0) this.#pools.delete(key);
    }
  }
}

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

const turns: Array<() => void> = [];

/**
 * Resolves in a later turn of the event loop, each promise in a turn of its own. Long computations await it every few
 * milliseconds to let requests, timers and each other proceed.
 */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    if (turns.push(resolve) === 1) setImmediate(nextTurn);
  });

function nextTurn(): void {
  turns.shift()!();
  if (turns.length > 0) setImmediate(nextTurn);
}
