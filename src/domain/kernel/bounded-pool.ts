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
