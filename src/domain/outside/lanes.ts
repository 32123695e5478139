import { type BoundedPool, boundedPools } from "../kernel/bounded-pool.js";
import { unavailable } from "../kernel/errors.js";

/** The origin of work on a password: a signed-in caller, or a caller of a public operation. */
export type Lane = "signedIn" | "stranger";

const rejection = () => unavailable("Too many passwords are being checked.");

/**
 * Creates a pool for each lane. The pools share `concurrency` slots, and signed-in callers take precedence. `room`
 * bounds the queue of each lane; beyond it, jobs fail with UNAVAILABLE.
 */
export function passwordLanes(concurrency: number, room: Record<Lane, number>): Record<Lane, BoundedPool> {
  const [signedIn, stranger] = boundedPools(concurrency, [room.signedIn, room.stranger], rejection);
  return { signedIn: signedIn!, stranger: stranger! };
}
