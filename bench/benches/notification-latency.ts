import { audience, commitToFrame, pace } from "../commit-to-frame.js";
import type { Bench } from "../run.js";

const at = (sorted: readonly number[], share: number): string =>
  `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)} ms`;

/** The time from a commit on one replica to the frame that another one sends, at a constant pace. */
export const notificationLatencyBench: Bench = {
  name: "notification-latency",
  method: `Notifications are committed in one process, ${pace} per second, to ${audience.size} users in turn, each with one WebSocket at
another one. The time is from the commit to the frame, by the clock of the process that has both ends. Server, load and
Postgres share the machine.`,
  async measure(run) {
    run.progress(`commit to frame on another replica at ${pace}/s`);
    const sorted = await commitToFrame(run);
    const bench = `commit to frame on another replica, ${pace}/s`;
    const what = `${sorted.length} notifications`;
    return [
      { bench, what: `${what}, p50`, cost: at(sorted, 0.5) },
      { bench, what: `${what}, p99`, cost: at(sorted, 0.99) },
    ];
  },
};
