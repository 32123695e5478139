/** A limit on the number of uses within a time window. */
export interface Policy {
  readonly name: string;
  /** Uses per window; 0 disables the policy. */
  readonly limit: number;
  /** Seconds. */
  readonly window: number;
}

/** Uses in the current window and in the previous one. */
export interface Count {
  current: number;
  previous: number;
}

/** The state of a key under a policy. */
export interface Quota {
  readonly policy: Policy;
  /** Remaining uses. */
  readonly remaining: number;
  /** Seconds until the next use is possible after a rejection, else until the window ends. */
  readonly reset: number;
  readonly isRefused: boolean;
}

/**
 * The remaining uses by a sliding window counter, `elapsed` seconds after the start of the current window. Uses of the
 * previous window are assumed to be evenly distributed and weighted by its overlap with the last `window` seconds.
 */
export const roomIn = ({ limit, window }: Policy, { current, previous }: Count, elapsed: number): number =>
  limit - current - Math.floor(previous * (1 - elapsed / window));

/** The quota after a use that was either counted or rejected. */
export function quotaOf(policy: Policy, count: Count, elapsed: number, isRefused: boolean): Quota {
  const remaining = Math.max(0, roomIn(policy, count, elapsed));
  const reset = isRefused ? secondsToRoom(policy, count, elapsed) : policy.window - elapsed;
  return { policy, remaining, reset: Math.max(1, Math.ceil(reset)), isRefused };
}

/** Seconds until a use is possible: in the current window, or in the next if the current one is full by itself. */
function secondsToRoom({ limit, window }: Policy, { current, previous }: Count, elapsed: number): number {
  const decay = (uses: number, room: number) => window * Math.max(0, 1 - room / uses);
  const at = current < limit ? decay(previous, limit - current) : window + decay(current, limit);
  return at - elapsed;
}
