/** Runs jobs, some at a time. */
export interface BoundedPool {
  <Result>(job: () => Promise<Result>): Promise<Result>;
  /** Throws the refusal if a job would be refused now. */
  requireRoom(): void;
}

/** Runs at most `atOnce` jobs at a time. The rest wait in line, `waiting` of them at most; more are refused. */
export function boundedPool(
  atOnce: number,
  waiting = Infinity,
  refusal = () => new Error("Too many jobs wait."),
): BoundedPool {
  let free = atOnce;
  const queue: Array<() => void> = [];
  const requireRoom = () => {
    if (free === 0 && queue.length >= waiting) throw refusal();
  };
  const run = async <Result>(job: () => Promise<Result>): Promise<Result> => {
    requireRoom();
    if (free > 0) free--;
    // The slot of a finished job goes to the one that waits longest.
    else await new Promise<void>((turn) => queue.push(turn));
    try {
      return await job();
    } finally {
      const next = queue.shift();
      if (next) next();
      else free++;
    }
  };
  return Object.assign(run, { requireRoom });
}
