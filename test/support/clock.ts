// Times relative to now, and a monotonic clock of this process that a test sets.

const start = performance.now();

/** The time some milliseconds from now. */
export const inMs = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

/** The time a day from now. Not Postgres' `tomorrow`, which is the next midnight: a run may pass it. */
export const tomorrow = (): string => inMs(86_400_000);

/** Calls `work` with the clock at `milliseconds` after a fixed start. Asynchronous work sees the real time. */
export function at<Result>(milliseconds: number, work: () => Result): Result {
  performance.now = () => start + milliseconds;
  try {
    return work();
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}
