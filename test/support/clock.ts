// Times relative to now, and a monotonic clock of this process that a test sets.
import { setTimeout as delay } from "node:timers/promises";

// Whole, so that differences are exact.
const start = Math.ceil(performance.now());

/** The time some milliseconds from now. */
export const inMs = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

/** The time a day from now. Not Postgres' `tomorrow`, which is the next midnight: a run may pass it. */
export const tomorrow = (): string => inMs(86_400_000);

/** Waits for the next period of so many milliseconds, such as an hour of UTC, unless the present one has more time left. */
export async function withTimeLeft(period: number, atLeast: number): Promise<void> {
  const left = period - (Date.now() % period);
  if (left < atLeast) await delay(left + 100);
}

/** Runs `work` while the monotonic clock of this process stands, except that `work` lets milliseconds pass. */
export async function withClock(work: (pass: (milliseconds: number) => void) => Promise<void>): Promise<void> {
  let now = performance.now();
  performance.now = () => now;
  try {
    await work((milliseconds) => (now += milliseconds));
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}

/** Calls `work` with the clock at `milliseconds` after a fixed start. Asynchronous work sees the time of before. */
export function at<Result>(milliseconds: number, work: () => Result): Result {
  const before = Object.getOwnPropertyDescriptor(performance, "now");
  performance.now = () => start + milliseconds;
  try {
    return work();
  } finally {
    Reflect.deleteProperty(performance, "now");
    if (before) Object.defineProperty(performance, "now", before);
  }
}

/** Runs asynchronous work while the clock stands at that fixed start, however long it takes. */
export async function standing<Result>(work: () => Promise<Result>): Promise<Result> {
  performance.now = () => start;
  try {
    return await work();
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}
