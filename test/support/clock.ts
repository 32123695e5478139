// Replaces the monotonic clock of this process during a synchronous call.

const start = performance.now();

/** Calls `work` with the clock at `milliseconds` after a fixed start. Asynchronous work sees the real time. */
export function at<Result>(milliseconds: number, work: () => Result): Result {
  performance.now = () => start + milliseconds;
  try {
    return work();
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}
