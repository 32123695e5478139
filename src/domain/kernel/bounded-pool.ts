/** Runs jobs, some at a time. */
export interface BoundedPool {
  <Result>(job: () => Promise<Result>): Promise<Result>;
  /** Throws the refusal if a job would be refused now. */
  requireRoom(): void;
}

/** Runs at most `atOnce` jobs at a time. The rest wait in line, `waiting` of them at most; more are refused. */
export const boundedPool = (
  atOnce: number,
  waiting = Infinity,
  refusal = () => new Error("Too many jobs wait."),
): BoundedPool => boundedPools(atOnce, [waiting], refusal)[0]!;

/**
 * Pools that run at most `atOnce` jobs at a time together. Each has a line of its own, with room for as many jobs as
 * `lines` says; a job waits only for those at work, for those before it in its line, and for the lines before its own.
 */
export function boundedPools(atOnce: number, lines: readonly number[], refusal: () => Error): BoundedPool[] {
  let free = atOnce;
  const queues = lines.map((): Array<() => void> => []);

  /** Gives the slot of a finished job to the one that waits longest in the first line where one waits. */
  function next(): void {
    const turn = queues.find(({ length }) => length > 0)?.shift();
    if (turn) turn();
    else free++;
  }

  return lines.map((waiting, line) => {
    const queue = queues[line]!;
    const requireRoom = () => {
      if (free === 0 && queue.length >= waiting) throw refusal();
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
