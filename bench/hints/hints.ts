import type { Hint } from "../../src/domain/kernel/events.js";

export const topic = "inbox";

/** Milliseconds by a clock that all processes of the machine share. */
export const clock = (): number => performance.timeOrigin + performance.now();

/** A hint that says when it was sent. As long as one of a user, and unlike all others, or it would be sent once. */
export const hintOf = (nr: number): Hint => ({
  topic,
  id: `n:${String(nr).padStart(15, "0")}:${clock().toFixed(3).padStart(20, "0")}`,
});

export const sentAt = (id: string): number => Number(id.slice(18));

/** The hints of a receiver since the last request: milliseconds from the publication to the subscriber, and the gaps that it was told of. */
export interface Received {
  count: number;
  p50: number;
  p99: number;
  slowest: number;
  gaps: number;
}
