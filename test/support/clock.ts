// The monotonic clock of this process, for what reads it while it is called.

const start = performance.now();

/** Calls `work` at so many milliseconds after a fixed start; what it does after it returned has the real time. */
export function at<Result>(milliseconds: number, work: () => Result): Result {
  performance.now = () => start + milliseconds;
  try {
    return work();
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}
