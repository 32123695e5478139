/** So many uses in so long a time. */
export interface Policy {
  readonly name: string;
  /** Uses in a window; 0 switches the policy off. */
  readonly limit: number;
  /** Seconds. */
  readonly window: number;
}

/** Uses of something in the window that runs and in the one before it. Nothing older is remembered. */
export interface Count {
  current: number;
  previous: number;
}

/** Where somebody stands with a policy. */
export interface Quota {
  readonly policy: Policy;
  /** Uses that are left. */
  readonly remaining: number;
  /** Seconds until there is more: after a refusal until the next use, else until the window ends. */
  readonly reset: number;
  readonly isRefused: boolean;
}

/**
 * Uses that are left in the `window` seconds up to now, when the running window began `elapsed` seconds ago. Those of
 * the previous window count as far as it reaches into that time, as if they had come evenly.
 */
export const roomIn = ({ limit, window }: Policy, { current, previous }: Count, elapsed: number): number =>
  limit - current - Math.floor(previous * (1 - elapsed / window));

/** Where somebody stands after a use that was counted, or refused and not counted. */
export function quotaOf(policy: Policy, count: Count, elapsed: number, isRefused: boolean): Quota {
  const remaining = Math.max(0, roomIn(policy, count, elapsed));
  const reset = isRefused ? secondsToRoom(policy, count, elapsed) : policy.window - elapsed;
  return { policy, remaining, reset: Math.max(1, Math.ceil(reset)), isRefused };
}

/** When the uses before have faded enough: in this window, or in the next if this one is full by itself. */
function secondsToRoom({ limit, window }: Policy, { current, previous }: Count, elapsed: number): number {
  const fading = (uses: number, room: number) => window * Math.max(0, 1 - room / uses);
  const at = current < limit ? fading(previous, limit - current) : window + fading(current, limit);
  return at - elapsed;
}
