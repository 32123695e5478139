/** Runs at most `atOnce` jobs at a time. The rest wait in line, `waiting` of them at most; more are refused. */
export function boundedPool(atOnce: number, waiting = Infinity, refusal = () => new Error("Too many jobs wait.")) {
  let free = atOnce;
  const queue: Array<() => void> = [];
  return async <Result>(job: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free--;
    else if (queue.length >= waiting) throw refusal();
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
}
