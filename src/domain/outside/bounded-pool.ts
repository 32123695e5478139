import { unavailable } from "../errors.js";

/** Runs jobs, some at a time. */
export interface BoundedPool {
  <Result>(job: () => Promise<Result>): Promise<Result>;
  /** Throws UNAVAILABLE if a job would be refused now. */
  requireRoom(): void;
}

/** Runs at most `atOnce` jobs at a time and lets `waiting` more queue up; refuses the rest. */
export function boundedPool(atOnce: number, waiting: number): BoundedPool {
  let free = atOnce;
  const queue: Array<() => void> = [];
  const requireRoom = () => {
    if (free === 0 && queue.length >= waiting) throw unavailable("Too many passwords are being checked.");
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
