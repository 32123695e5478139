import { type BoundedPool, boundedPools } from "../../runtime/concurrency.js";
import { unavailable } from "../../runtime/errors.js";

/** The queue of work on a password: that of signed-in callers, or that of callers of public operations. */
export type PasswordQueue = "signedIn" | "stranger";

const rejection = () => unavailable("Too many passwords are being checked.");

/**
 * Creates both queues. At most `concurrency` jobs run at a time, those of signed-in callers first. `room` is the maximum
 * number of waiting jobs of each queue; further ones fail with UNAVAILABLE.
 */
export function passwordQueues(
  concurrency: number,
  room: Record<PasswordQueue, number>,
): Record<PasswordQueue, BoundedPool> {
  const [signedIn, stranger] = boundedPools(concurrency, [room.signedIn, room.stranger], rejection);
  return { signedIn: signedIn!, stranger: stranger! };
}
